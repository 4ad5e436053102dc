import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import axe from 'axe-core'
import { type Browser, chromium, type Page } from 'playwright-core'
import { onTestFinished } from 'vitest'

/** Chromium of this machine, which shows pages as a person sees them. */

/** Without a window of its own a browser takes a fraction of the processor. */
const BROWSERS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium']
const BROWSER = process.env['CHROMIUM'] ?? BROWSERS.find((path) => existsSync(path)) ?? '/usr/bin/chromium'
const QUIET = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--disable-sync',
  '--no-first-run',
  '--disable-background-networking',
]

/** Whether tests in a browser run here: a run of CI without one fails. */
export const hasBrowser = existsSync(BROWSER) || process.env['CI'] !== undefined

export const launchBrowser = (...args: string[]): Promise<Browser> =>
  chromium.launch({ executablePath: BROWSER, args: [...QUIET, ...args] })

/** Ways in which people see a page: their language, light or dark, wide or narrow. Each meets each other at least once. */
export const SHAPES = [
  { locale: 'en', colorScheme: 'light', width: 1280 },
  { locale: 'en', colorScheme: 'dark', width: 320 },
  { locale: 'de', colorScheme: 'light', width: 320 },
  { locale: 'de', colorScheme: 'dark', width: 1280 },
] as const

/** Serves a page of somebody else on this machine until the test ends; returns its origin. */
export async function hostPage(markup: () => string): Promise<string> {
  const server = createServer((_, response) =>
    response.setHeader('content-type', 'text/html; charset=utf-8').end(markup()),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `http://localhost:${(server.address() as AddressInfo).port}`
}

/** Lists what axe finds in a page against WCAG 2.2 AA, as rule and place. */
export async function barriersOf(page: Page): Promise<string[]> {
  // Its policy lets no script in; what axe adds is not the page's.
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe.source)
  const { violations } = (await page.evaluate(
    "axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })",
  )) as { violations: { id: string; nodes: { html: string }[] }[] }
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))
}
