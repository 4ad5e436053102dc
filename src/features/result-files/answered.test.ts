import pg from 'pg'
import { afterAll, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { addCustomer, differencesOf } from '../../../test/support/shop.ts'
import { clientConfig } from '../../platform/database/open-database.ts'
import { type CaseShop, entry, shopOf, statement } from './cases.testing.ts'

/** Entries that a person has answered as a sum, before their parts came in another file: the bank's money is booked once. */

const service = await startTestService()
const owner = new pg.Client({ ...clientConfig(service.connection, undefined), options: '-c search_path=perennial' })
await owner.connect()
afterAll(() => owner.end())

const clean = async ({ client }: CaseShop) => expect(await differencesOf(service, client)).toEqual([])

const CREDIT = { amount: '230.00', isCredit: true, on: '2027-01-21', ref: 'SET1' }

test('of credits that a person has recorded as a sum the parts wait beside it, and nothing is booked twice', async () => {
  const shop = await shopOf(service, 2)
  const customerID = await addCustomer(shop.client, { CurrencyCode: 'EUR' })
  const first = await shop.send(statement([entry(CREDIT)]))
  const [whole] = first.Lines
  expect((await shop.answer(first, whole.lineID, { customerID, AutoApply: true })).status).toBe(204)
  const parts = [1, 2].map((n) => ({ ref: `D${n}`, e2e: shop.E(n), amount: '115.00' }))
  const second = await shop.send(statement([entry({ ...CREDIT, parts })], 'camt.054'))
  expect(second.counts).toEqual([0, 0, 0, 0, 2])
  expect(second.Lines).toMatchObject([
    { sameAs: whole.lineID, Amount: 115, EntryAmount: 230, State: 'open' },
    { sameAs: whole.lineID, Amount: 115, EntryAmount: 230, State: 'open' },
  ])
  expect(await shop.statuses()).toEqual(['Allocated', 'Allocated'])
  // One part alone, which is the whole entry.
  const alone = { amount: '115.00', isCredit: true, on: '2027-01-21', ref: 'SET2' }
  const third = await shop.send(statement([entry(alone)]))
  expect((await shop.answer(third, third.Lines[0].lineID, { customerID })).status).toBe(204)
  const fourth = await shop.send(statement([entry({ ...alone, parts: [{ e2e: shop.E(1) }] })], 'camt.054'))
  expect(fourth.Lines).toMatchObject([{ sameAs: third.Lines[0].lineID, State: 'open' }])
  expect(await shop.statuses()).toEqual(['Allocated', 'Allocated'])
  await clean(shop)
})

test('of returns that a person has applied as a sum the parts wait beside it', async () => {
  const shop = await shopOf(service, 2)
  const debit = { amount: '230.00', family: 'IDDT', ref: 'RET1' }
  const first = await shop.send(statement([entry(debit)]))
  const [whole] = first.Lines
  const paymentID = Number(shop.E(1).split('-')[1])
  expect((await shop.answer(first, whole.lineID, { paymentID })).status).toBe(204)
  expect(await shop.statuses()).toEqual(['Failed', 'Allocated'])
  const parts = [1, 2].map((n) => ({ ref: `D${n}`, e2e: shop.E(n), amount: '115.00', returned: 'AM04' }))
  const second = await shop.send(statement([entry({ ...debit, parts })], 'camt.054'))
  // That of the payment itself is known: it has its return.
  expect(second.Lines).toMatchObject([{ sameAs: whole.lineID, Kind: 'return', Amount: 115, State: 'open' }])
  expect(await shop.statuses()).toEqual(['Failed', 'Allocated'])
  await clean(shop)
})

test('a sum that is being answered is waited for, and its parts then wait beside it', async () => {
  const shop = await shopOf(service, 2)
  const first = await shop.send(statement([entry({ amount: '230.00', family: 'IDDT', ref: 'RET2' })]))
  const { lineID } = first.Lines[0]
  // As an answer that has not been committed.
  await owner.query('begin')
  await owner.query(`update result_lines set state = 'applied' where account_id = $1 and result_line_id = $2`, [
    shop.client.id,
    lineID,
  ])
  const parts = [1, 2].map((n) => ({ ref: `D${n}`, e2e: shop.E(n), amount: '115.00', returned: 'AM04' }))
  const details = entry({ amount: '230.00', family: 'IDDT', ref: 'RET2', parts })
  const reading = shop.send(statement([details], 'camt.054'))
  await expect
    .poll(
      async () =>
        (
          await owner.query(
            'select from pg_locks where not granted and pid = any (select pid from pg_stat_activity where datname = current_database())',
          )
        ).rowCount,
    )
    .toBeGreaterThan(0)
  await owner.query('commit')
  expect((await reading).Lines).toMatchObject([
    { sameAs: lineID, State: 'open' },
    { sameAs: lineID, State: 'open' },
  ])
  expect(await shop.statuses()).toEqual(['Allocated', 'Allocated'])
})
