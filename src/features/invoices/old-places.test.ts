import pino from 'pino'
import { expect, inject, test } from 'vitest'
import { openTestDatabase, startTestService } from '../../../test/support/app.ts'
import { copyRows, databaseBefore, withClient } from '../../../test/support/older-database.ts'
import { sql } from '../../platform/database/sql.ts'
import { oldPlacesDuty } from './old-places.ts'

const lived = await startTestService()

test('an invoice of before takes the country that its frozen text names, whatever the customer says today', async () => {
  const client = await lived.newAccount()
  const add = async (body: object): Promise<number> =>
    (await client.post('/v1/customers', { Name: 'Acme', isCompany: true, ...body })).body.customerID
  const invoice = async (customerID: number, more: object = {}): Promise<number> =>
    (await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 10 }], ...more })).body.invoiceID
  const moved = await add({ Country: 'Deutschland', countryID: 276 })
  await client.put(`/v1/customers/${moved}`, { Name: 'Acme', isCompany: true, Country: 'Germany' })
  const [still, nowhere] = [await add({ Country: 'FRA', countryID: 40 }), await add({ Country: 'Ruritania' })]
  const silent = await add({ countryID: 276 })
  const ids = [await invoice(moved)]
  await client.put(`/v1/customers/${moved}`, { Name: 'Acme', isCompany: true, Country: 'Austria' })
  ids.push(await invoice(moved), await invoice(still), await invoice(nowhere), await invoice(silent))
  const draft = await invoice(still, { isDraft: true })

  const connection = await databaseBefore('0069_why_no_tax.sql', (old) =>
    withClient({ ...inject('databaseServer'), database: lived.connection.database }, (now) => copyRows(now, old)),
  )
  const db = openTestDatabase(connection)
  const deps = { db, log: pino({ enabled: false }), realClock: Date.now }
  const placeOf = async (id: number) =>
    (
      await db.reader(client.id).rows<{ country: bigint | null }>(sql`
        select customer_country_id as "country" from invoices where account_id = ${client.id} and invoice_id = ${id}`)
    )[0]?.country

  expect(await placeOf(ids[0]!)).toBeNull()
  await oldPlacesDuty.run(deps, () => {})
  expect(await Promise.all([...ids, draft].map(placeOf))).toEqual([276n, 40n, 250n, null, null, null])
  expect(await oldPlacesDuty.run(deps, () => {})).toBeUndefined()
})
