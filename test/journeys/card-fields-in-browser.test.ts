import { Writable } from 'node:stream'
import type { AddressInfo } from 'node:net'
import pg from 'pg'
import pino from 'pino'
import type { Browser, BrowserContextOptions, Frame, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { fieldsSession } from '../../src/features/capture-sessions/fields.testing.ts'
import { StripeSimulator } from '../simulators/stripe.ts'
import { startTestService } from '../support/app.ts'
import { hasBrowser, hostPage, launchBrowser } from '../support/browser.ts'

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
  async function hosted(changes: object = {}, options: BrowserContextOptions = {}) {
    let markup = ''
    const origin = await hostPage(() => markup)
    const begun = await fieldsSession(service, simulator, { AuthDomain: origin, ...changes })
    markup = hostOf(begun.session.Html.replaceAll('http://localhost:80', address))
    const opened = await openPage(options)
    const open = () => opened.page.goto(origin)
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
  })
})
