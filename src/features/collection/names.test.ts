import { afterEach, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'
import { keptReports, report, workAt } from '../gateway-reports/reports.testing.ts'
import type { AskedCharge, ChargeToMake, GatewayAdapter, Outcome } from '../gateways/contract.ts'
import { cardShop, CARDS } from './shop.testing.ts'

/** A gateway that names its charges before it makes them: what is kept of names, and what is made of answers that bear another. */

const service = await startTestService()
const adapters = service.calling.adapters as Map<string, GatewayAdapter>
const sandbox = adapters.get('sandbox') as GatewayAdapter
afterEach(() => void adapters.set('sandbox', sandbox))

/** A gateway of two requests: the first makes the name, the second the charge. `dies` is called in between. */
function naming({ dies = async () => {}, nameOf = (charge: AskedCharge) => `pi_${charge.reference}` } = {}) {
  const made = new Map<string, AskedCharge>()
  const asked: AskedCharge[] = []
  const sent: ChargeToMake[] = []
  const outcomeOf = (charge: AskedCharge): Outcome => ({
    kind: 'succeeded',
    gatewayReference: nameOf(charge),
    on: '2027-01-01',
  })
  adapters.set('sandbox', {
    ...sandbox,
    charge: async ({ keep }, charge) => {
      sent.push(charge)
      if (!(await keep(`pi_${charge.reference}`))) return { kind: 'not_sent' }
      await dies()
      made.set(charge.reference, charge)
      return outcomeOf(charge)
    },
    askCharge: async (_call, charge) => {
      asked.push(charge)
      return { outcome: made.has(charge.reference) ? outcomeOf(charge) : { kind: 'none' }, changes: [] }
    },
  })
  return { made, asked, sent }
}

const triesOf = ({ id }: TestClient) =>
  service.db.reader(id).rows<{
    id: bigint
    nonce: string | null
    name: string | null
    state: string
    isSent: boolean
  }>(sql`
    select payment_id as "id", nonce, gateway_reference as "name", state, sent_at > now() - interval '1 minute' as "isSent"
      from collection_tries where account_id = ${id} order by 1`)

const eventsOf = async (client: TestClient, type: string) => (await client.get(`/v1/events?type=${type}`)).body as any[]

const write = ({ id }: TestClient, statement: ReturnType<typeof sql>) =>
  service.db.transaction(id, (tx) => tx.rows(statement))

test('a charge bears identifier and nonce and tells what it is for; its name is kept, and shown with payment and attempt', async () => {
  const gateway = naming()
  const { client, customerID, invoice, attempts } = await cardShop(service, CARDS.good, {
    ZipCode: '1000',
    Country: 'Germany',
  })
  const invoiceID = await invoice(115)
  const { status, body } = await client.post(`/v1/invoices/${invoiceID}/collect`)
  expect(status).toBe(201)
  const [{ nonce, ...one } = { nonce: null }] = await triesOf(client)
  const reference = `${body.paymentID}.${nonce}`
  expect(nonce).toMatch(/^[\w-]{12}$/)
  expect(one).toMatchObject({ name: `pi_${reference}`, state: 'succeeded', isSent: true })
  expect(gateway.sent).toMatchObject([
    {
      reference,
      gatewayReference: null,
      description: expect.stringMatching(/^Invoices \d+$/),
      invoiceNumbers: [expect.stringMatching(/^\d+$/)],
      payer: { customerId: BigInt(customerID), name: 'Acme', email: 'a@example.com' },
    },
  ])
  const transactionID = `pi_${reference}`
  expect(body).toMatchObject({ Status: 'Allocated', transactionID })
  expect((await client.get(`/v1/payments/${body.paymentID}`)).body).toMatchObject({ transactionID })
  expect(await attempts(invoiceID)).toMatchObject([{ Outcome: 'succeeded', transactionID }])
  const [settled] = await eventsOf(client, 'payment.settled')
  expect(settled).toMatchObject({ Record: { transactionID } })
})

test('the question about a try whose process died has the name that it kept', async () => {
  const gateway = naming({ dies: () => Promise.reject(new Error('the process is gone')) })
  const { client, invoice, attempts, move } = await cardShop(service, CARDS.good)
  const invoiceID = await invoice(115)
  await client.post(`/v1/invoices/${invoiceID}/collect`)
  const [one] = await triesOf(client)
  expect(one).toMatchObject({ state: 'open', name: `pi_${one?.id}.${one?.nonce}` })
  const later = naming()
  await move('2027-01-02')
  expect(later.asked[0]).toMatchObject({ gatewayReference: one?.name, amountMinor: 11_500n, currency: 'USD' })
  expect(later.asked[0]?.sentAt).toMatch(/^\d{4}-/)
  // What it kept is replaced by the name of the next call, which is the same here.
  expect(later.sent).toMatchObject([{ gatewayReference: one?.name }])
  expect(await attempts(invoiceID)).toMatchObject([{ Outcome: 'succeeded', transactionID: one?.name }])
  expect(gateway.made.size).toBe(0)
})

test('a process that wakes up late keeps no name and sends nothing: the try has its outcome', async () => {
  const { client, invoice } = await cardShop(service, CARDS.good)
  const gateway = naming()
  const { charge } = adapters.get('sandbox') as GatewayAdapter
  adapters.set('sandbox', {
    ...(adapters.get('sandbox') as GatewayAdapter),
    charge: async (call, asked) => {
      await write(
        client,
        sql`update collection_tries set state = 'declined', finished_at = now() where account_id = ${client.id}`,
      )
      const outcome = await charge!(call, asked)
      await write(
        client,
        sql`update collection_tries set state = 'open', finished_at = null where account_id = ${client.id}`,
      )
      return outcome
    },
  })
  await client.post(`/v1/invoices/${await invoice(115)}/collect`)
  expect(gateway.made.size).toBe(0)
  expect(await triesOf(client)).toMatchObject([{ name: null }])
})

test('an answer with the name of another charge is unknown, with one event, and no money is booked', async () => {
  const { client, invoice, attempts, move } = await cardShop(service, CARDS.good)
  naming({ nameOf: () => 'pi_of_another' })
  const invoiceID = await invoice(115)
  const { status, body } = await client.post(`/v1/invoices/${invoiceID}/collect`)
  expect([status, body.Status]).toEqual([202, 'Pending'])
  await move('2027-01-02')
  expect(await attempts(invoiceID)).toMatchObject([{ Outcome: 'pending' }])
  expect(await eventsOf(client, 'gateway.mismatch')).toMatchObject([
    { Reason: expect.stringMatching(/with pi_of_another, and its charge is pi_/) },
  ])
})

test('two tries never bear one name', async () => {
  const { client, invoice, attempts } = await cardShop(service, CARDS.good)
  const { charge } = sandbox
  adapters.set('sandbox', {
    ...sandbox,
    charge: async (call, asked) =>
      ({ ...((await charge!(call, asked)) as Outcome), gatewayReference: 'pi_same' }) as Outcome,
  })
  const [one, other] = [await invoice(10), await invoice(20)]
  expect((await client.post(`/v1/invoices/${one}/collect`)).status).toBe(201)
  expect((await client.post(`/v1/invoices/${other}/collect`)).status).toBe(202)
  expect(await attempts(other)).toMatchObject([{ Outcome: 'pending', transactionID: null }])
  expect(await eventsOf(client, 'gateway.mismatch')).toHaveLength(1)
})

test('a try that a program before has written goes on under its identifier alone', async () => {
  const { client, invoice, attempts, move } = await cardShop(service, CARDS.good)
  const invoiceID = await invoice(115)
  adapters.set('sandbox', {
    ...sandbox,
    charge: () => Promise.reject(new Error('the process is gone')),
  } as GatewayAdapter)
  await client.post(`/v1/invoices/${invoiceID}/collect`)
  await write(client, sql`update collection_tries set nonce = null, sent_at = null where account_id = ${client.id}`)
  const { asked, sent } = naming()
  await move('2027-01-02')
  const [{ paymentID }] = await attempts(invoiceID)
  expect(asked[0]).toMatchObject({ reference: String(paymentID), sentAt: null, gatewayReference: null })
  expect(sent).toMatchObject([{ reference: String(paymentID) }])
  expect(await attempts(invoiceID)).toMatchObject([{ Outcome: 'succeeded', transactionID: `pi_${paymentID}` }])
})

/** Makes the gateway answer for a charge only to whoever names it, as one does whose list of charges nobody reads. */
function byName(gateway: ReturnType<typeof naming>) {
  adapters.set('sandbox', {
    ...(adapters.get('sandbox') as GatewayAdapter),
    askCharge: async (_call, { reference, gatewayReference }) => {
      const isKnown = gateway.made.has(reference) && gatewayReference === `pi_${reference}`
      return {
        outcome: isKnown ? { kind: 'succeeded', gatewayReference, on: '2027-01-01' } : { kind: 'none' },
        changes: [],
      }
    },
  })
}

/** Takes the names of an account's charges away, as a restore of an older copy does. */
const loseNames = async (client: TestClient) => {
  await write(client, sql`update collection_tries set gateway_reference = null where account_id = ${client.id}`)
  await write(client, sql`update payments set transaction_id = null where account_id = ${client.id}`)
}

/** Sends a report about the one try of an account, and does its work. */
async function reported(client: TestClient, id: string, gatewayReference: string) {
  const [{ gatewayID, GatewayToken }] = (await client.get('/v1/gateways')).body
  const [one] = await triesOf(client)
  const sent = { id, about: 'charge' as const, reference: `${one?.id}.${one?.nonce}`, gatewayReference }
  expect((await report(service, { client, gatewayID, GatewayToken }, sent)).status).toBe(200)
  await workAt(service, client)
}

test.each([
  ['open', () => Promise.reject(new Error('the process is gone'))],
  ['over', async () => {}],
])(
  'a try that is %s and whose name was lost gets it back by a report, and is not charged again',
  async (_name, dies) => {
    const { client, invoice, attempts } = await cardShop(service, CARDS.good)
    const gateway = naming()
    const { charge } = adapters.get('sandbox') as GatewayAdapter
    adapters.set('sandbox', {
      ...(adapters.get('sandbox') as GatewayAdapter),
      charge: async (call, asked) => {
        const outcome = await charge!(call, asked)
        await dies()
        return outcome
      },
    })
    const invoiceID = await invoice(115)
    await client.post(`/v1/invoices/${invoiceID}/collect`)
    await loseNames(client)
    byName(gateway)
    const [{ id, nonce } = { id: 0n, nonce: null }] = await triesOf(client)
    const transactionID = `pi_${id}.${nonce}`
    await reported(client, 'r-1', transactionID)
    expect(await attempts(invoiceID)).toMatchObject([{ Outcome: 'succeeded', transactionID }])
    expect((await client.get(`/v1/payments/${id}`)).body).toMatchObject({ Status: 'Allocated', transactionID })
    expect(gateway.sent).toHaveLength(1)
    expect(await keptReports(service, client)).toMatchObject([{ isFinished: true, reason: null }])
  },
)

test('a name that the gateway does not answer with is given to no try', async () => {
  const { client, invoice } = await cardShop(service, CARDS.good)
  byName(naming())
  await client.post(`/v1/invoices/${await invoice(115)}/collect`)
  await loseNames(client)
  await reported(client, 'r-1', 'pi_invented')
  expect(await triesOf(client)).toMatchObject([{ name: null, state: 'succeeded' }])
})

test('what was charged under a second name is listed, with one event, and changes nothing', async () => {
  const { client, invoice, attempts } = await cardShop(service, CARDS.good)
  naming({ nameOf: ({ gatewayReference, reference }) => gatewayReference ?? `pi_${reference}` })
  const invoiceID = await invoice(115)
  await client.post(`/v1/invoices/${invoiceID}/collect`)
  const [one] = await triesOf(client)
  for (const id of ['r-1', 'r-2']) await reported(client, id, 'pi_second')
  const reason = `The gateway has charged pi_second for payment ${one?.id}, beside its charge ${one?.name}.`
  expect(await keptReports(service, client)).toMatchObject([{ reason }, { reason }])
  expect((await client.get('/v1/resultfiles')).body).toHaveLength(2)
  expect(await eventsOf(client, 'gateway.mismatch')).toMatchObject([{ Reason: reason }])
  expect(await attempts(invoiceID)).toMatchObject([{ Outcome: 'succeeded', transactionID: one?.name }])
})

test('an answer about another charge is told once, though no answer came before, and after the outcome, too', async () => {
  const { client, invoice, attempts, move } = await cardShop(service, CARDS.good)
  const mismatch = 'The gateway answers about another amount.'
  let answer: Outcome = { kind: 'unknown' }
  adapters.set('sandbox', {
    ...sandbox,
    charge: async () => answer,
    askCharge: async () => (answer.kind === 'unknown' ? answer : { outcome: answer, changes: [] }) as never,
  })
  const invoiceID = await invoice(115)
  await client.post(`/v1/invoices/${invoiceID}/collect`)
  answer = { kind: 'unknown', mismatch }
  for (const day of ['2027-01-02', '2027-01-03']) await move(day)
  expect(await eventsOf(client, 'gateway.mismatch')).toMatchObject([{ Reason: mismatch }])
  answer = { kind: 'succeeded', gatewayReference: 'pi_1', on: '2027-01-01' }
  await move('2027-01-04')
  expect(await attempts(invoiceID)).toMatchObject([{ Outcome: 'succeeded' }])
  answer = { kind: 'unknown', mismatch: 'The gateway answers about another currency.' }
  await reported(client, 'r-1', 'pi_1')
  expect(await keptReports(service, client)).toMatchObject([{ isFinished: true, reason: answer.mismatch }])
  expect(await eventsOf(client, 'gateway.mismatch')).toHaveLength(2)
  expect(await attempts(invoiceID)).toMatchObject([{ Outcome: 'succeeded', transactionID: 'pi_1' }])
})
