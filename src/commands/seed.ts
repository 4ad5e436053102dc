import pino from 'pino'
import { makeOutbound } from '../platform/outbound/outbound.ts'
import { reportLostCard } from '../features/gateway-reports/receive.ts'
import { makeAdapters } from '../features/gateways/adapters.ts'
import { buildApp } from '../app.ts'
import { demoClient, type DemoClient, type Send } from '../demo/client.ts'
import { DEMO_CURRENCY, DEMO_NAME, DEMO_ZONE, STAIRSTEP_NAME } from '../demo/catalogue.ts'
import { liveStory } from '../demo/story.ts'
import { createAccount } from '../features/accounts/actions.ts'
import { listAllAccounts } from '../features/accounts/queries.ts'
import { addDays, addMonths, type IsoDate } from '../kernel/calendar.ts'
import type { AccountId } from '../kernel/ids.ts'
import { dateIn, instantOf, midnightOf } from '../kernel/zone.ts'
import { sendsMail } from '../platform/config.ts'
import type { Database } from '../platform/database/database.ts'
import type { OpenDatabase } from '../platform/database/open.ts'
import { relaxedCommits } from '../platform/database/relaxed-commits.ts'
import type { Envelope } from '../platform/envelope/envelope.ts'
import { connectionBounds } from '../platform/http/connection-bounds.ts'
import { callingOf } from './calling.ts'
import { type CommandContext, withDatabase } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { printJson, printLine, remark } from './output.ts'
import { showProgress } from './progress.ts'

/** `perennial seed --demo`: a test account with a year of a firm in it, lived through with the requests that anybody could send. */

export interface SeedOptions {
  customers: number
  seed: number
}

interface Seeded {
  account: AccountId
  secret: string
  firstDay: IsoDate
  lastDay: IsoDate
  subscriptions: number
  invoices: number
  failed: number
  shown: Shown
  /** Demos that were there before. */
  others: AccountId[]
}

/** Makes the account and lives its year, up to today. Every call makes an account of its own and touches no other. */
export async function seedCommand(context: CommandContext, wish: SeedOptions): Promise<number> {
  const seeded = await withDatabase(context, (_db, opened) => seed(context, opened, wish), { makes: true })
  if (context.isJson) printJson(seededAsJson(seeded, wish))
  else print(seeded, wish, context)
  return seeded.failed > 0 ? EXIT.someFailed : EXIT.done
}

async function seed(context: CommandContext, opened: OpenDatabase, wish: SeedOptions): Promise<Seeded> {
  const { db } = opened
  const envelope = await opened.openEnvelope()
  const before = await listAllAccounts(db.unscoped)
  const nowMs = Date.now()
  const lastDay = dateIn(nowMs, DEMO_ZONE)
  const firstDay = addMonths(lastDay, -12)
  const account = {
    mode: 'test',
    name: DEMO_NAME,
    currency: DEMO_CURRENCY,
    clockAt: midnightOf(firstDay, DEMO_ZONE),
    idStart: context.config.accountIdStart,
  } as const
  const { id, secret } = await createAccount(db, Date.now, account, 'command line')
  // A demo that a dying machine cut short is made again; without waiting for the disk it is made twice as fast.
  const relaxed = relaxedCommits(db)
  const { client, close } = await clientWithin(context, { db: relaxed.db, envelope }, { id, secret })
  const progress = await showProgress(`demo account ${id}, days`)
  try {
    const story = { ...wish, firstDay, lastDay, now: instantOf(nowMs) }
    const { failed } = await liveStory(client, story, {
      lived: ({ day, done, total }) => progress.update(done, total, day),
      // Its commits wait for the disk again, and with them for all before.
      lastDayComes: relaxed.settle,
    })
    const invoices = await client.all('/v1/invoices')
    const subscriptions = await client.all('/v1/subscriptions')
    return {
      account: id,
      secret,
      firstDay,
      lastDay,
      subscriptions: subscriptions.length,
      invoices: invoices.length,
      failed: failed.length,
      shown: shownOf(invoices, await client.all('/v1/credits'), await client.all('/v1/resultfiles')),
      others: before.filter(({ name }) => name === DEMO_NAME).map((other) => other.id),
    }
  } catch (error) {
    if (!context.isJson) remark(`Account ${id} is left as it is: a demo that was not lived to its end.`)
    throw error
  } finally {
    progress.end()
    await close()
  }
}

/** Records that show something, by their identifiers; null where a demo of few customers has none. */
interface Shown {
  /** The newest of the invoices with the most lines. */
  longestInvoice: number
  /** The newest open one, which can be paid on its page. */
  openInvoice: number | null
  /** In German, with reverse charge. */
  germanInvoice: number | null
  /** With a stairstep. */
  stairstepInvoice: number | null
  /** Made for an invoice, and sent. */
  creditNote: number | null
  /** Whether a bank answered debits. */
  hasDebits: boolean
}

interface ListedInvoice {
  invoiceID: number
  isDraft: boolean
  Status: string
  Customer: { Locale: string | null }
  Taxes: { Category: string | null }[]
  Charges: { Line: string | null }[]
}

/** Returns the newest records of a demo that show something. */
function shownOf(
  listed: readonly ListedInvoice[],
  notes: readonly { creditNoteID: number; isSent: boolean }[],
  resultFiles: readonly unknown[],
): Shown {
  const invoices = listed.filter(({ isDraft, Status }) => !isDraft && Status !== 'Cancelled')
  const longest = invoices.reduce<ListedInvoice | undefined>(
    (best, invoice) => (invoice.Charges.length >= (best?.Charges.length ?? 0) ? invoice : best),
    undefined,
  )
  const newest = (isIt: (invoice: ListedInvoice) => boolean) => invoices.findLast(isIt)?.invoiceID ?? null
  return {
    longestInvoice: longest?.invoiceID ?? 0,
    openInvoice: newest(({ Status }) => Status === 'Due' || Status === 'Past Due'),
    germanInvoice: newest(
      ({ Customer, Taxes }) => Customer.Locale === 'de' && Taxes.some(({ Category }) => Category === 'AE'),
    ),
    stairstepInvoice: newest(({ Charges }) => Charges.some(({ Line }) => Line === STAIRSTEP_NAME)),
    creditNote: notes.findLast(({ isSent }) => isSent)?.creditNoteID ?? null,
    hasDebits: resultFiles.length > 0,
  }
}

/** Makes a client of the interface within this process: requests are answered as over a socket. */
async function clientWithin(
  context: CommandContext,
  { db, envelope }: { db: Database; envelope: Envelope },
  { id, secret }: { id: AccountId; secret: string },
): Promise<{ client: DemoClient; close(): Promise<void> }> {
  const { config, version, root } = context
  const app = await buildApp({
    db,
    envelope,
    adapters: makeAdapters({ db, envelope, calling: callingOf(config, db), onCardGone: reportLostCard }),
    outbound: makeOutbound({ allow: config.outboundAllow }),
    log: pino({ level: 'silent' }),
    realClock: Date.now,
    settings: {
      publicUrl: config.publicUrl,
      widgetOrigin: config.widgetOrigin,
      corsOrigins: [],
      trustProxy: false,
      bounds: connectionBounds(config),
      rateLimitPerMinute: 0,
      slowRequestMs: 0,
      hasMailServer: sendsMail(config),
      version,
      root,
    },
  })
  const authorization = `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
  const send: Send = async (method, url, body) => {
    const isText = typeof body === 'string'
    const { statusCode, payload, headers } = await app.server.inject({
      method,
      url,
      headers: { authorization, ...(body ? { 'content-type': isText ? 'text/plain' : 'application/json' } : {}) },
      ...(body ? { payload: isText ? body : JSON.stringify(body) } : {}),
    })
    const isJson = String(headers['content-type'] ?? '').includes('json') && payload !== ''
    return { status: statusCode, body: isJson ? JSON.parse(payload) : undefined, text: payload }
  }
  return { client: demoClient(send), close: app.close }
}

function print(seeded: Seeded, { customers, seed: number }: SeedOptions, { config }: CommandContext): void {
  const { account, secret, firstDay, lastDay, subscriptions, invoices, failed, shown, others } = seeded
  const address = config.publicUrl ?? `http://127.0.0.1:${config.port}`
  if (others.length > 0)
    printLine(`There was a demo before (account ${others.join(', ')}); it stays as it is, and this is another one.`)
  printLine(`Account   ${account} (test, ${DEMO_CURRENCY}): ${DEMO_NAME}, ${firstDay} to ${lastDay}, seed ${number}
          ${customers} customers, ${subscriptions} subscriptions, ${invoices} invoices, ${failed} failed
API key   ${secret}
          Keep it: it is shown this once.
Live on   npm run perennial -- clock advance --account ${account} --to ${addMonths(lastDay, 1)}

Try, while the service runs (npm start), after: demo() { curl -su ${account}:${secret} "${address}/v1/$1"; }
${showing(shown, account, lastDay).join('\n')}`)
}

/** Returns lines that can be typed, each with what it shows. */
function showing(shown: Shown, account: AccountId, lastDay: IsoDate): string[] {
  const [from, to] = [addMonths(`${lastDay.slice(0, 8)}01`, -1), addDays(`${lastDay.slice(0, 8)}01`, -1)]
  const { longestInvoice, openInvoice, germanInvoice, stairstepInvoice, creditNote, hasDebits } = shown
  const pdf = (path: string, id: number | null, name: string) =>
    id === null ? null : `demo ${path}/${id}/pdf > ${name}.pdf`
  const lines: (readonly [command: string | null, shows: string])[] = [
    [`npm run -s perennial -- invoices --account ${account}`, 'the newest invoices'],
    [pdf('invoices', germanInvoice, 'german'), 'a German invoice with reverse charge'],
    [pdf('invoices', stairstepInvoice, 'stairs'), 'the step of a stairstep'],
    [pdf('credits', creditNote, 'credit'), 'a credit note as it was sent'],
    [openInvoice === null ? null : `demo invoices/${openInvoice}/link`, 'the page on which an invoice is paid'],
    [`demo invoices/${longestInvoice}/explanation`, 'every amount of an invoice'],
    [`demo "reports/tax?from=${from}&to=${to}"`, 'taxes of last month, and why none'],
    ['demo "customers?comp_status=Suspended"', 'who was suspended, mostly for not paying'],
    [hasDebits ? 'demo resultfiles' : null, 'what the bank answered to debits'],
  ]
  const made = lines.filter((line): line is readonly [string, string] => line[0] !== null)
  const widest = Math.max(...made.map(([command]) => command.length))
  return made.map(([command, shows]) => `  ${command.padEnd(widest)}  # ${shows}`)
}

const seededAsJson = (
  { account, secret, firstDay, lastDay, subscriptions, invoices, failed, shown }: Seeded,
  { customers, seed: number }: SeedOptions,
) => ({
  AccountID: account,
  ApiKey: secret,
  Seed: number,
  From: firstDay,
  To: lastDay,
  Customers: customers,
  Subscriptions: subscriptions,
  Invoices: invoices,
  Failed: failed,
  tellingInvoiceID: shown.longestInvoice,
  openInvoiceID: shown.openInvoice,
  germanInvoiceID: shown.germanInvoice,
  stairstepInvoiceID: shown.stairstepInvoice,
  creditNoteID: shown.creditNote,
})
