import pg from 'pg'
import type { Page } from 'playwright-core'
import { beginSession, CARD, complete, frameOf } from '../../src/features/capture-sessions/capture.testing.ts'
import { debitShop } from '../../src/features/collection/debit-shop.testing.ts'
import { CARDS, cardShop } from '../../src/features/collection/shop.testing.ts'
import { MANDATE, SEPA } from '../../src/features/emandates/emandates.testing.ts'
import { reminderLink } from '../../src/features/reminders/page.ts'
import type { TestClient, TestService } from '../support/app.ts'
import { moveTo } from '../support/shop.ts'

/** Every public page in each of its states, as a table: a page that is new, or can look another way, gets a row here. */

/** The one service of all rows, whose clocks they move. */
export interface World {
  service: TestService
  /** Real time goes on by so much, for what has no clock of an account. */
  passHours(hours: number): void
  /** The clock of spans stands still: visits are counted within one minute. */
  holdClock(isHeld: boolean): void
}

interface Opened {
  path: string
  /** Gets the page that was opened into the state. */
  act?: (page: Page) => Promise<unknown>
  /** Puts the service right again. */
  after?: () => Promise<unknown>
}

export interface PageRow {
  name: string
  /** Status of the page as opened; left out: 200. */
  status?: number
  /** Words on the page, by which it is known to be the one that is meant. */
  shows: { en: string; de: string }
  /** Makes the state for a reader of a language. */
  open: (world: World, locale: string) => Promise<Opened>
}

const pathOf = async (client: TestClient, id: number) =>
  new URL((await client.get(`/v1/invoices/${id}/link`)).body.Url).pathname

/** An invoice of several lines with tax, of a customer who reads a language, and the path of its page. */
export async function invoicePage(
  { service }: Pick<World, 'service'>,
  locale: string,
  card: string | null = CARDS.good,
) {
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

/** Presses the button of a page on which it is the only one. */
const press = (page: Page) => page.getByRole('button').click()

const payNow = async (page: Page, path: string) => {
  await press(page)
  await page.waitForURL((url) => url.pathname === path)
}

async function payPage(world: World, locale: string, card?: string): Promise<Opened> {
  const { path } = await invoicePage(world, locale, card)
  return { path: `${path}/pay`, act: (page) => payNow(page, path) }
}

const INVOICES: PageRow[] = [
  {
    name: 'an invoice that is open',
    shows: { en: 'To pay', de: 'Zu zahlen' },
    open: async (world, locale) => ({ path: (await invoicePage(world, locale)).path }),
  },
  {
    name: 'an invoice that is late',
    shows: { en: 'Was due on', de: 'War fällig am' },
    open: async (world, locale) => {
      const { client, path } = await invoicePage(world, locale, CARDS.poor)
      await moveTo(client, '2027-01-20')
      return { path }
    },
  },
  {
    name: 'paying an invoice',
    shows: { en: 'now', de: 'jetzt' },
    open: async (world, locale) => ({ path: `${(await invoicePage(world, locale)).path}/pay` }),
  },
  { name: 'an invoice that was paid', shows: { en: '✓ Paid', de: '✓ Bezahlt' }, open: payPage },
  {
    name: 'an invoice whose card was declined',
    shows: { en: 'not enough money', de: 'Das Guthaben reicht nicht' },
    open: (world, locale) => payPage(world, locale, CARDS.poor),
  },
  {
    name: 'a payment to be confirmed',
    shows: { en: 'Your bank asks you to confirm', de: 'Ihre Bank bittet' },
    open: (world, locale) => payPage(world, locale, CARDS.confirm),
  },
  {
    name: 'an invoice that is debited from a bank account',
    shows: { en: 'It will be debited on', de: 'eingezogen' },
    open: async ({ service }, locale) => {
      const { client, invoice } = await debitShop(service, { customer: { Locale: locale } })
      const id = await invoice(115)
      await client.post(`/v1/invoices/${id}/collect`)
      return { path: await pathOf(client, id) }
    },
  },
  {
    name: 'an invoice that was cancelled',
    shows: { en: 'cancelled', de: 'storniert' },
    open: async (world, locale) => {
      const { client, invoice, path } = await invoicePage(world, locale)
      await client.delete(`/v1/invoices/${invoice}`)
      return { path }
    },
  },
]

/** Finds the form for a new card of an invoice that has none, as its page leads there. */
async function newCardPage(world: World, locale: string, card: string | null = null) {
  const { path, client, invoice, ...shop } = await invoicePage(world, locale, card)
  const { payload } = await world.service.app.server.inject(path)
  return { invoicePath: path, path: /href="(\/p\/[^"]+)"/.exec(payload)?.[1] ?? '', client, invoice, ...shop }
}

const newCardRow = (name: string, shows: PageRow['shows'], number: string): PageRow => ({
  name,
  shows,
  open: async (world, locale) => {
    const { path } = await newCardPage(world, locale)
    return { path, act: (page) => enterCard(page, number) }
  },
})

const NEW_CARDS: PageRow[] = [
  {
    name: 'an invoice of a customer without a card',
    shows: { en: 'by card', de: 'per Karte' },
    open: async (world, locale) => ({ path: (await newCardPage(world, locale)).invoicePath }),
  },
  {
    name: 'a new card for an invoice',
    shows: { en: 'Use it from now on', de: 'Von jetzt an verwenden' },
    open: async (world, locale) => ({ path: (await newCardPage(world, locale, CARDS.good)).path }),
  },
  {
    name: 'a new card for an invoice, with nothing entered',
    shows: { en: 'marked fields', de: 'markierten Felder' },
    open: async (world, locale) => ({ path: (await newCardPage(world, locale)).path, act: sendForm }),
  },
  newCardRow('a new card that has paid', { en: '✓ Paid', de: '✓ Bezahlt' }, CARDS.good),
  newCardRow('a new card that was declined', { en: 'not enough money', de: 'Das Guthaben reicht nicht' }, CARDS.poor),
  newCardRow('a new card that the gateway refused', { en: 'was refused', de: 'abgelehnt' }, '4000000000000002'),
  newCardRow('a new card to be confirmed', { en: 'Use another card', de: 'Eine andere Karte' }, CARDS.confirm),
  {
    name: 'a form for a card where nothing is to be paid',
    shows: { en: 'nothing to pay by card', de: 'nichts per Karte zu zahlen' },
    open: async (world, locale) => {
      const { path, client, invoice } = await newCardPage(world, locale)
      await client.delete(`/v1/invoices/${invoice}`)
      return { path }
    },
  },
]

async function remindersPage(world: World, locale: string): Promise<Opened> {
  const { client, customerID } = await invoicePage(world, locale)
  const link = reminderLink(client.id, BigInt(customerID), 'payment_due')
  return { path: `/u/${world.service.app.links.token(link)}` }
}

const REMINDERS: PageRow[] = [
  {
    name: 'reminders that are sent',
    shows: { en: 'Stop these mails', de: 'Diese E-Mails abbestellen' },
    open: remindersPage,
  },
  {
    name: 'reminders that were stopped',
    shows: { en: 'any more', de: 'nicht mehr' },
    open: async (world, locale) => ({ ...(await remindersPage(world, locale)), act: press }),
  },
]

type Begun = Awaited<ReturnType<typeof sessionPage>>

async function sessionPage(world: World, changes: object = {}, wish: object = {}) {
  const client = await world.service.newAccount({ name: 'Brightquay Hosting', ...wish })
  const begun = await beginSession(client, { Description: 'Managed hosting, two servers in Frankfurt', ...changes })
  const frame = frameOf(world.service, begun.body.HashToken)
  return { client, session: begun.body, frame, path: frame.path }
}

const sendForm = (page: Page) => page.locator('form button').click()

async function enterCard(page: Page, number: string): Promise<void> {
  for (const [name, value] of Object.entries({ ...CARD, number })) await page.locator(`#${name}`).fill(value)
  await sendForm(page)
}

/** Rows of the form of a bank account, whose fields hang on the currency. */
const accountRows = (currency: string, shows: PageRow['shows']): PageRow[] => [
  {
    name: `a bank account in ${currency}, with nothing entered`,
    shows,
    open: async (world) => ({
      path: `${(await sessionPage(world, { CurrencyCode: currency }, { currency })).path}/account`,
      act: sendForm,
    }),
  },
]

/** Makes a session, then what happened to it before it is looked at. */
const afterwards =
  (happen: (begun: Begun, world: World) => Promise<unknown>, act?: Opened['act']): PageRow['open'] =>
  async (world) => {
    const begun = await sessionPage(world)
    await happen(begun, world)
    return { path: begun.path, ...(act && { act }) }
  }

const settle = async ({ client }: Begun, change: object) => {
  const [{ gatewayID }] = (await client.get('/v1/gateways')).body
  return client.put(`/v1/gateways/${gatewayID}`, change)
}

const nothing = async () => {}

const FRAMES: PageRow[] = [
  { name: 'a card to enter', shows: { en: 'Card number', de: 'Kartennummer' }, open: afterwards(nothing) },
  {
    name: 'a card with everything wrong',
    shows: { en: 'This is mistyped', de: 'Hier ist etwas vertippt' },
    open: afterwards(nothing, (page) => enterCard(page, '4242 4242 4242 4241')),
  },
  {
    name: 'a card that was refused',
    shows: { en: 'The card was refused', de: 'Die Karte wurde abgelehnt' },
    open: afterwards(nothing, (page) => enterCard(page, '4000 0000 0000 0002')),
  },
  {
    name: 'a card that nobody answered for',
    shows: { en: 'Nobody answered', de: 'Niemand hat geantwortet' },
    open: afterwards(
      (begun) => settle(begun, { Settings: { Fault: 'not_answered' } }),
      (page) => enterCard(page, CARDS.good),
    ),
  },
  {
    name: 'a card where the gateway was switched off',
    shows: { en: 'Nothing can be saved', de: 'nichts gespeichert' },
    open: afterwards(
      (begun) => settle(begun, { isActive: false }),
      (page) => enterCard(page, CARDS.good),
    ),
  },
  {
    name: 'a card that was captured',
    shows: { en: 'Visa ending in 4242', de: 'Visa mit den letzten Ziffern 4242' },
    open: afterwards(nothing, (page) => enterCard(page, CARDS.good)),
  },
  {
    name: 'a session that was completed',
    shows: { en: 'Saved', de: 'Gespeichert' },
    open: afterwards(async ({ client, frame, session }) => {
      await frame.post(CARD)
      const { body } = await client.post('/v1/customers', { Name: 'Ada', LastName: 'Lovelace' })
      await complete(client, body.customerID, session.SessionToken)
    }),
  },
  {
    name: 'a session that expired',
    shows: { en: 'expired', de: 'abgelaufen' },
    open: afterwards(({ client }) => moveTo(client, '2027-01-01T01:00:00Z')),
  },
  {
    name: 'a session in which five cards were refused',
    shows: { en: 'Too many tries', de: 'Zu viele Versuche' },
    open: afterwards(async ({ frame }) => {
      for (let tries = 0; tries < 5; tries += 1) await frame.post({ ...CARD, number: '4000000000000002' })
    }),
  },
  ...accountRows('EUR', { en: 'IBAN', de: 'IBAN' }),
  ...accountRows('USD', { en: 'Routing number', de: 'Routing Number' }),
  ...accountRows('ZAR', { en: 'Branch code', de: 'Filialnummer' }),
]

const SALE = { SaleType: 'VaultSale', Amount: 49, Description: 'Managed hosting, two servers in Frankfurt' }
const SALE_ONLY = { ...SALE, VaultingType: 'VaultNone', SaleType: 'SaleOnly' }

/** Makes a sale, sends a card for it, and leads to its page or to one below that. */
const sale =
  (number: string, sold: object = SALE, below = '', act?: Opened['act']): PageRow['open'] =>
  async (world) => {
    const begun = await sessionPage(world, sold)
    await begun.frame.post({ ...CARD, number })
    return { path: begun.path + below, ...(act && { act }) }
  }

const SALES: PageRow[] = [
  {
    name: 'a sale to enter a card for',
    shows: { en: 'Pay $49.00', de: '49,00 $ zahlen' },
    open: async (world) => ({ path: (await sessionPage(world, SALE)).path }),
  },
  {
    name: 'a sale whose card was declined',
    shows: { en: 'The card was refused', de: 'Die Karte wurde abgelehnt' },
    open: async (world) => ({
      path: (await sessionPage(world, SALE_ONLY)).path,
      act: (page) => enterCard(page, CARDS.poor),
    }),
  },
  {
    name: 'a sale that the bank wants confirmed',
    shows: { en: 'Please confirm the payment', de: 'Bitte bestätigen Sie die Zahlung' },
    open: sale(CARDS.confirm, SALE_ONLY),
  },
  {
    name: 'a sale that was not confirmed yet',
    shows: { en: 'No confirmation has arrived', de: 'noch keine Bestätigung' },
    open: sale(CARDS.confirm, SALE, '', (page) => page.locator('#go-on').click()),
  },
  {
    name: 'the bank of the sandbox',
    shows: { en: 'No real money moves', de: 'kein echtes Geld' },
    open: sale(CARDS.confirm, SALE, '/bank'),
  },
  {
    name: 'the bank of the sandbox, when it was answered',
    shows: { en: 'Your answer has arrived', de: 'Ihre Antwort ist angekommen' },
    open: sale(CARDS.confirm, SALE, '/bank', (page) => page.locator('button[value=confirm]').click()),
  },
  {
    name: 'a sale that waits for its outcome',
    shows: { en: 'is being checked', de: 'wird geprüft' },
    // Nobody waits here until it looks again on its own.
    open: sale(CARDS.byAmount, { ...SALE, Amount: 49.91 }, '', (page) =>
      page.evaluate('for (let id = setTimeout(() => {}); id > 0; id -= 1) clearTimeout(id)'),
    ),
  },
  { name: 'a sale that was paid', shows: { en: 'was paid', de: 'wurden bezahlt' }, open: sale(CARDS.good, SALE_ONLY) },
]

async function mandatePage({ service }: World, body: object, path = '/widget/emandate') {
  const client = await service.newAccount({ name: 'Brightquay Hosting', currency: 'EUR' })
  const added = await client.post(path, body)
  return { client, path: new URL(added.body.Url, 'http://localhost').pathname }
}

const mandate =
  (body: object, act?: Opened['act']): PageRow['open'] =>
  async (world) => ({ path: (await mandatePage(world, body)).path, ...(act && { act }) })

const sign = (page: Page) => page.locator('button[value=sign]').click()

async function signRightly(page: Page): Promise<void> {
  await page.locator('#signature').fill('Ada Lovelace')
  await page.locator('#consent').check()
  await sign(page)
}

const MANDATES: PageRow[] = [
  {
    name: 'an eMandate of a debit order, to sign',
    shows: { en: 'may not cede or assign', de: 'abtreten' },
    open: mandate(MANDATE),
  },
  {
    name: 'an eMandate of SEPA whose basics may be changed, sent with nothing',
    shows: { en: 'This is not signed yet', de: 'Das ist noch nicht unterschrieben' },
    open: mandate({ ...SEPA, isCustomerEditable: true, isCompanySignee: true, Company: 'Engines' }, sign),
  },
  {
    name: 'an eMandate that was signed',
    shows: { en: 'This is signed', de: 'Das ist unterschrieben' },
    open: mandate(MANDATE, signRightly),
  },
  {
    name: 'an eMandate that was declined',
    shows: { en: 'You did not sign', de: 'Sie haben nicht unterschrieben' },
    open: mandate(MANDATE, (page) => page.locator('button[value=decline]').click()),
  },
  {
    name: 'an eMandate that expired',
    status: 410,
    shows: { en: 'The time to sign is over', de: 'Die Zeit zu unterschreiben ist vorbei' },
    open: async (world) => {
      const { path } = await mandatePage(world, MANDATE)
      world.passHours(25)
      return { path }
    },
  },
]

/** Nobody is let into the database, and whoever is there is put out. */
async function closeDatabase({ connection }: TestService, isClosed: boolean): Promise<void> {
  const admin = new pg.Client({ ...connection, database: 'postgres' })
  await admin.connect()
  await admin.query(`alter database ${connection.database} allow_connections ${!isClosed}`)
  if (isClosed)
    await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [
      connection.database,
    ])
  await admin.end()
}

const REFUSALS: PageRow[] = [
  {
    name: 'a link that was cut (404)',
    status: 404,
    shows: { en: 'This link does not work', de: 'Dieser Link führt nirgendwohin' },
    open: async () => ({ path: '/i/cut' }),
  },
  {
    name: 'an invoice settled long ago (410)',
    status: 410,
    shows: { en: 'no longer shown', de: 'nicht mehr gezeigt' },
    open: async (world, locale) => {
      const { client, invoice, path } = await invoicePage(world, locale)
      await client.post(`/v1/invoices/${invoice}/collect`)
      await moveTo(client, '2027-08-01')
      return { path }
    },
  },
  {
    name: 'too many visits (429)',
    status: 429,
    shows: { en: 'Too many visits', de: 'Zu viele Aufrufe' },
    open: async ({ service, holdClock }) => {
      holdClock(true)
      for (let visits = 0; visits < 120; visits += 1) await service.app.server.inject({ url: '/i/cut' })
      return { path: '/i/cut', after: async () => holdClock(false) }
    },
  },
  {
    name: 'a database that is away (503)',
    status: 503,
    shows: { en: 'cannot answer at the moment', de: 'nicht antworten' },
    open: async (world, locale) => {
      const { path } = await invoicePage(world, locale)
      await closeDatabase(world.service, true)
      return { path, after: () => closeDatabase(world.service, false) }
    },
  },
]

export const PAGE_ROWS: readonly PageRow[] = [
  ...INVOICES,
  ...NEW_CARDS,
  ...REMINDERS,
  ...FRAMES,
  ...SALES,
  ...MANDATES,
  ...REFUSALS,
]
