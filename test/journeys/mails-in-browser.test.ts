import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { forTest } from '../../src/features/mailing/compose.ts'
import { TEMPLATES } from '../../src/features/outbox/queries.ts'
import { sampleMails } from '../../src/features/outbox/samples.testing.ts'
import { barriersOf, hasBrowser, launchBrowser, SHAPES } from '../support/browser.ts'

/** Mails of every template in a real browser, as a mail program without images and without script shows them. */

describe.skipIf(!hasBrowser)('mails in a browser (needs chromium)', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launchBrowser()
  })
  afterAll(() => browser.close())

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
        expect(await barriersOf(page), name).toEqual([])
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
  )
})
