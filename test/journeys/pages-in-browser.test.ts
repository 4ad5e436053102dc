import { existsSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import axe from 'axe-core'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { reminderLink } from '../../src/features/reminders/page.ts'
import { CARDS, cardShop } from '../../src/features/collection/shop.testing.ts'
import { startTestService, type TestClient } from '../support/app.ts'

/** Public pages in a real browser: who sees them, who only hears them, and who has no mouse. */

const BROWSER = process.env['CHROMIUM'] ?? '/usr/bin/chromium'
const isThere = existsSync(BROWSER) || process.env['CI'] !== undefined
const QUIET = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-sync']

const service = await startTestService()

describe.skipIf(!isThere)('public pages in a browser (needs chromium)', () => {
  let browser: Browser
  let address = ''

  beforeAll(async () => {
    await service.app.server.listen({ host: '127.0.0.1', port: 0 })
    address = `http://127.0.0.1:${(service.app.server.server.address() as AddressInfo).port}`
    browser = await chromium.launch({ executablePath: BROWSER, args: QUIET })
  })
  afterAll(() => browser.close())

  const pathOf = async (client: TestClient, id: number) =>
    new URL((await client.get(`/v1/invoices/${id}/link`)).body.Url).pathname

  /** An invoice of several lines with tax, of a customer who reads a language, and the path of its page. */
  async function invoicePage(locale: string, card: string = CARDS.good) {
    const { client, customerID, invoice, ...shop } = await cardShop(service, card, {
      Name: 'Gebrüder Weißenfels Maschinenbau GmbH & Co. KG',
      Address1: 'Hafenstraße 12',
      City: 'Hamburg',
      ZipCode: '20457',
      Locale: locale,
    })
    await client.put('/v1/account', {
      Name: 'Brightquay Hosting',
      Colour: '#7a1f5c',
      BankDetails: 'IBAN DE02 1203 0000 0000 2020 51\nBIC BYLADEM1001',
    })
    await client.post('/v1/tax', { Name: 'VAT', rules: [{ isDefault: true, Perc: 0.19 }] })
    const id = await invoice(0, {
      Charges: [
        { Line: 'Managed hosting', Descrip: 'January 2027, two servers in Frankfurt', Qty: 2, UnitCostEx: 149.5 },
        { Line: 'Supercalifragilisticexpialidocious-backup-and-disaster-recovery-plan', UnitCostEx: 1250 },
      ],
      Notes: 'Thank you for your trust.',
    })
    return { client, customerID, invoice: id, path: await pathOf(client, id), ...shop }
  }

  async function violations(page: Page): Promise<string[]> {
    // Its policy lets no script in; what axe adds is not the page's.
    await page.evaluate(axe.source)
    const { violations: found } = await page.evaluate(() =>
      (globalThis as any).axe.run({
        runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
      }),
    )
    return found.flatMap(({ id, nodes }: any) => nodes.map(({ html }: any) => `${id}: ${html}`))
  }

  const SHAPES = ['en', 'de'].flatMap((locale) =>
    (['light', 'dark'] as const).flatMap((colorScheme) => [1280, 320].map((width) => ({ locale, colorScheme, width }))),
  )

  test.each(SHAPES)(
    'has no barrier in $locale, $colorScheme, $width wide: an invoice, paying it, paid, reminders, and a link that does not work',
    async ({ locale, colorScheme, width }) => {
      const { client, customerID, path } = await invoicePage(locale)
      const page = await browser.newPage({ colorScheme, viewport: { width, height: 800 } })
      const complaints: string[] = []
      page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
      const foreign: string[] = []
      page.on(
        'request',
        (request) =>
          !request.url().startsWith('data:') && !request.url().startsWith(address) && foreign.push(request.url()),
      )
      const look = async (name: string) => {
        expect(await violations(page)).toEqual([])
        // Nothing is wider than the window.
        expect(await page.evaluate(() => (globalThis as any).document.documentElement.scrollWidth)).toBeLessThanOrEqual(
          width,
        )
        const folder = process.env['PAGE_PICTURES']
        if (folder)
          await page.screenshot({ path: `${folder}/${name}-${locale}-${colorScheme}-${width}.png`, fullPage: true })
      }
      await page.goto(address + path)
      await look('open')
      await page.goto(`${address}${path}/pay`)
      await look('pay')
      await page.getByRole('button').click()
      await page.waitForURL(address + path)
      await look('paid')
      const stop = service.app.links.token(reminderLink(client.id, BigInt(customerID), 'payment_due'))
      await page.goto(`${address}/u/${stop}`)
      await look('reminders')
      expect(complaints).toEqual([])
      await page.goto(`${address}/i/cut`)
      await look('unknown')
      expect(foreign).toEqual([])
      await page.close()
    },
    60_000,
  )

  test('an invoice is found, paid and confirmed by the keyboard alone', async () => {
    const { path, attempts, invoice } = await invoicePage('en', CARDS.confirm)
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
    const { path, attempts, invoice } = await invoicePage('en')
    const page = await browser.newPage()
    await page.goto(`${address}${path}/pay`)
    await page.getByRole('button').dblclick()
    await page.getByText('✓ Paid').waitFor()
    expect(await attempts(invoice)).toHaveLength(1)
    await page.close()
  })
})
