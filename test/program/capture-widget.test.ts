import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { hasBrowser, launchBrowser } from '../support/browser.ts'
import { ROOT, serve, startProcess, testFolder } from './program.ts'

/** The example of the capture widget, in a real browser against the program. What the widget itself does is tested in test/journeys. */

describe.skipIf(!hasBrowser)('the example of the capture widget (needs chromium)', () => {
  test('captures a card for a new customer, and its number is in no line of the log', async () => {
    const service = await serve({ DATA_DIR: testFolder(), LOG_LEVEL: 'trace' })
    const example = startProcess(process.execPath, ['--import', 'tsx', join(ROOT, 'examples', 'capture-card.ts')], {
      PERENNIAL_URL: service.address,
      PERENNIAL_ACCOUNT: String(service.account),
      PERENNIAL_KEY: service.key,
    })
    const [, address = ''] = await example.says(/Open (http:\/\/localhost:\d+)\//)
    const browser = await launchBrowser()
    onTestFinished(() => browser.close())
    const page = await browser.newPage()
    await page.goto(address)
    await page.frameLocator('iframe').getByLabel('Card number').focus()
    for (const text of ['4242424242424242', '12/30', 'Ada', 'Lovelace']) {
      await page.keyboard.type(text)
      await page.keyboard.press('Tab')
    }
    await page.keyboard.press('Enter')
    await page.getByText('Thank you.').waitFor()
    const { code, out, err } = await example.ended
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toMatch(/^Customer \d+ pays by Visa ending in 4242\.$/m)
    expect(service.said.out + service.said.err).not.toContain('4242424242424242')
  })
})
