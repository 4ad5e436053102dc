import { existsSync } from 'node:fs'
import axe from 'axe-core'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { forTest } from '../../src/features/mailing/compose.ts'
import { TEMPLATES } from '../../src/features/outbox/queries.ts'
import { sampleMails } from '../../src/features/outbox/samples.testing.ts'

/** Mails of every template in a real browser, as a mail program without images and without script shows them. */

const BROWSER = process.env['CHROMIUM'] ?? '/usr/bin/chromium'
const isThere = existsSync(BROWSER) || process.env['CI'] !== undefined
const QUIET = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-sync']

async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  const { violations: found } = await page.evaluate(() =>
    (globalThis as any).axe.run({
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
    }),
  )
  return found.flatMap(({ id, nodes }: any) => nodes.map(({ html }: any) => `${id}: ${html}`))
}

describe.skipIf(!isThere)('mails in a browser (needs chromium)', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: BROWSER, args: QUIET })
  })
  afterAll(() => browser.close())

  const SHAPES = ['en', 'de'].flatMap((locale) =>
    (['light', 'dark'] as const).flatMap((colorScheme) => [1280, 320].map((width) => ({ locale, colorScheme, width }))),
  )

  test.each(SHAPES)(
    'every one has no barrier in $locale, $colorScheme, $width wide, nothing runs out of it, and it asks for nothing',
    async ({ locale, colorScheme, width }) => {
      const page = await browser.newPage({ colorScheme, viewport: { width, height: 800 } })
      const asked: string[] = []
      page.on('request', (request) => asked.push(request.url()))
      const mails = sampleMails(locale)
      const tested = { to: 'ann@example.com', cc: 'copy@example.com', ...mails.invoice }
      const shown = [
        ...TEMPLATES.map((template) => [template, mails[template].html] as const),
        ['invoice-of-test', forTest(tested, 'testers@example.com').html] as const,
      ]
      for (const [name, html] of shown) {
        await page.setContent(html)
        expect(await violations(page), name).toEqual([])
        const reach = await page.evaluate(() => (globalThis as any).document.documentElement.scrollWidth)
        expect(reach, name).toBeLessThanOrEqual(width)
        const folder = process.env['PAGE_PICTURES']
        if (folder)
          await page.screenshot({
            path: `${folder}/mail-${name}-${locale}-${colorScheme}-${width}.png`,
            fullPage: true,
          })
      }
      expect(asked).toEqual([])
      await page.close()
    },
    120_000,
  )
})
