import pino from 'pino'
import { makeOutbound } from '../platform/outbound/outbound.ts'
import { makeAdapters } from '../features/gateways/adapters.ts'
import { buildApp } from '../app.ts'
import { demoClient, type DemoClient, type Send } from '../demo/client.ts'
import { DEMO_CURRENCY, DEMO_NAME, DEMO_ZONE } from '../demo/catalogue.ts'
import { liveStory } from '../demo/story.ts'
import { createAccount } from '../features/accounts/actions.ts'
import { listAllAccounts } from '../features/accounts/queries.ts'
import { addMonths, type IsoDate } from '../kernel/calendar.ts'
import type { AccountId } from '../kernel/ids.ts'
import { dateIn, instantOf, midnightOf } from '../kernel/zone.ts'
import { sendsMail } from '../platform/config.ts'
import type { Database } from '../platform/database/database.ts'
import type { OpenDatabase } from '../platform/database/open.ts'
import { relaxedCommits } from '../platform/database/relaxed-commits.ts'
import type { Envelope } from '../platform/envelope/envelope.ts'
import { connectionBounds } from '../platform/http/connection-bounds.ts'
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
  /** An invoice with much to explain. */
  longestInvoice: number
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
      longestInvoice: longestInvoice(invoices),
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

interface ListedInvoice {
  invoiceID: number
  isDraft: boolean
  Charges: unknown[]
}

/** Returns the identifier of the newest of the issued invoices with the most lines. */
const longestInvoice = (invoices: readonly ListedInvoice[]): number =>
  invoices.reduce<ListedInvoice>(
    (best, invoice) => (!invoice.isDraft && invoice.Charges.length >= best.Charges.length ? invoice : best),
    { invoiceID: 0, isDraft: false, Charges: [] },
  ).invoiceID

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
    adapters: makeAdapters({ db, envelope }),
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
      hasMailServer: sendsMail(config),
      version,
      root,
    },
  })
  const authorization = `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
  const send: Send = async (method, url, body) => {
    const { statusCode, payload } = await app.server.inject({
      method,
      url,
      headers: { authorization, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { payload: JSON.stringify(body) } : {}),
    })
    return { status: statusCode, body: payload === '' ? undefined : JSON.parse(payload) }
  }
  return { client: demoClient(send), close: app.close }
}

function print(seeded: Seeded, { customers, seed: number }: SeedOptions, { config }: CommandContext): void {
  const { account, secret, firstDay, lastDay, subscriptions, invoices, failed, longestInvoice, others } = seeded
  const address = config.publicUrl ?? `http://127.0.0.1:${config.port}`
  const call = `curl -u "${account}:${secret}" "${address}`
  if (others.length > 0)
    printLine(`There was a demo before (account ${others.join(', ')}); it stays as it is, and this is another one.`)
  printLine(`Account   ${account} (test, ${DEMO_CURRENCY}): ${DEMO_NAME}, ${firstDay} to ${lastDay}, seed ${number}
          ${customers} customers, ${subscriptions} subscriptions, ${invoices} invoices, ${failed} failed
API key   ${secret}
          Keep it: it is shown this once.

Try, while the service runs (npm start):
  ${call}/v1/customers?comp_status=Suspended"
  ${call}/v1/subscriptions?comp_Status=Trial"
  ${call}/v1/invoices/${longestInvoice}/explanation"
Live on:  npm run perennial -- clock advance --account ${account} --to ${addMonths(lastDay, 1)}`)
}

const seededAsJson = (
  { account, secret, firstDay, lastDay, subscriptions, invoices, failed, longestInvoice }: Seeded,
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
  tellingInvoiceID: longestInvoice,
})
