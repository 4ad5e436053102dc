import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Writable } from 'node:stream'
import pg from 'pg'
import pino from 'pino'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { beginSession, CARD, readSession } from '../../src/features/capture-sessions/capture.testing.ts'
import { startTestService } from '../support/app.ts'
import { hasBrowser, launchBrowser } from '../support/browser.ts'
import { moveTo } from '../support/shop.ts'

/** The capture widget in a real browser: on the page that may show it, on pages of strangers, by keyboard, and for people who hear it. */

// Hosts of other people are this machine, too.
const HOSTS = '--host-resolver-rules=MAP *.example 127.0.0.1'
const NUMBER = '4242424242424242'

let logged = ''
const sink = new Writable({
  write(chunk, _, done) {
    logged += String(chunk)
    done()
  },
})
// Of the clock of spans each look is a second: one address may ask for so many pages a minute.
let spanMs = 0
let isHeld = false
const clock = () => (isHeld ? spanMs : (spanMs += 1000))
const service = await startTestService({ log: pino({ level: 'trace' }, sink), clock })

const shell = (widget: string) => `<!doctype html><html lang="en"><title>Host</title><main><h1>Host</h1>${widget}</main>
<script>window.told = []
for (const type of ['ready', 'result', 'error'])
  document.addEventListener('perennial:' + type, (event) => told.push(type + ' ' + JSON.stringify(event.detail)))</script></html>`

const toldOf = (page: Page): Promise<string[]> => page.evaluate('told')
const untilTold = (page: Page, what: string) =>
  page.waitForFunction((one) => (globalThis as any).told.includes(one), what)

/** Makes a server of somebody else's pages, by path. */
async function hostOf(pages: Map<string, string>): Promise<Server> {
  const server = createServer((request, response) =>
    response.setHeader('content-type', 'text/html; charset=utf-8').end(pages.get(request.url ?? '') ?? ''),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port

describe.skipIf(!hasBrowser)('the capture widget in a browser (needs chromium)', () => {
  const pages = new Map<string, string>()
  let browser: Browser
  let address = ''
  let hosts: Server[] = []
  let port = 0
  let otherPort = 0

  beforeAll(async () => {
    await service.app.server.listen({ host: '127.0.0.1', port: 0 })
    address = `http://127.0.0.1:${portOf(service.app.server.server)}`
    hosts = [await hostOf(pages), await hostOf(pages)]
    ;[port = 0, otherPort = 0] = hosts.map(portOf)
    browser = await launchBrowser(HOSTS)
  })
  afterAll(async () => {
    await browser.close()
    for (const host of hosts) host.close()
  })

  /** Begins a session, whose frame one origin may show. */
  async function begin(AuthDomain = `localhost:${port}`, changes: object = {}) {
    const client = await service.newAccount()
    const { status, body: session, text } = await beginSession(client, { AuthDomain, ...changes })
    expect(status, text).toBe(200)
    const html: string = session.Html.replaceAll('http://localhost:80', address)
    return { client, session, html, state: async () => (await readSession(client, session.SessionToken)).State }
  }

  async function openPage(options: Parameters<Browser['newPage']>[0] = {}): Promise<Page> {
    const page = await browser.newPage(options)
    onTestFinished(() => page.close())
    return page
  }

  /** Begins a session and opens the page of its host, with the frame there. */
  async function hosted(options: Parameters<Browser['newPage']>[0] = {}, changes: object = {}) {
    const begun = await begin(undefined, changes)
    pages.set('/', shell(begun.html))
    const page = await openPage(options)
    await page.goto(`http://localhost:${port}/`)
    const frame = page.frameLocator('iframe')
    await frame.getByLabel('Card number').waitFor()
    return { ...begun, page, frame, focused: () => frame.locator(':focus') }
  }

  /** Enters a card by keyboard alone, from the first field to the button. */
  async function typeCard(page: Page, number = NUMBER): Promise<void> {
    await page.frameLocator('iframe').getByLabel('Card number').focus()
    for (const text of [number, '12 / 30', 'Ada', 'Lovelace']) {
      await page.keyboard.type(text)
      await page.keyboard.press('Tab')
    }
    await page.keyboard.press('Enter')
  }

  test('takes a card on the page that may show it; the number is in one form alone, in no storage, log or row', async () => {
    const { page, frame, session, state } = await hosted()
    const sent: { url: string; holds: boolean }[] = []
    page.on('request', (request) => {
      const text = `${request.url()} ${request.postData() ?? ''} ${JSON.stringify(request.headers())}`
      sent.push({ url: request.url(), holds: holdsNumber(text) })
    })
    await page.reload()
    await frame.getByLabel('Card number').waitFor()
    await typeCard(page, '4242 4242 4242 4241')
    await frame.getByText('This is mistyped.').waitFor()
    await typeCard(page, '4242 4242 4242 4242')
    await frame.getByText('Visa ending in 4242').waitFor()
    await untilTold(page, 'result {"state":"captured"}')
    expect(await toldOf(page)).toEqual(['ready {}', 'error {"code":"validation_error"}', 'result {"state":"captured"}'])
    expect(await state()).toBe('captured')

    expect(sent.filter(({ holds }) => holds).map(({ url }) => url)).toEqual(
      Array.from({ length: 2 }, () => `${address}/w/${session.HashToken}`),
    )
    const origins = new Set(
      sent
        .map(({ url }) => new URL(url))
        .filter(({ protocol }) => protocol !== 'data:')
        .map(({ origin }) => origin),
    )
    expect([...origins].sort()).toEqual([address, `http://localhost:${port}`].sort())
    for (const one of page.frames()) {
      const kept = await one.evaluate(async () => {
        const { document, history, name, indexedDB } = globalThis as any
        // A browser may keep storage from frames of others altogether.
        const stored = (kind: string) => {
          try {
            return { ...(globalThis as any)[kind] }
          } catch {
            return 'denied'
          }
        }
        const databases = await indexedDB.databases().catch(() => 'denied')
        const markup = document.documentElement.outerHTML
        return JSON.stringify([
          stored('localStorage'),
          stored('sessionStorage'),
          databases,
          document.cookie,
          history.state,
          name,
          markup,
        ])
      })
      expect(holdsNumber(kept), one.url()).toBe(false)
    }
    expect(await page.context().cookies()).toEqual([])
    await expect(page.evaluate('frames[0].document.body.innerHTML')).rejects.toThrow('cross-origin frame')
    expect(holdsNumber(logged)).toBe(false)
    for (const secret of [session.SessionToken, session.HashToken]) expect(logged).not.toContain(secret)
    expect(await rowsWithNumber()).toEqual([])
  })

  test.each([
    ['a subdomain', () => [`localhost:${port}`, `http://pay.localhost:${port}/`]],
    ['another port', () => [`localhost:${port}`, `http://localhost:${otherPort}/`]],
    ['another name of the same machine', () => [`localhost:${port}`, `http://127.0.0.1:${port}/`]],
    ['http in the place of https', () => [`https://localhost:${port}`, `http://localhost:${port}/`]],
    ['a name that looks like it', () => [`localhost:${port}`, `http://localhost.evil.example:${port}/`]],
    ['a foreign page that frames the allowed one', () => [`localhost:${port}`, `http://localhost:${otherPort}/outer`]],
  ])('is shown by no other origin: %s', async (_, way) => {
    const [domain = '', at = ''] = way()
    const { html, state } = await begin(domain)
    pages.set('/', shell(html))
    pages.set('/outer', `<!doctype html><title>Outer</title><iframe src="http://localhost:${port}/"></iframe>`)
    const page = await openPage()
    const answers: string[] = []
    page.on('console', (message) => message.type() === 'error' && answers.push(message.text()))
    await page.goto(at)
    await expect.poll(() => answers.join('\n')).toMatch(/frame-ancestors/)
    for (const frame of page.frames()) expect(await frame.getByLabel('Card number').count()).toBe(0)
    expect(await state()).toBe('open')
  })

  test('hears nothing that a page says, and the page nothing but the frame', async () => {
    const begun = await begin('http://localhost:9')
    const lie = (how: string) =>
      `<script>setTimeout(() => ${how}({ source: 'perennial-capture', channel: document.querySelector('iframe').name, type: 'result', state: 'captured' }, '*'))</script>`
    // Twice the frame, and a page that says it is the frame, to itself and to the frame.
    pages.set('/', shell(`${begun.html}${begun.html}${lie('postMessage')}${lie('frames[0].postMessage')}`))
    const page = await openPage()
    await page.goto(`http://localhost:${port}/`)
    await untilTold(page, 'error {"code":"invalid_domain"}')
    expect(await toldOf(page)).toEqual(['error {"code":"invalid_domain"}'])
    expect(await page.locator('iframe').count()).toBe(1)
    expect(await begun.state()).toBe('open')
  })

  test.each([
    ['Confirm', 'was paid', 'captured'],
    ['Refuse', 'Card number', 'open'],
  ])('shows the bank that asks for a confirmation in a frame of its own: %s', async (press, shown, ended) => {
    const sale = { SaleType: 'VaultSale', Amount: 49, isVaultOnlyOnSuccess: true }
    const { page, frame, state } = await hosted({}, sale)
    await typeCard(page, '4000002500003155')
    await frame.frameLocator('iframe').getByRole('button', { name: press }).click()
    await frame.getByText(shown).first().waitFor()
    expect(await state()).toBe(ended)
  })

  test('captures once where a page frames it twice, and where its button is pressed twice', async () => {
    const begun = await begin()
    const path = `${address}/w/${begun.session.HashToken}`
    pages.set('/', shell(`<iframe src="${path}" title="one"></iframe><iframe src="${path}" title="two"></iframe>`))
    const page = await openPage()
    await page.goto(`http://localhost:${port}/`)
    for (const title of ['one', 'two'])
      for (const [name, value] of Object.entries(CARD))
        await page.frameLocator(`[title=${title}]`).locator(`#${name}`).fill(value)
    await page.frameLocator('[title=one]').getByRole('button').dblclick()
    await page.frameLocator('[title=one]').getByRole('heading', { name: 'Saved' }).waitFor()
    await page.frameLocator('[title=two]').getByRole('button').click()
    await page.frameLocator('[title=two]').getByRole('heading', { name: 'Saved' }).waitFor()
    const { body } = await begun.client.get('/v1/events?type=capture_session.captured')
    expect(body).toHaveLength(1)
  })

  test('brings whoever sends a form to what is wrong, to what was refused, and to how it ended', async () => {
    const { page, frame, focused } = await hosted()
    // Opening the page takes the focus from nobody.
    expect(await page.evaluate('document.activeElement.tagName')).toBe('BODY')
    await typeCard(page, '4242 4242 4242 4241')
    await frame.getByText('This is mistyped.').waitFor()
    expect(await focused().getAttribute('id')).toBe('number')
    await typeCard(page, '4000 0000 0000 0002')
    await frame.getByText('The card was refused').waitFor()
    expect(await focused().getAttribute('role')).toBe('alert')
    await typeCard(page)
    await frame.getByText('Visa ending in 4242').waitFor()
    await expect.poll(() => focused().count()).toBe(1)
    expect(await focused().innerText()).toBe('Saved')
  })

  test('tells the page that a session ended while somebody was typing, and what became of a refused card', async () => {
    const { page, frame, client, state } = await hosted()
    await typeCard(page, '4000 0000 0000 0002')
    await untilTold(page, 'error {"code":"declined"}')
    await moveTo(client, '2027-01-01T01:00:00Z')
    await typeCard(page)
    await frame.getByRole('heading', { name: 'This form has expired' }).waitFor()
    await untilTold(page, 'error {"code":"session_expired"}')
    expect(await state()).toBe('expired')
  })

  test('shows why a form was not taken where the service has no time for it, and tells the page', async () => {
    const { page, frame, state } = await hosted()
    isHeld = true
    onTestFinished(() => {
      isHeld = false
      spanMs += 60_000
    })
    for (let visits = 0; visits < 120; visits += 1) await service.app.server.inject({ url: '/i/cut' })
    await typeCard(page)
    await frame.getByRole('heading', { name: 'Too many visits at once' }).waitFor()
    await untilTold(page, 'error {"code":"general_error"}')
    expect(await state()).toBe('open')
  })

  test('is named for people who hear it, and has what browsers and small keyboards need', async () => {
    const { frame, page } = await hosted()
    expect(await frame.locator('main').ariaSnapshot()).toBe(`- main:
  - heading "Your card" [level=1]
  - text: Card number
  - textbox "Card number"
  - text: Valid until
  - textbox "Valid until"
  - text: Month and year, such as 12/29 First name on the card
  - textbox "First name on the card"
  - text: Last name on the card
  - textbox "Last name on the card"
  - button "Save"
  - paragraph:
    - link "Use a bank account instead":
      - /url: ${await frame.getByRole('link').getAttribute('href')}`)
    expect(await page.locator('iframe').getAttribute('title')).toBe('Payment method')
    const filled = await frame
      .locator('input')
      .evaluateAll((inputs: any[]) => inputs.map((one) => `${one.autocomplete} ${one.inputMode} ${one.type}`))
    expect(filled).toEqual([
      'cc-number numeric text',
      'cc-exp numeric text',
      'cc-given-name text text',
      'cc-family-name text text',
    ])
  })

  test.each([1280, 320])('is as high as what it shows, %s wide: nothing in it has to be scrolled', async (width) => {
    const { page, frame } = await hosted({ viewport: { width, height: 900 } })
    await typeCard(page, '4242 4242 4242 4241')
    await frame.getByText('This is mistyped.').waitFor()
    const spare = () =>
      frame
        .locator('html')
        .evaluate((root: any) => [root.scrollHeight - root.clientHeight, root.scrollWidth - root.clientWidth])
    await expect.poll(spare).toEqual([0, 0])
  })

  test('works by itself without script', async () => {
    const { session } = await begin('https://shop.example')
    const context = await browser.newContext({ javaScriptEnabled: false })
    onTestFinished(() => context.close())
    const page = await context.newPage()
    await page.goto(`${address}/w/${session.HashToken}`)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Please look at the marked fields').waitFor()
    for (const [name, value] of Object.entries({ ...CARD, expiry: '12 / 30' }))
      await page.locator(`#${name}`).fill(value)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'Saved' }).waitFor()
  })
})

/** Whether a text holds the number, in whatever way its digits are set apart or written for an address. */
const holdsNumber = (text: string): boolean => text.replaceAll(/%20|[\s+-]/g, '').includes(NUMBER.slice(0, 15))

/** Lists the tables of the whole database of which a row holds the number. */
async function rowsWithNumber(): Promise<string[]> {
  const admin = new pg.Client(service.connection)
  await admin.connect()
  try {
    const { rows: tables } = await admin.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`,
    )
    expect(tables.length).toBeGreaterThan(50)
    const hex = Buffer.from(NUMBER).toString('hex')
    const found: string[] = []
    for (const { name } of tables) {
      const { rowCount } = await admin.query(
        `select 1 from ${name} t where regexp_replace(t::text, '[ -]', '', 'g') like $1 or t::text like $2 limit 1`,
        [`%${NUMBER.slice(0, 15)}%`, `%${hex}%`],
      )
      if (rowCount) found.push(name)
    }
    return found
  } finally {
    await admin.end()
  }
}
