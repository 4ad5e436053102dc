import { beforeAll, describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { addCustomer, addTax, differencesOf, moveTo, shop } from '../../../test/support/shop.ts'
import { LEAST_OF_COMPONENTS } from './template-lines.ts'
import { addComponent, modify, TIERS } from '../subscriptions/components.testing.ts'
import { reported, tamperWith } from '../verification/tamper.testing.ts'
import { ComputedShapes } from './group-by-facts.ts'
import type { CheckedInvoice } from './group-by-facts-queries.ts'

/** Shapes of invoices, what refers to them, and the identifiers that they give: whatever is changed of them behind the service's back is named. */

const service = await startTestService()
let client: TestClient
const { superuser, tampered } = await tamperWith(service, () => client)
let sold: TestClient
const { tampered: changed } = await tamperWith(service, () => sold)

beforeAll(async () => {
  const made = await shop(service)
  client = made.client
  await addTax(client, 'VAT', { Perc: 0.15 })
  for (const customerID of [made.customerID, await addCustomer(client)]) await made.add({ customerID })
  await client.post('/v1/invoices', { customerID: made.customerID, Charges: [{ UnitCostEx: 20 }, { UnitCostEx: 5 }] })
  await moveTo(client, '2027-04-02')
})

/** The newest of the invoices with a shape, and another one. */
const SHAPED = 'account_id = :account and template_id is not null'
const LAST = `invoice_id = (select max(invoice_id) from invoices where ${SHAPED})`
const SHAPE_OF_LAST = `account_id = :account and template_id = (select template_id from invoices where account_id = :account and ${LAST})`
const OTHER = `(select i.invoice_id from invoices i where i.account_id = :account and i.template_id is not null order by 1 limit 1)`

test('an account with shapes is clean', async () => {
  expect(await differencesOf(service, client)).toEqual([])
  const { rows } = await superuser.query(
    `select count(*)::int as kept, count(distinct template_id)::int as shapes from invoices where account_id = ${client.id} and template_id is not null`,
  )
  expect(rows[0].kept).toBeGreaterThan(rows[0].shapes)
  expect(rows[0].shapes).toBeGreaterThan(1)
})

describe('a shape', () => {
  test.each([
    ['name of a line', 'invoice_template_charges', `name = name || '!'`],
    ['amount of a line', 'invoice_template_charges', 'net_minor = net_minor + 1'],
    ['period of a line', 'invoice_template_charges', 'period_until = period_until - 1'],
    ['bracket of a line', 'invoice_template_charges', `brackets = '{}'`],
    ['rate of a tax', 'invoice_template_taxes', 'rate = rate + 0.01'],
    ['share of a tax', 'invoice_template_taxes', `shares = '{1,2}'`],
    ['reason of a tax', 'invoice_template_taxes', `reason = '{"de":"!"}'`],
  ])('with another %s does not make its hash', async (_, table, change) => {
    const found = reported(await tampered(`update ${table} set ${change} where ${SHAPE_OF_LAST}`))
    expect(found).toContainEqual(
      expect.stringMatching(/^shapes of invoices: shape #: hash says \w{64}, should say \w{64}, which/),
    )
  })

  test('with another hash is named', async () => {
    const found = reported(await tampered(`update invoice_templates set hash = sha256('x') where ${SHAPE_OF_LAST}`))
    expect(found).toEqual([expect.stringMatching(/^shapes of invoices: shape #: hash says/)])
  })

  test.each([
    ['charges', '1 and 1', '0 and 0'],
    ['taxes', '1 and 1', '1 and 0'],
  ])('without its %s is named, and so are invoices that have it', async (lines, stored, expected) => {
    const found = reported(await tampered(`delete from invoice_template_${lines} where ${SHAPE_OF_LAST}`))
    expect(found).toContain(
      `shapes of invoices: shape #: lines and taxes says ${stored}, should say ${expected}, which are there`,
    )
    expect(found).toContainEqual(expect.stringMatching(/^invoices: invoice # of customer #: total says/))
  })

  test('whose line does not come to its amount is named once, however many invoices have it', async () => {
    const found = reported(
      await tampered(
        `update invoice_template_charges set net_minor = net_minor + 7, gross_minor = gross_minor + 7 where ${SHAPE_OF_LAST}`,
      ),
    )
    expect(found.filter((one) => one.includes('amount says'))).toHaveLength(1)
    expect(found.filter((one) => one.includes('total says'))).toHaveLength(2)
  })
})

describe('an invoice with a shape', () => {
  test.each([
    ['of another customer', `(select min(subscription_id) from subscriptions where account_id = :account)`],
    ['that is not there', '999999'],
    ['at all, or none', 'null'],
  ])('names the subscription of its customer: one %s is found', async (_, other) => {
    const found = reported(
      await tampered(`update invoices set subscription_id = ${other} where account_id = :account and ${LAST}`),
    )
    expect(found).toContain(
      'invoices: invoice # of customer #: subscription says none, or that of another customer, should say one of its customer',
    )
  })

  test.each(['max', 'min'])('of another total than its shape is named, the %s of them too', async (which) => {
    const found = reported(
      await tampered(
        `update invoices set total_minor = total_minor + 1 where account_id = :account and invoice_id = (select ${which}(invoice_id) from invoices where ${SHAPED})`,
      ),
    )
    expect(found).toContain('invoices: invoice # of customer #: total says 35.66 USD, should say 35.65 USD')
  })

  test('that is not there is named', async () => {
    const found = reported(
      await tampered(`update invoices set template_id = 999999 where account_id = :account and ${LAST}`),
    )
    expect(found).toContain(
      'invoices: invoice # of customer #: shape says 999999, should say one that is there, with taxes if it has any',
    )
  })

  test('of which no taxes were drawn is named', async () => {
    const found = reported(
      await tampered(`update invoices set first_tax_id = null where account_id = :account and ${LAST}`),
    )
    expect(found).toContainEqual(expect.stringMatching(/^invoices: invoice # of customer #: shape says/))
  })

  test.each([
    [
      'charge_rows',
      `(account_id, invoice_id, display_order, kind, quantity, unit_price, net_minor, gross_minor) values (:account, ${OTHER}, 2, 'manual', 1, 1, 100, 100)`,
    ],
    [
      'invoice_tax_rows',
      `(account_id, invoice_id, name, rate, base_minor, amount_minor) values (:account, ${OTHER}, 'VAT', 0.15, 0, 0)`,
    ],
  ])('with %s beside it is named', async (table, row) => {
    const found = reported(await tampered(`insert into ${table} ${row}`))
    expect(found).toContain(
      'invoices: invoice # of customer #: lines says rows of their own beside those of its shape, should say one or the other',
    )
  })
})

describe('identifiers', () => {
  test.each([
    ['charge', 'first_charge_id'],
    ['tax', 'first_tax_id'],
  ])('of a %s that another invoice has too are named', async (what, column) => {
    const found = reported(
      await tampered(
        `update invoices set ${column} = (select ${column} from invoices where account_id = :account and invoice_id = ${OTHER})
          where account_id = :account and ${LAST}`,
      ),
    )
    expect(found).toContainEqual(
      expect.stringMatching(
        new RegExp(
          `^identifiers of lines: invoice #: identifier of its last ${what} says \\d+, should say less than \\d+`,
        ),
      ),
    )
  })

  test.each([
    ['charge', 'first_charge_id', 'charge_rows', 'charge_id'],
    ['tax', 'first_tax_id', 'invoice_tax_rows', 'invoice_tax_id'],
  ])('of a %s that is a row elsewhere are named', async (what, column, table, id) => {
    const found = reported(
      await tampered(
        `update invoices set ${column} = (select min(${id}) from ${table} where account_id = :account) where account_id = :account and ${LAST}`,
      ),
    )
    expect(found).toContainEqual(expect.stringMatching(new RegExp(`^identifiers of lines: .*last ${what} says`)))
  })
})

test('a period that a shape bills twice is named as days that are charged twice', async () => {
  const found = reported(
    await tampered(
      `update invoices set template_id = (select i.template_id from invoices i where i.account_id = :account and i.invoice_id = ${OTHER})
        where account_id = :account and template_id is not null`,
    ),
  )
  expect(found).toContainEqual(
    expect.stringMatching(/^days charged twice: subscription # of customer #: days of the package says/),
  )
})

describe('a shape with lines of components', () => {
  const KINDS = `('component', 'metered', 'rise')`
  const LINE = `account_id = :account and template_id = (select max(template_id) from invoice_template_charges where account_id = :account and kind = 'rise')`

  beforeAll(async () => {
    const made = await shop(service)
    sold = made.client
    const seats = await addComponent(sold)
    const calls = await addComponent(sold, { type: 'metered', scheme: 'tiered', brackets: TIERS, name: 'Calls' })
    const [seatsOf, { componentID }] = [(NumUnits: number) => ({ componentID: seats.componentID, NumUnits }), calls]
    const componentUsage = [seatsOf(3), { componentID, NumUnits: 12 }]
    const ids: number[] = []
    for (let n = 0; n < LEAST_OF_COMPONENTS; n += 1) {
      const customerID = await addCustomer(sold)
      ids.push((await made.add({ customerID, componentUsage })).body.subscriptionID)
    }
    await moveTo(sold, '2027-01-17')
    for (const id of ids) expect((await modify(sold, id, [seatsOf(5), { componentID }])).status).toBeLessThan(300)
    await moveTo(sold, '2027-02-03')
  })

  test('is clean, and has seats, a rise and usage', async () => {
    const { rows } = await superuser.query(
      `select kind, count(*)::int as n from invoice_template_charges where account_id = ${sold.id} and kind in ${KINDS} group by kind order by kind`,
    )
    expect(rows).toEqual([
      { kind: 'component', n: 1 },
      { kind: 'metered', n: 2 },
      { kind: 'rise', n: 1 },
    ])
    expect(await differencesOf(service, sold)).toEqual([])
  })

  test.each(['component', 'metered', 'rise'])('whose %s has another amount is named', async (kind) => {
    const found = reported(
      await changed(`update invoice_template_charges set net_minor = net_minor + 1 where ${LINE} and kind = '${kind}'`),
    )
    expect(found).toContainEqual(expect.stringMatching(/^shapes of invoices: shape #: hash says/))
    expect(found).toContainEqual(expect.stringMatching(/^invoices: charge # of customer #: amount says/))
  })

  test('whose usage is of another quantity is named for each subscription', async () => {
    const found = reported(
      await changed(
        `update invoice_template_charges set quantity = quantity + 1 where ${LINE} and kind = 'metered' and bracket_index = 1`,
      ),
    )
    const named = found.filter((one) => one.startsWith('usage cycles: '))
    expect(named).toHaveLength(LEAST_OF_COMPONENTS)
    expect(named[0]).toMatch(/units invoiced of component \d+ in the cycle from 2027-01-01 says 12, should say 13$/)
  })

  test('without its usage is named for each subscription', async () => {
    const found = reported(await changed(`delete from invoice_template_charges where ${LINE} and kind = 'metered'`))
    expect(found.filter((one) => one.includes('should say none, for no charge has any'))).toHaveLength(
      LEAST_OF_COMPONENTS,
    )
  })

  test.each([
    ['component', 'component \\d+'],
    ['metered', 'usage of component \\d+'],
    ['rise', 'rise 1 of component \\d+ from 2027-01-17 in stretch 1'],
  ])('that bills its %s a second time, beside a row, is named', async (kind, item) => {
    const found = reported(
      await changed(
        `insert into charge_rows (account_id, invoice_id, display_order, kind, name, quantity, unit_price, net_minor, gross_minor, subscription_id, stretch,
           item_id, part, period_from, period_until, whole_from, whole_until, price, bracket_index)
         select account_id, null, 0, kind, name, quantity, 0, 0, 0, subscription_id, stretch, item_id, part, period_from, period_until, whole_from,
           whole_until, 0, bracket_index
           from charges where account_id = :account and kind = '${kind}' and bracket_index = 0 and period_from < '2027-03-01'
            and invoice_id in (select invoice_id from invoices where account_id = :account and template_id is not null) order by charge_id limit 1`,
      ),
    )
    expect(found).toContainEqual(
      expect.stringMatching(new RegExp(`^days charged twice: subscription # of customer #: days of ${item} says`)),
    )
  })
})

test('a billing that does not move the state of a subscription onward is refused by the database', async () => {
  await expect(
    superuser.query(`update perennial.subscription_billing set next_from = last_from where account_id = $1`, [
      client.id,
    ]),
  ).rejects.toThrow(/subscription_billing_onward/)
})

test('shapes are forgotten between pages only, so that no invoice of a page is left without what was known of it', () => {
  const invoice = (id: bigint, shapeId: bigint) => ({ id, shapeId, currency: 'USD' }) as CheckedInvoice
  const computed = new ComputedShapes(2)
  const look = (page: CheckedInvoice[]) => {
    const read = computed.toRead(page).map(({ id }) => id)
    const known = page.map((one) => {
      const total = computed.totalOf(one)
      if (total === undefined) computed.keep(one, one.shapeId ?? 0n)
      return total
    })
    return { read, known }
  }
  const [a, b, c, again] = [invoice(1n, 1n), invoice(2n, 2n), invoice(3n, 3n), invoice(4n, 1n)]
  expect(look([a, b, c, again])).toEqual({ read: [1n, 2n, 3n], known: [undefined, undefined, undefined, 1n] })
  expect(look([again, b])).toEqual({ read: [4n, 2n], known: [undefined, undefined] })
})
