import { beforeAll, describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { addPackage, addTax, differencesOf, moveTo } from '../../../test/support/shop.ts'
import { sql } from '../../platform/database/sql.ts'
import { membersOf, shapeIdsOf, shapeReader } from '../ledger/group-by-facts.ts'
import { listPostingPacks } from '../ledger/group-by-facts-queries.ts'
import { hashOfPack } from '../ledger/post-in-bulk.ts'
import type { Difference } from '../../platform/checks/difference.ts'
import { tamperWith } from './tamper.testing.ts'

/**
 * Invoices that are alike are looked at once, by groups that the database makes: each kind of change is found in a single one of them, in the middle of a batch
 * and at its ends, in one that a run has stamped and in one whose lines are rows, and no neighbour is named with it.
 */

const service = await startTestService()
const SUBSCRIBERS = 140
const AT_ONCE = 10
let client: TestClient
const { tampered } = await tamperWith(service, () => client)

/** An invoice by where it stands, found when the tests run. */
const PLACES = [
  'the first of a batch',
  'one within a batch',
  'the last of a batch',
  'the first of the next batch',
  'the last of all',
] as const
type Place = (typeof PLACES)[number] | 'a row-made one' | 'the first row-made one'
let invoiceAt: Record<Place, bigint>

const read = <Row>(statement: ReturnType<typeof sql>) => service.db.reader(client.id).rows<Row>(statement)

beforeAll(async () => {
  client = await service.newAccount()
  await addTax(client, 'VAT', { Perc: 0.15 })
  const { packageID } = await addPackage(client, { price: 10 })
  const add = async (index: number): Promise<void> => {
    const { customerID } = (await client.post('/v1/customers', { Name: `N${index}`, LastName: 'L' })).body
    const added = await client.post('/v1/subscriptions', { customerID, packageID, StartDate: '2027-01-10' })
    expect(added.status, added.text).toBe(201)
  }
  for (let from = 0; from < SUBSCRIBERS; from += AT_ONCE)
    await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => add(from + index)))
  await moveTo(client, '2027-03-11')
  const batches = await read<{ first: bigint; count: number }>(
    sql`select first_invoice_id as first, cardinality(customer_ids) as count from ledger_packs where account_id = ${client.id} order by 1`,
  )
  const [one, next] = batches as [(typeof batches)[0], (typeof batches)[0]]
  const last = batches.at(-1)!
  const rowMade = await read<{ id: bigint }>(
    sql`select invoice_id as id from invoices where account_id = ${client.id} and template_id is null order by 1`,
  )
  expect(one.count).toBeGreaterThan(100)
  expect(rowMade.length).toBe(SUBSCRIBERS)
  invoiceAt = {
    'the first of a batch': one.first,
    'one within a batch': one.first + 50n,
    'the last of a batch': one.first + BigInt(one.count - 1),
    'the first of the next batch': next.first,
    'the last of all': last.first + BigInt(last.count - 1),
    'a row-made one': rowMade[70]!.id,
    'the first row-made one': rowMade[0]!.id,
  }
}, 120_000)

/** Returns what differs where a statement has changed the invoice at a place, `:invoice`. */
const changedAt = (place: Place, ...statements: string[]): Promise<Difference[]> =>
  tampered(...statements.map((text) => text.replaceAll(':invoice', String(invoiceAt[place]))))

/** Invoices that a check names. */
const namedBy = (check: string, found: readonly Difference[]): bigint[] => [
  ...new Set(found.flatMap((one) => (one.check === check && one.recordType === 'invoice' ? [one.recordId] : []))),
]

const ALL_PLACES: readonly Place[] = [...PLACES, 'a row-made one', 'the first row-made one']
const each = <Change>(places: readonly Place[], changes: readonly Change[]): [Place, Change][] =>
  places.flatMap((place) => changes.map((change): [Place, Change] => [place, change]))

test('what is not tampered with is clean', async () => {
  expect(await differencesOf(service, client)).toEqual([])
})

describe('an invoice is named by itself where another', () => {
  test.each(
    each(ALL_PLACES, [
      'total_minor = total_minor + 1',
      'paid_minor = 1',
      'pending_minor = 1',
      'negative_minor = 1',
      'credited_minor = 1',
      'written_off_minor = 1',
      'paid_minor = 1, pending_minor = -1',
      'customer_version = 77',
      'account_version = 77',
      `number = null, issued_at = null, cancelled_at = now(), cancelled_on = '2027-03-12'`,
    ]),
  )('stands in %s: %s', async (place, change) => {
    const found = await changedAt(
      place,
      `update invoices set ${change} where account_id = :account and invoice_id = :invoice`,
    )
    expect(namedBy('invoices', found)).toEqual([invoiceAt[place]])
  })

  test.each(
    each(PLACES, [
      'first_tax_id = null',
      'template_id = 999999',
      'template_id = null, first_charge_id = null, first_tax_id = null',
    ]),
  )('refers to lines in %s: %s', async (place, change) => {
    const found = await changedAt(
      place,
      `update invoices set ${change} where account_id = :account and invoice_id = :invoice`,
    )
    expect(namedBy('invoices', found)).toEqual([invoiceAt[place]])
  })

  test.each(
    each(PLACES, [
      `charge_rows (account_id, invoice_id, display_order, kind, quantity, unit_price, net_minor, gross_minor) values (:account, :invoice, 2, 'manual', 1, 1, 100, 100)`,
      `invoice_tax_rows (account_id, invoice_id, name, rate, base_minor, amount_minor) values (:account, :invoice, 'VAT', 0.15, 0, 0)`,
    ]),
  )('has rows beside its shape in %s: %s', async (place, row) => {
    expect(namedBy('invoices', await changedAt(place, `insert into ${row}`))).toEqual([invoiceAt[place]])
  })
})

describe('a row-made invoice is named by itself, or its line is,', () => {
  const ROW_MADE: readonly Place[] = ['a row-made one', 'the first row-made one']
  test.each(
    each(ROW_MADE, [
      'charge_rows set net_minor = net_minor + 1',
      'charge_rows set gross_minor = gross_minor + 1',
      'charge_rows set quantity = quantity + 1',
      'charge_rows set unit_price = unit_price + 1',
      'charge_rows set price = price + 1',
      'charge_rows set display_order = 2',
      'charge_rows set period_until = period_from',
      `charge_rows set whole_until = whole_until + 40`,
      `charge_rows set brackets = '{"scheme":"unit","list":[{"from":"1","till":null,"price":"3"}],"quantity":"1","before":null}'`,
      'invoice_tax_rows set amount_minor = amount_minor + 1',
      'invoice_tax_rows set base_minor = base_minor + 1',
      'invoice_tax_rows set rate = rate + 0.01',
      `invoice_tax_rows set shares = '{1,2}'`,
    ]),
  )('in %s: %s', async (place, change) => {
    const line = await lineOf(place)
    const found = await changedAt(place, `update ${change} where account_id = :account and invoice_id = :invoice`)
    const named = found.filter(({ check }) => check === 'invoices')
    expect(named).not.toEqual([])
    for (const { recordType, recordId } of named)
      expect(recordId).toBe(recordType === 'charge' ? line : invoiceAt[place])
  })

  test.each(each(ROW_MADE, ['charge_rows', 'invoice_tax_rows']))('in %s, without its %s', async (place, table) => {
    const found = await changedAt(place, `delete from ${table} where account_id = :account and invoice_id = :invoice`)
    expect(namedBy('invoices', found)).toEqual([invoiceAt[place]])
  })
})

const lineOf = async (place: Place): Promise<bigint | undefined> =>
  (
    await read<{ id: bigint }>(
      sql`select charge_id as id from charges where account_id = ${client.id} and invoice_id = ${invoiceAt[place]}`,
    )
  )[0]?.id

describe('entries are not those of an invoice', () => {
  const ENTRIES = ['ledger entries', 'entries of batches']
  const namedByEntries = (found: readonly Difference[]): bigint[] => [
    ...new Set(ENTRIES.flatMap((check) => namedBy(check, found))),
  ]

  test.each(
    each(ALL_PLACES, [
      `invoice_date = invoice_date - 1`,
      `currency = 'EUR'`,
      'total_minor = total_minor + 1',
      `cancelled_at = now(), cancelled_on = '2027-03-12'`,
    ]),
  )('in %s: %s', async (place, change) => {
    const found = await changedAt(
      place,
      `update invoices set ${change} where account_id = :account and invoice_id = :invoice`,
    )
    expect(namedByEntries(found)).toEqual([invoiceAt[place]])
  })

  test.each(ALL_PLACES)('in %s: of another customer', async (place) => {
    const found = await changedAt(
      place,
      `update invoices set customer_id = customer_id + 1 where account_id = :account and invoice_id = :invoice`,
    )
    expect(namedByEntries(found)).toEqual([invoiceAt[place]])
    const customers = found.filter(({ check }) => check === 'customer totals').map(({ customerId }) => customerId)
    expect(new Set(customers).size).toBe(2)
  })

  test.each(PLACES)('in %s: the batch has it under another customer', async (place) => {
    const found = await changedAt(
      place,
      `update ledger_packs set customer_ids[:invoice - first_invoice_id + 1] = customer_ids[:invoice - first_invoice_id + 1] + 1 where account_id = :account
         and :invoice between first_invoice_id and first_invoice_id + cardinality(customer_ids) - 1`,
    )
    expect(namedByEntries(found)).toEqual([invoiceAt[place]])
  })

  test.each(PLACES)('in %s: it is gone', async (place) => {
    const found = await changedAt(place, `delete from invoices where account_id = :account and invoice_id = :invoice`)
    expect(namedByEntries(found)).toEqual([invoiceAt[place]])
  })

  test.each(PLACES)('in %s: it is posted once more by itself', async (place) => {
    const found = await changedAt(
      place,
      `insert into ledger_rows (account_id, customer_id, link, record_id, amount_minor, posted_at, dated, is_reversal, currency, event, record_type, debit, credit)
       select account_id, customer_id, 99, invoice_id, 1000, now(), invoice_date, false, currency, 'invoice_issued', 'invoice', 'receivable', 'revenue'
         from invoices where account_id = :account and invoice_id = :invoice`,
    )
    expect(namedByEntries(found)).toEqual([invoiceAt[place]])
  })

  test.each(PLACES)('of the batch that has %s: it is gone', async (place) => {
    const ofBatch = `ledger_packs where account_id = :account
      and :invoice between first_invoice_id and first_invoice_id + cardinality(customer_ids) - 1`
    const [batch] = await read<{ first: bigint; count: number }>(
      sql`select first_invoice_id as first, cardinality(customer_ids) as count from ledger_packs where account_id = ${client.id}
             and ${invoiceAt[place]} between first_invoice_id and first_invoice_id + cardinality(customer_ids) - 1`,
    )
    const found = await changedAt(place, `delete from ${ofBatch}`)
    const lost = Array.from({ length: batch!.count }, (_, index) => batch!.first + BigInt(index))
    expect(namedByEntries(found).toSorted((a, b) => (a < b ? -1 : 1))).toEqual(lost)
  })

  test.each(['a row-made one', 'the first row-made one'] as const)('of %s: they are gone', async (place) => {
    const found = await changedAt(
      place,
      `delete from ledger_rows where account_id = :account and record_type = 'invoice' and record_id = :invoice`,
    )
    expect(namedByEntries(found)).toEqual([invoiceAt[place]])
  })

  test.each(
    each(
      ['a row-made one', 'the first row-made one'],
      [
        'amount_minor = amount_minor + 1',
        'dated = dated + 1',
        `credit = 'clearing'`,
        `event = 'invoice_cancelled'`,
        `currency = 'EUR'`,
        'is_reversal = true',
      ],
    ),
  )('of %s: %s', async (place, change) => {
    const found = await changedAt(
      place,
      `update ledger_rows set ${change} where account_id = :account and record_type = 'invoice' and record_id = :invoice and tax_name is null`,
    )
    expect(namedByEntries(found)).toEqual([invoiceAt[place]])
  })
})

describe('identifiers of lines are not those that were given', () => {
  const namedBatches = (found: readonly Difference[]) =>
    found.filter(({ check, what }) => check === 'ledger batches' && what === 'hash').map(({ recordId }) => recordId)
  const batchOf = async (place: Place) =>
    (
      await read<{ id: bigint }>(
        sql`select first_entry_id as id from ledger_packs where account_id = ${client.id}
               and ${invoiceAt[place]} between first_invoice_id and first_invoice_id + cardinality(customer_ids) - 1`,
      )
    ).map(({ id }) => id)

  test.each(
    each(PLACES, [
      'first_charge_id = 900000000',
      'first_tax_id = 900000000',
      'first_charge_id = first_charge_id + 100000',
      'first_tax_id = first_tax_id + 100000',
    ]),
  )('of %s: %s', async (place, change) => {
    const found = await changedAt(
      place,
      `update invoices set ${change} where account_id = :account and invoice_id = :invoice`,
    )
    expect(namedBatches(found)).toEqual(await batchOf(place))
  })

  test.each(PLACES)('of %s, whose lines were written out as rows', async (place) => {
    const toRows = [
      `insert into charge_rows (account_id, charge_id, invoice_id, display_order, kind, name, description, quantity, unit_price, net_minor, gross_minor,
         subscription_id, stretch, item_id, part, period_from, period_until, whole_from, whole_until, price)
       select account_id, charge_id, invoice_id, display_order, kind, name, description, quantity, unit_price, net_minor, gross_minor,
         subscription_id, stretch, item_id, part, period_from, period_until, whole_from, whole_until, price
         from charges where account_id = :account and invoice_id = :invoice`,
      `insert into invoice_tax_rows (account_id, invoice_tax_id, invoice_id, name, rate, tax_number, base_minor, amount_minor, shares, category)
       select account_id, invoice_tax_id, invoice_id, name, rate, tax_number, base_minor, amount_minor, shares, category
         from invoice_taxes where account_id = :account and invoice_id = :invoice`,
      `update invoices set template_id = null, first_charge_id = null, first_tax_id = null where account_id = :account and invoice_id = :invoice`,
    ]
    expect(await changedAt(place, ...toRows)).toEqual([])
    const moved = `update charge_rows set charge_id = 900000000 where account_id = :account and invoice_id = :invoice`
    expect(namedBatches(await changedAt(place, ...toRows, moved))).toEqual(await batchOf(place))
    const movedTax = `update invoice_tax_rows set invoice_tax_id = 900000000 where account_id = :account and invoice_id = :invoice`
    expect(namedBatches(await changedAt(place, ...toRows, movedTax))).toEqual(await batchOf(place))
  })

  test('a batch of before, whose hash does not cover them, holds', async () => {
    const batches = await read<{ id: bigint }>(
      sql`select first_entry_id as id from ledger_packs where account_id = ${client.id}`,
    )
    const before = await asBefore()
    expect(before).toHaveLength(batches.length)
    const found = await tampered(
      ...before.map(
        ({ id, hash }) =>
          `update ledger_packs set hash = decode('${hash}', 'hex') where account_id = :account and first_entry_id = ${id}`,
      ),
      `update invoices set first_charge_id = 900000000 where account_id = :account and invoice_id = ${invoiceAt['one within a batch']}`,
    )
    expect(namedBatches(found)).toEqual([])
  })

  /** Batches with the hashes that they had before identifiers were covered. */
  async function asBefore(): Promise<{ id: bigint; hash: string }[]> {
    const db = service.db.reader(client.id)
    const stored = await listPostingPacks(db, client.id, 0n, 1000)
    const shapes = await shapeReader(db, client.id)(shapeIdsOf(stored))
    return stored.map((batch) => {
      const members = membersOf(batch).map(({ customerId, shapeId }) => ({
        customerId,
        shapeHash: shapes.get(shapeId)!.hash!,
      }))
      return { id: batch.id, hash: hashOfPack({ ...batch, firstEntryId: batch.id }, members, '') }
    })
  }
})

describe('days are charged twice', () => {
  const namedSubscription = (found: readonly Difference[]) =>
    found.filter(({ check }) => check === 'days charged twice').map(({ recordId }) => recordId)

  test.each(PLACES)('by a row beside the shape of %s', async (place) => {
    const [invoice] = await read<{ subscription: bigint }>(
      sql`select subscription_id as subscription from invoices where account_id = ${client.id} and invoice_id = ${invoiceAt[place]}`,
    )
    const found = await changedAt(
      place,
      `insert into charge_rows (account_id, display_order, kind, quantity, unit_price, net_minor, gross_minor, subscription_id, stretch, item_id, part,
         period_from, period_until, price)
       select account_id, 1, kind, quantity, unit_price, 0, 0, subscription_id, stretch, item_id, 7, period_until - 1, period_until, price
         from charges where account_id = :account and invoice_id = :invoice`,
    )
    // The day is the last of that period; of the newest invoice, and of the one before it, nothing else covers it twice.
    expect(namedSubscription(found)).toEqual([invoice!.subscription])
  })

  test('by the next shape', async () => {
    const found = await changedAt(
      'the last of all',
      `update invoice_template_charges set period_from = period_from - 1 where account_id = :account
         and template_id = (select template_id from invoices where account_id = :account and invoice_id = :invoice)`,
    )
    expect(new Set(namedSubscription(found)).size).toBe(SUBSCRIBERS)
  })

  test('by a row-made line that lasts a day too long', async () => {
    const found = await changedAt(
      'a row-made one',
      `update charge_rows set period_until = period_until + 1 where account_id = :account and invoice_id = :invoice`,
    )
    expect(namedSubscription(found)).toHaveLength(1)
  })
})
