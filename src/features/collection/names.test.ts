import { afterEach, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'
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
