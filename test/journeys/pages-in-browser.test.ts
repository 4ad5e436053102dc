import type { AddressInfo } from 'node:net'
import type { Browser, Frame, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CARDS } from '../../src/features/collection/shop.testing.ts'
import { startTestService } from '../support/app.ts'
import { barriersOf, hasBrowser, launchBrowser } from '../support/browser.ts'
import { invoicePage, PAGE_ROWS, type World } from './public-pages.testing.ts'

/** Public pages in a real browser: who sees them, who only hears them, and who has no mouse. */

const LANGUAGES = ['en', 'de'] as const

// Of the clock of spans each look is a second: one address may ask for so many pages a minute.
let spanMs = 0
let isHeld = false
let nowMs = Date.now()
const service = await startTestService({ now: () => nowMs, clock: () => (isHeld ? spanMs : (spanMs += 1000)) })

describe.skipIf(!hasBrowser)('public pages in a browser (needs chromium)', () => {
  let browser: Browser
  let address = ''
  let world: World
  /** The windows of readers, which go from page to page: each new one would start a process. */
  const windows = new Map<string, Page>()

  beforeAll(async () => {
    await service.app.server.listen({ host: '127.0.0.1', port: 0 })
    address = `http://127.0.0.1:${(service.app.server.server.address() as AddressInfo).port}`
    world = {
      service,
      passHours: (hours) => (nowMs += hours * 3_600_000),
      holdClock: (wish) => {
        isHeld = wish
        spanMs += 60_000
      },
    }
    browser = await launchBrowser()
    for (const language of LANGUAGES) windows.set(language, await browser.newPage({ locale: language }))
  })
  afterAll(() => browser.close())

  const widthOf = (page: Page) => page.evaluate(() => (globalThis as any).document.documentElement.scrollWidth)

  const hiddenBelow = (frame: Frame) =>
    frame.evaluate('document.documentElement.scrollHeight - document.documentElement.clientHeight')

  /** Looks at a page as it is, in light and wide, then in dark and narrow; in a second language, which changes how long words are, at its width when narrow. */
  async function look(page: Page, name: string, isFirst: boolean): Promise<void> {
    for (const [colorScheme, width] of [['light', 1280] as const, ['dark', 320] as const].slice(isFirst ? 0 : 1)) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 800 })
      const way = `${colorScheme}, ${width} wide`
      if (isFirst) expect(await barriersOf(page), way).toEqual([])
      // Nothing is wider than the window.
      expect(await widthOf(page), way).toBeLessThanOrEqual(width)
      // Nothing within a frame of it has to be scrolled to.
      for (const frame of page.frames().slice(1)) expect(await hiddenBelow(frame), way).toBe(0)
      const folder = process.env['PAGE_PICTURES']
      const path = `${folder}/${name.replaceAll(/\W+/g, '-')}-${colorScheme}-${width}.png`
      if (folder) await page.screenshot({ path, fullPage: true })
    }
  }

  const inEachLanguage = PAGE_ROWS.flatMap((row) => LANGUAGES.map((language) => ({ ...row, language })))

  test.each(inEachLanguage)(
    '$name, in $language, has no barrier (looked for in English), is never wider than its window, and asks no other host for anything',
    async ({ name, language, status = 200, shows, open }) => {
      const page = windows.get(language) as Page
      const foreign: string[] = []
      const complaints: string[] = []
      page.on('request', (request) => {
        if (!request.url().startsWith('data:') && !request.url().startsWith(address)) foreign.push(request.url())
      })
      page.on('console', (message) => {
        // Browsers also report each page whose status is that of a refusal.
        if (message.type() === 'error' && !message.text().startsWith('Failed to load')) complaints.push(message.text())
      })
      const { path, act, after } = await open(world, language)
      try {
        expect((await page.goto(address + path))?.status()).toBe(status)
        await act?.(page)
        await page.getByText(shows[language]).first().waitFor()
        // Bytes before they are compressed; a page may have as many on the wire.
        expect(Buffer.byteLength(await page.content())).toBeLessThan(40_000)
        await look(page, `${name} ${language}`, language === 'en')
      } finally {
        await after?.()
        for (const event of ['request', 'console']) page.removeAllListeners(event)
      }
      expect({ foreign, complaints }).toEqual({ foreign: [], complaints: [] })
    },
  )

  test('an invoice is found, paid and confirmed by the keyboard alone', async () => {
    const { path, attempts, invoice } = await invoicePage(world, 'en', CARDS.confirm)
    const page = await browser.newPage()
    await page.goto(address + path)
    const tabTo = async (name: RegExp) => {
      for (let tab = 0; tab < 20; tab += 1) {
        await page.keyboard.press('Tab')
        const focused = await page.evaluate(() => (globalThis as any).document.activeElement?.textContent ?? '')
        if (name.test(focused)) return page.keyboard.press('Enter')
      }
      throw new Error(`nothing with the name ${name} has the focus`)
    }
    await tabTo(/^Pay \$/)
    await page.waitForURL(`${address}${path}/pay`)
    await tabTo(/^Pay \$1,843\.31 now/)
    await page.getByText('Your bank asks you to confirm this payment').waitFor()
    await tabTo(/^Confirm the payment/)
    await page.getByText('✓ Paid').waitFor()
    expect((await attempts(invoice)).map(({ Outcome }) => Outcome)).toEqual(['declined', 'succeeded'])
    // Loading the page again sends no form again.
    await page.reload()
    expect(await attempts(invoice)).toHaveLength(2)
    await page.close()
  })

  test('a double click on the button pays once', async () => {
    const { path, attempts, invoice } = await invoicePage(world, 'en')
    const page = await browser.newPage()
    await page.goto(`${address}${path}/pay`)
    await page.getByRole('button').dblclick()
    // The answer to the second press may come while the first still charges: then the page asks to be loaded again, or says that a payment is on its way.
    await page
      .getByText(/✓ Paid|load this page again|Payment on its way/)
      .first()
      .waitFor()
    const isPaid = async () => {
      await page.goto(address + path)
      return page.getByText('✓ Paid').isVisible()
    }
    await expect.poll(isPaid, { timeout: 30_000 }).toBe(true)
    expect(await attempts(invoice)).toHaveLength(1)
    await page.close()
  })
})
