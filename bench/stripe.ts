import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createHmac } from 'node:crypto'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onReturn } from '../src/duties.ts'
import { createAccount } from '../src/features/accounts/actions.ts'
import { getAccount } from '../src/features/accounts/queries.ts'
import { collectDay } from '../src/features/collection/day.ts'
import { reportLostCard, receiveReport } from '../src/features/gateway-reports/receive.ts'
import { addGateway, editGateway } from '../src/features/gateways/actions.ts'
import { makeAdapters } from '../src/features/gateways/adapters.ts'
import { callingFrom } from '../src/features/gateways/calling.ts'
import { lockGateway } from '../src/features/gateways/queries.ts'
import { sandboxReport } from '../src/features/gateways/sandbox.ts'
import { backgroundContext } from '../src/kernel/context.ts'
import { instantOf } from '../src/kernel/zone.ts'
import { KeyRing } from '../src/platform/envelope/key-ring.ts'
import { envelopeUnder } from '../src/platform/envelope/open.ts'
import { networksFromText } from '../src/platform/outbound/networks.ts'
import { makeOutbound } from '../src/platform/outbound/outbound.ts'
import { type Json, parseJson } from '../src/platform/wire/json.ts'
import { asOwner, createMigrated, openAsService, settle, startServer } from './measure/database.ts'
import { tell, tellTable, tellVerdicts } from './measure/figures.ts'
import { tellMachine } from './measure/machine.ts'
import { type Spent, spentOn } from './night.ts'
import { CARDS } from './seed-cards.ts'
import { CUSTOMERS, OPEN_INVOICES } from './seed-money.ts'

/**
 * Charging invoices that are due by card through a simulator of Stripe that answers after 50 ms, at no rate, and as many through the sandbox in the same run; reports of
 * strangers, and many in one request; and what the judge of the simulator costs.
 */

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const LATENCY_MS = 50
const CPU_OF_SANDBOX = 2
const STRANGERS = 1_000
const WARM = 300
const TOGETHER = 250
const DAY = { now: '2027-01-01T12:00:00.000Z', today: '2027-01-01' } as const

/** Amounts that Stripe takes: a tenth of those of other benches. */
const smaller = (statement: string): string =>
  statement
    .replaceAll('114990000', '11499000')
    .replaceAll('99990000', '9999000')
    .replaceAll('15000000', '1500000')
    .replaceAll('999900', '99990')

/** Cards of the second half of the customers at Stripe, by their tokens $1, at the gateway $2, and the beginning of the dunning of their invoices. */
const STRIPE_CARDS = [
  `insert into payment_methods (account_id, payment_method_id, customer_id, kind, token, is_primary, state, last_four, created_at, gateway_id,
       gateway_token, fingerprint, card_brand, name_on_card, last_name_on_card, expiry_month, expiry_year)
     select 1, n, n, 'credit_card', md5(n::text), true, 'verified', '4242', '2026-01-01', $2::int, t.token, md5('f' || n), 'Visa', 'Ada',
         'Lovelace', 12, 2099
       from (select token, row_number() over () + cardinality($1::text[]) as n from unnest($1::text[]) as token) t`,
  `update customers set payment_method = 'credit_card' where account_id = 1 and customer_id > cardinality($1::text[]) and $2::int > 0`,
  `update invoices set collection_method = 'credit_card', due_date = '2027-01-01', gateway_id = $2::int, payment_method_id = invoice_id
     where account_id = 1 and invoice_id > cardinality($1::text[])`,
  `insert into dunning (account_id, invoice_id, customer_id, due_on, counted_from)
     select 1, n, n, '2027-01-01', '2027-01-01' from generate_series(cardinality($1::text[]) + 1, 2 * cardinality($1::text[])) n where $2::int > 0`,
]

interface Simulated {
  address: string
  secretKey: string
  publishableKey: string
  tokens: string[]
  /** CPU-seconds of making the schema once, and of judging 1,000 bodies. */
  judge: { schema: number; bodies: number }
}

async function startSimulator(cards: number) {
  const file = join(ROOT, 'bench', 'subject', 'stripe-simulator.ts')
  const wish = JSON.stringify({ cards, latency: LATENCY_MS })
  const child = spawn(process.execPath, ['--import', 'tsx', file, wish], {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const [simulated] = (await once(child, 'message')) as [Simulated]
  const book = async () => {
    child.send('book')
    return ((await once(child, 'message')) as [{ paid: number; problems: string[] }])[0]
  }
  return { simulated, book, stop: () => child.disconnect() }
}

async function measure(count: number) {
  const simulator = await startSimulator(count)
  const server = await startServer()
  const { simulated } = simulator
  await tellMachine(server.connectionTo('postgres'))
  const connection = await createMigrated(server, 'stripe')
  const db = openAsService(connection)
  try {
    const envelope = await envelopeUnder(db.unscoped, new KeyRing(Buffer.alloc(32, 7)))
    const outbound = makeOutbound({ allow: networksFromText('127.0.0.0/8') })
    const calling = callingFrom(db, ['work'], { outbound, endpoints: { stripe: simulated.address } })
    // The rate would be measured, not the work.
    const lifted = { ...calling, takePlace: async () => true }
    const adapters = makeAdapters({ db, envelope, calling: lifted, onCardGone: reportLostCard })
    const deps = { db, envelope, adapters, onReturn, realClock: Date.now }
    await createAccount(db, Date.now, { mode: 'test', name: 'Bench', currency: 'USD', clockAt: DAY.now }, 'bench')
    const account = await getAccount(db.reader(1n), 1n)
    const context = backgroundContext(account, DAY, { actor: 'bench' })
    const late = parseJson(JSON.stringify({ LatencyMs: LATENCY_MS })) as { [name: string]: Json }
    const { sandbox, stripe } = await db.transaction(1n, async (tx) => {
      const present = (await lockGateway(tx, 1n, 1n))!
      const { secretKey: SecretKey, publishableKey: PublishableKey } = simulated
      const WebhookSecrets = ['whsec_bench']
      const Settings = { SecretKey, PublishableKey, WebhookSecrets }
      const asked = { account: null, isSame: 'unprovable', version: null, isAccepted: true } as const
      return {
        sandbox: await editGateway(tx, context, envelope, present, { Settings: late }, undefined),
        stripe: await addGateway(tx, context, envelope, { GatewayType: 'stripe', Settings }, asked),
      }
    })
    await asOwner(connection, async (client) => {
      await client.query(CUSTOMERS, [2 * count])
      for (const statement of OPEN_INVOICES) await client.query(smaller(statement), [2 * count])
      for (const statement of CARDS) await client.query(statement, [count, sandbox.id])
      await client.query('vacuum (analyze)')
    })
    const collect = async () => {
      await settle(connection)
      const spent = await spentOn(server, async () => {
        const { collected } = await collectDay(deps, context, { isClock: true })
        if (collected !== count) throw new Error(`${collected} of ${count} invoices were collected`)
      })
      return { spent, residentMb: process.memoryUsage().rss / 1e6 }
    }
    const bySandbox = await collect()
    await asOwner(connection, async (client) => {
      for (const statement of STRIPE_CARDS) await client.query(statement, [simulated.tokens, stripe.id])
      await client.query('vacuum (analyze)')
    })
    const byStripe = await collect()
    const { paid, problems } = await simulator.book()
    if (paid !== count || problems.length > 0) throw new Error(`${paid} charges at Stripe; ${problems.join('; ')}`)

    const reports = async () =>
      asOwner(
        connection,
        async (client) => (await client.query('select count(*)::int as n from gateway_reports')).rows[0].n,
      )
    const before = await reports()
    const reportStrangers = async (many: number) => {
      for (let n = 0; n < many; n += 1) {
        const object = { id: `ch_${n}`, payment_intent: `pi_stranger${n}` }
        const raw = Buffer.from(
          JSON.stringify({ id: `evt_${n}`, type: 'charge.refunded', livemode: false, data: { object } }),
        )
        const t = Math.floor(Date.now() / 1000)
        const v1 = createHmac('sha256', 'whsec_bench').update(`${t}.`).update(raw).digest('hex')
        const headers = { 'stripe-signature': `t=${t},v1=${v1}` }
        if (!(await receiveReport(deps, { token: stripe.token, raw, headers }))) throw new Error('a report was refused')
      }
    }
    // As it is after a while: its code and its statements are compiled.
    await reportStrangers(WARM)
    const strangers = await spentOn(server, () => reportStrangers(STRANGERS))
    if ((await reports()) !== before) throw new Error('a report of a stranger was kept')
    const whose = { accountId: 1n, gatewayId: sandbox.id, scope: sandbox.token, isLive: false, settings: {} } as const
    const all = await asOwner(connection, async (client) =>
      (
        await client.query(
          `select payment_id || coalesce('.' || nonce, '') as reference from collection_tries where gateway_id = $1 limit $2`,
          [sandbox.id, TOGETHER],
        )
      ).rows.map(({ reference }, n) => ({
        id: `report-${n}`,
        about: 'charge' as const,
        reference: reference as string,
      })),
    )
    const { raw, headers } = sandboxReport(whose, envelope.keyedHash('sandbox'), all, instantOf(Date.now()))
    const together = await spentOn(server, async () => {
      if (!(await receiveReport(deps, { token: sandbox.token, raw, headers }))) throw new Error('reports were refused')
    })
    if ((await reports()) !== before + all.length) throw new Error('not all of the reports were kept')
    return { bySandbox, byStripe, strangers, together, judge: simulated.judge }
  } finally {
    await db.close()
    await server.stop()
    simulator.stop()
  }
}

const cpuOf = ({ node, database }: Spent): number => node + database

export async function benchStripe({ count, isSmoke }: { count: number; isSmoke: boolean }): Promise<void> {
  const { bySandbox, byStripe, strangers, together, judge } = await measure(count)
  const row = (title: string, { spent: { seconds, node, database } }: typeof bySandbox) => [
    title,
    seconds.toFixed(1),
    ...[node, database, node + database].map((cpu) => ((cpu / count) * 1e6).toFixed(0)),
  ]
  tellTable(
    ['a charge', 'seconds of all', 'Node, µs', 'PostgreSQL, µs', 'together'],
    [row('by the sandbox, with its book', bySandbox), row('by Stripe', byStripe)],
  )
  tell(
    `resident memory of the process ${bySandbox.residentMb.toFixed(0)} MB after the sandbox, ${byStripe.residentMb.toFixed(0)} MB after Stripe`,
  )
  tell(
    `${STRANGERS} reports of strangers: Node ${strangers.node.toFixed(2)} s, PostgreSQL ${strangers.database.toFixed(2)} s`,
  )
  const ratio = cpuOf(byStripe.spent) / cpuOf(bySandbox.spent)
  const seconds = (goal: string, cpu: number, most: number) => ({
    goal: `${goal} in at most ${most} CPU-seconds`,
    reached: `${cpu.toFixed(2)} s`,
    isMet: cpu <= most,
  })
  tellVerdicts(
    [
      {
        goal: `CPU of a charge by Stripe at most ${CPU_OF_SANDBOX} × that of one by the sandbox`,
        reached: `${ratio.toFixed(2)} ×`,
        isMet: ratio <= CPU_OF_SANDBOX,
      },
      seconds(`${STRANGERS} signed reports of strangers`, cpuOf(strangers), 1),
      seconds(`${TOGETHER} reports in one request`, cpuOf(together), 0.5),
      seconds('1,000 bodies judged', judge.bodies, 1),
      seconds('the schema of the judge made once', judge.schema, 15),
    ],
    { isSmoke },
  )
}
