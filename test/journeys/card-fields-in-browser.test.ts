import { Writable } from 'node:stream'
import type { AddressInfo } from 'node:net'
import pg from 'pg'
import pino from 'pino'
import type { Browser, BrowserContextOptions, Frame, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { fieldsSession } from '../../src/features/capture-sessions/fields.testing.ts'
import { payableByFields } from '../../src/features/invoice-pages/fields.testing.ts'
import { StripeSimulator } from '../simulators/stripe.ts'
import { startTestService } from '../support/app.ts'
import { barriersOf, hasBrowser, hostPage, launchBrowser, SHAPES } from '../support/browser.ts'

/** Card fields of a gateway's own in a real browser: its script is of another origin, under the policy that the pages really have. */

let logged = ''
const sink = new Writable({
  write(chunk, _, done) {
    logged += String(chunk)
    done()
  },
})
const simulator = await StripeSimulator.start()
// Of the clock of spans each look is a second: one address may ask for so many pages a minute.
let spanMs = 0
const clock = () => (spanMs += 1000)
const service = await startTestService({
  endpoints: { stripe: simulator.address },
  log: pino({ level: 'trace' }, sink),
  clock,
})
afterAll(async () => {
  await simulator.stop()
  expect(simulator.problems).toEqual([])
})

const GOOD = '4242424242424242'
const REFUSED = '4000000000000002'
/** Its bank asks at every use. */
const ASKS = '4000002760003184'

const hostOf = (
  widget: string,
) => `<!doctype html><html lang="en"><title>Host</title><main><h1>Host</h1>${widget}</main>
<script>window.told = []
for (const type of ['ready', 'result', 'error'])
  document.addEventListener('perennial:' + type, (event) => told.push(type + ' ' + JSON.stringify(event.detail)))</script></html>`

const toldOf = (page: Page): Promise<string[]> => page.evaluate('told')

/** Whether a text holds a number, in whatever way its digits are set apart or written for an address. */
const holdsNumber = (text: string): boolean => /4242424242424|4000000000000/.test(text.replaceAll(/%20|[\s+-]/g, ''))

async function frameOf(page: Page, path: string): Promise<Frame> {
  const find = () => page.frames().find((one) => one.url().includes(path))
  await expect.poll(() => find() !== undefined).toBe(true)
  return find()!
}

/** Keeps a picture of a page, for whoever wants to look at it. */
async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env['PAGE_PICTURES']
  if (folder) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true })
}

/** Types a card into the frame of the gateway. */
async function enter(page: Page, number: string): Promise<void> {
  const fields = await frameOf(page, '/browser/frame')
  await fields.getByLabel('Card number').fill(number)
  await fields.getByLabel('Expiry').fill('12 / 31')
  await fields.getByLabel('Security code').fill('123')
}

/** Expects that secrets stand in no log line and in no row of the whole database. */
async function expectKeptNowhere(secrets: readonly string[]): Promise<void> {
  expect(secrets.length).toBeGreaterThan(0)
  const admin = new pg.Client(service.connection)
  await admin.connect()
  try {
    const { rows: tables } = await admin.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = 'perennial'`,
    )
    expect(tables.length).toBeGreaterThan(50)
    for (const secret of secrets) {
      expect(secret).toMatch(/_secret_/)
      expect(logged).not.toContain(secret)
      for (const { name } of tables) {
        const found = await admin.query(`select 1 from ${name} t where position($1 in t::text) > 0 limit 1`, [secret])
        expect([name, found.rowCount]).toEqual([name, 0])
      }
    }
  } finally {
    await admin.end()
  }
}

describe.skipIf(!hasBrowser)('card fields of a gateway in a browser (needs chromium)', () => {
  let browser: Browser
  let address = ''

  beforeAll(async () => {
    await service.app.server.listen({ host: '127.0.0.1', port: 0 })
    address = `http://127.0.0.1:${(service.app.server.server.address() as AddressInfo).port}`
    browser = await launchBrowser()
  })
  afterAll(() => browser.close())

  async function openPage(options: BrowserContextOptions = {}) {
    const page = await browser.newPage(options)
    onTestFinished(() => page.close())
    const sent: string[] = []
    page.on('request', (request) => sent.push(`${request.method()} ${request.url()} ${request.postData() ?? ''}`))
    return { page, sent }
  }

  /** Begins a session and opens the page of its host, with the frame there. */
  async function hosted(changes: object = {}, options: BrowserContextOptions = {}, without = '') {
    let markup = ''
    const origin = await hostPage(() => markup)
    const begun = await fieldsSession(service, simulator, { AuthDomain: origin, ...changes })
    markup = hostOf(begun.session.Html.replaceAll('http://localhost:80', address).replace(without, ''))
    const opened = await openPage(options)
    const open = (how: Parameters<Page['goto']>[1] = {}) => opened.page.goto(origin, how)
    return { ...begun, ...opened, open, frame: opened.page.frameLocator('iframe').first() }
  }

  test('a card that is refused, then a good one, are entered at the gateway alone', async () => {
    const { page, sent, open, frame, read, session, setups } = await hosted()
    await open()
    await frame.getByLabel('First name').fill('Ada')
    await frame.getByRole('button', { name: 'Save' }).click()
    // Nothing is sent anywhere before our own fields are right.
    expect(await frame.locator(':focus').getAttribute('id')).toBe('familyName')
    await frame.getByLabel('Last name').fill(GOOD)
    await frame.getByRole('button', { name: 'Save' }).click()
    await frame.getByText('enter a name here').waitFor()
    await frame.getByLabel('Last name').fill('Lovelace')
    await enter(page, REFUSED)
    await frame.getByRole('button', { name: 'Save' }).click()
    await frame.getByRole('alert').getByText('Your card was declined.').waitFor()
    expect(await frame.locator(':focus').getAttribute('role')).toBe('alert')
    await picture(page, 'card-fields-frame-refused')
    await enter(page, GOOD)
    await frame.getByRole('button', { name: 'Save' }).dblclick()
    await frame.getByRole('heading', { name: 'Saved' }).waitFor()
    await frame.getByText('Visa ending in 4242').waitFor()
    expect(await toldOf(page)).toEqual(['ready {}', 'error {"code":"declined"}', 'result {"state":"captured"}'])
    expect(await read()).toMatchObject({ State: 'captured' })
    const ours = sent.filter((one) => one.split(' ')[1]?.startsWith(address))
    expect(ours.filter(holdsNumber)).toEqual([])
    expect(sent.filter(holdsNumber).every((one) => one.includes(simulator.address))).toBe(true)
    expect(ours.map((one) => one.replace(address, '').replace(session.HashToken, '…'))).toEqual([
      'GET /widget/capture.js ',
      'GET /w/… ',
      'POST /w/…/fields ',
      'POST /w/…/refused ',
      'POST /w/… givenName=Ada&familyName=Lovelace',
      'GET /w/… ',
    ])
    await expectKeptNowhere(setups().map(({ client_secret: secret }) => secret ?? ''))
  })

  test('says what to do where the script does not come, or none may run', async () => {
    const { page, sent, open, frame, setups } = await hosted()
    simulator.faults.add({ kind: '502', on: 'GET /endive/stripe.js' })
    await open()
    await frame.getByText('Card entry could not be loaded').waitFor()
    await expect.poll(() => toldOf(page)).toContain('error {"code":"gateway_unavailable"}')
    expect([setups(), sent.filter((one) => one.includes('/fields'))]).toEqual([[], []])
    await frame.getByRole('button', { name: 'Try again' }).click()
    await frame.getByLabel('First name').waitFor()
    expect(setups()).toHaveLength(1)
    // A script that never comes is waited for 10 seconds.
    await page.clock.install()
    await page.route(`${simulator.address}/endive/stripe.js`, () => {})
    await open({ waitUntil: 'commit' })
    await frame.getByText('The card fields are being loaded.').waitFor()
    await page.clock.fastForward(9_000)
    expect(await frame.getByText('Card entry could not be loaded').isVisible()).toBe(false)
    await page.clock.fastForward(1_500)
    await frame.getByText('Card entry could not be loaded').waitFor()
  })

  /** Answers the bank that the gateway shows over the page. */
  async function atBank(page: Page, button: 'Confirm' | 'Refuse' | 'Close'): Promise<void> {
    const bank = await frameOf(page, '/browser/bank')
    await bank.getByRole('button', { name: button }).click()
    await expect.poll(() => page.frames().some((one) => one.url().includes('/browser/bank'))).toBe(false)
  }

  test('the bank asks at storing and at the charge: closed, loaded again, confirmed', async () => {
    // Markup that a page has stored before the frame could open windows.
    const { page, open, frame, read, stripe } = await hosted(
      { SaleType: 'VaultSale', Amount: 49 },
      {},
      ' data-allows="popups"',
    )
    await open()
    expect(await page.locator('iframe').getAttribute('sandbox')).toBe('allow-scripts allow-same-origin allow-forms')
    await frame.getByLabel('First name').fill('Ada')
    await frame.getByLabel('Last name').fill('Lovelace')
    const pay = frame.getByRole('button', { name: 'Pay $49.00' })
    const left = frame.getByRole('alert').getByText('Your bank was left without an answer.')
    await enter(page, ASKS)
    await pay.click()
    await atBank(page, 'Refuse')
    await frame.getByRole('alert').getByText('failed authentication').waitFor()
    await pay.click()
    await atBank(page, 'Close')
    await left.waitFor()
    await pay.click()
    await atBank(page, 'Confirm')
    // At the charge the bank asks once more, without a press.
    await frame.getByRole('heading', { name: 'Please confirm the payment' }).waitFor()
    await atBank(page, 'Close')
    await left.waitFor()
    await page.reload()
    await atBank(page, 'Close')
    await left.waitFor()
    // The bank has room in the frame.
    expect(
      await page
        .locator('iframe')
        .first()
        .evaluate((one: any) => one.offsetHeight),
    ).toBeGreaterThan(600)
    await picture(page, 'card-fields-frame-confirm')
    await frame.getByRole('button', { name: 'Confirm at my bank' }).click()
    await atBank(page, 'Confirm')
    await frame.getByRole('heading', { name: 'Paid' }).waitFor()
    expect(await read()).toMatchObject({ State: 'captured', transactionID: expect.stringMatching(/^pi_/) })
    expect([...stripe.book.charges.values()].filter((charge) => charge.paid)).toHaveLength(1)
    const secrets = [...stripe.book.setups.values(), ...stripe.book.intents.values()]
    await expectKeptNowhere(secrets.map(({ client_secret: secret }) => secret ?? ''))
  })

  test('two tabs with two cards store one, and both show it', async () => {
    const { page, open, frame, session, read, setups } = await hosted()
    await open()
    expect(await page.locator('iframe').getAttribute('sandbox')).toMatch(
      / allow-popups allow-popups-to-escape-sandbox$/,
    )
    expect(await page.locator('iframe').getAttribute('allow')).toBe('payment *; publickey-credentials-get *')
    const { page: other } = await openPage()
    // What a gateway adds to a return address is neither kept nor logged.
    await other.goto(`${address}/w/${session.HashToken}?setup_intent_client_secret=planted_secret`)
    await frameOf(other, '/browser/frame')
    expect(other.url()).toBe(`${address}/w/${session.HashToken}`)
    expect(logged).not.toContain('planted_secret')
    expect(await barriersOf(other)).toEqual([])
    for (const [one, at] of [
      [page, frame],
      [other, other],
    ] as const) {
      await at.getByLabel('First name').fill('Ada')
      await at.getByLabel('Last name').fill('Lovelace')
      await enter(one, one === page ? GOOD : '5555555555554444')
    }
    await frame.getByRole('button', { name: 'Save' }).click()
    await frame.getByText('Visa ending in 4242').waitFor()
    await other.getByRole('button', { name: 'Save' }).click()
    await other.getByText('Visa ending in 4242').waitFor()
    expect([setups().length, (await read()).State]).toEqual([1, 'captured'])
  })

  test('an invoice is paid on its card page, by keyboard alone, and confirmed on the page that it links to', async () => {
    const shop = await payableByFields(service, simulator)
    const { page, sent } = await openPage({ viewport: { width: 320, height: 700 }, colorScheme: 'dark' })
    await page.goto(address + shop.path)
    await page.getByRole('link', { name: 'Pay $100.00 by card' }).click()
    await page.getByLabel('First name').waitFor()
    const card = await frameOf(page, '/browser/frame')
    await card.getByLabel('Card number').focus()
    for (const text of [ASKS, '12 / 31', '123', 'Ada', 'Lovelace']) {
      await page.keyboard.type(text)
      await page.keyboard.press('Tab')
    }
    await page.keyboard.press('Enter')
    await atBank(page, 'Confirm')
    await page.getByText('Your bank asks you to confirm this payment').waitFor()
    await atBank(page, 'Close')
    await page.getByRole('button', { name: 'Confirm at your bank' }).waitFor()
    expect(await barriersOf(page)).toEqual([])
    await page.getByRole('link', { name: 'Back to the invoice' }).click()
    await page.getByRole('link', { name: 'Confirm at your bank' }).click()
    await atBank(page, 'Confirm')
    await page.getByText('✓ Paid').waitFor()
    expect(await shop.read()).toMatchObject({ Status: 'Paid' })
    expect(shop.paid()).toHaveLength(1)
    expect(sent.filter((one) => one.split(' ')[1]?.startsWith(address) && holdsNumber(one))).toEqual([])
  })

  test.each(SHAPES.slice(1, 3))('has no barriers, and fits, in $locale, $colorScheme, $width wide', async (shape) => {
    const { locale, colorScheme, width } = shape
    const { cardPath } = await payableByFields(service, simulator)
    const { page, sent } = await openPage({ locale, colorScheme, viewport: { width, height: 800 } })
    const show = async (name: string, what: string) => {
      await page.locator(what).first().waitFor()
      expect(await barriersOf(page), name).toEqual([])
      // 320 pixels are those of a wide window at 400 % zoom, too.
      expect(await page.evaluate('document.documentElement.scrollWidth'), name).toBeLessThanOrEqual(width)
      await picture(page, `${name}-${locale}-${colorScheme}-${width}`)
    }
    await page.goto(address + cardPath)
    await show('card-fields', '#card-fields iframe')
    // The fields of the gateway speak the language of the page, in its colour.
    const made = sent.find((one) => one.includes('"call":"elements"'))
    const theme = colorScheme === 'dark' ? 'night' : 'stripe'
    for (const part of [`"locale":"${locale}"`, `"theme":"${theme}"`, '"colorPrimary":"#1d4f73"'])
      expect(made).toContain(part)
    expect(await page.getByRole('group').getAttribute('aria-labelledby')).toBe('card-title')
    await page.locator('button[type=submit]').click()
    await show('card-fields-wrong', '[aria-invalid=true]')
    simulator.faults.add({ kind: '502', on: 'GET /endive/stripe.js' })
    await page.reload()
    await show('card-fields-unloaded', '#unloaded:not([hidden])')
  })

  test('says that it needs JavaScript where that is switched off', async () => {
    const { cardPath } = await payableByFields(service, simulator)
    const { page } = await openPage({ javaScriptEnabled: false })
    await page.goto(address + cardPath)
    expect(await page.locator('noscript p').first().isVisible()).toBe(true)
    expect(await page.locator('noscript').innerText()).toContain('This page needs JavaScript')
    expect(await page.locator('form').isVisible()).toBe(false)
    expect(await page.locator('noscript a').isVisible()).toBe(true)
  })
})
