import { afterAll, expect, test } from 'vitest'
import { openDatabase } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'
import { startTestService, type TestClient } from '../../../test/support/app.ts'

/** Statements of more movements than a person reads. */

const service = await startTestService()
const owner = openDatabase(service.connection, { role: undefined, poolSize: 1, lanes: 1 })
afterAll(() => owner.close())

/** A customer with as many movements, half of a day and half of the next. */
async function customerWith(movements: number) {
  const client = await service.newAccount({ clockAt: '2027-03-10T08:00:00.000Z' })
  const about = { Name: 'Much Ltd', isCompany: true, autoSendStatement: true }
  const { customerID } = (await client.post('/v1/customers', about)).body as { customerID: number }
  await owner.unscoped.rows(sql`
    insert into perennial.positive_adjustments (account_id, customer_id, kind, dated, due_date, currency, amount_minor, ref, created_at)
    select ${client.id}, ${customerID}::bigint, 'interest', date '2027-03-01' + n % 2, '2027-03-31', 'USD', 1 + n, 'R "' || n || '"', now()
      from generate_series(1, ${movements}::int) n`)
  return { client, customerID, url: `/v1/customers/${customerID}/statement` }
}

const errorOf = (reply: Awaited<ReturnType<TestClient['get']>>) => [reply.status, reply.body?.Errors?.[0]]

test('as a PDF a statement has at most 10,000 movements, and says what to do', async () => {
  const { client, url } = await customerWith(10_001)
  expect(errorOf(await client.get(`${url}?format=pdf`))).toMatchObject([
    400,
    {
      Code: 'statement_too_long',
      Field: 'from',
      Message: expect.stringMatching(/10,000 movements.*shorter period.*JSON/),
    },
  ])
  const day = await client.get(`${url}?format=pdf&from=2027-03-01&to=2027-03-01`)
  expect([day.status, day.text.slice(0, 5)]).toEqual([200, '%PDF-'])
  const whole = await client.get(url)
  expect([whole.status, whole.body.Movements.length]).toEqual([200, 10_001])
})

test('an automatic statement of more is kept and listed, and is no PDF', async () => {
  const { client, customerID } = await customerWith(10_001)
  await owner.unscoped.rows(sql`
    insert into perennial.statements (account_id, created_at, customer_id, from_date, to_date, document)
    select ${client.id}, '2027-04-01', ${customerID}::bigint, '2027-03-01', '2027-03-31', jsonb_build_object('sections',
      jsonb_build_array(jsonb_build_object('currency', 'USD', 'closingMinor', '1500',
        'lines', (select jsonb_agg('{}'::jsonb) from generate_series(1, 10001)))))`)
  const [kept] = (await client.get(`/v1/customers/${customerID}/statements`)).body
  expect(kept.ClosingBalances).toEqual([{ CurrencyCode: 'USD', ClosingBalance: 15 }])
  const drawn = await client.get(`/v1/customers/${customerID}/statements/${kept.statementID}/pdf`)
  expect(errorOf(drawn)).toMatchObject([400, { Code: 'statement_too_long' }])
})
