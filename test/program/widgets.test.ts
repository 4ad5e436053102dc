import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { hasBrowser, launchBrowser } from '../support/browser.ts'
import { ROOT, serve, startedFolder, startProcess } from './program.ts'

/** The examples of what is framed in pages of others, in a real browser against the program. What the frames do is tested in test/journeys. */

/** Starts the service and an example, and opens its page. */
async function pageOf(name: string) {
  const service = await serve({ DATA_DIR: startedFolder(), LOG_LEVEL: 'trace' })
  const example = startProcess(process.execPath, ['--import', 'tsx', join(ROOT, 'examples', name)], {
    PERENNIAL_URL: service.address,
    PERENNIAL_ACCOUNT: String(service.account),
    PERENNIAL_KEY: service.key,
  })
  const [, address = ''] = await example.says(/Open (http:\/\/localhost:\d+)\//)
  const browser = await launchBrowser()
  onTestFinished(() => browser.close())
  const page = await browser.newPage()
  await page.goto(address)
  return { service, example, page }
}

describe.skipIf(!hasBrowser)('examples of frames (need chromium)', () => {
  test('capture-card: captures a card for a new customer, and its number is in no line of the log', async () => {
    const { service, example, page } = await pageOf('capture-card.ts')
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

  test('sign-mandate: a mandate is signed by keyboard alone, and the bank account added that it is for', async () => {
    const { service, example, page } = await pageOf('sign-mandate.ts')
    const frame = page.frameLocator('iframe[title="Debit mandate"]')
    await frame.getByLabel('Type your full name').waitFor()
    const tabTo = async (name: RegExp) => {
      for (let tab = 0; tab < 20; tab += 1) {
        await page.keyboard.press('Tab')
        const focused = frame.locator(':focus')
        if ((await focused.count()) === 0) continue
        const heard = await focused.evaluate((one: any) => String(one.labels?.[0]?.textContent ?? one.textContent))
        if (name.test(heard.trim())) return
      }
      throw new Error(`nothing with the name ${name} has the focus`)
    }
    // Sent too early: what is missing is announced, and leads to its field.
    await tabTo(/^Sign$/)
    await page.keyboard.press('Enter')
    await expect.poll(() => frame.locator(':focus').getAttribute('role')).toBe('alert')
    await tabTo(/type your name/)
    await page.keyboard.press('Enter')
    await page.keyboard.type('Ada Lovelace')
    await tabTo(/^I have read/)
    await page.keyboard.press('Space')
    await tabTo(/^Sign$/)
    await page.keyboard.press('Enter')
    await page.getByText('Thank you.').waitFor()
    const { code, out, err } = await example.ended
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toMatch(/^Customer \d+ pays from the account ending in 1490, by mandate EM\d+\.$/m)
    expect(service.said.out + service.said.err).not.toContain('62001871490')
  })
})
