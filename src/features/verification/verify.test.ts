import { beforeAll, describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import type { Database } from '../../platform/database/database.ts'
import { addCustomer, addTax, differencesOf, moveTo, shop } from '../../../test/support/shop.ts'
import { addComponent, modify, TIERS, use } from '../subscriptions/components.testing.ts'
import { tamperWith, reported } from './tamper.testing.ts'
import { verifyAccount } from '../../checks.ts'

/**
 * A busy account is clean, and every kind of tampering with it is found and named. What concerns the ledger stands in ledger.test.ts.
 */

const service = await startTestService()

let client: TestClient
const { superuser, tampered } = await tamperWith(service, () => client)

beforeAll(async () => {
  client = await busyAccount()
})

/** Half a year with taxes, components, late usage, credits, invoices by hand in each state, a recurring one and a raised number. */
async function busyAccount(): Promise<TestClient> {
  const { client, plan, customerID, add } = await shop(service, { price: 31, setupFee: 5 })
  await addTax(client, 'VAT', { Perc: 0.075 })
  await addTax(client, 'Levy', { Perc: 0.0125 })
  const seats = await addComponent(client)
  const calls = await addComponent(client, { type: 'metered', scheme: 'tiered', brackets: TIERS, name: 'Calls' })
  const componentUsage = [
    { componentID: seats.componentID, NumUnits: 5 },
    { componentID: calls.componentID, NumUnits: 0 },
  ]
  const id = (await add({ componentUsage })).body.subscriptionID
  const free = await add({ isProRata: true })
  await moveTo(client, '2027-01-20')
  await use(client, id, { componentID: calls.componentID, NumUnits: 8 })
  await modify(client, id, [{ componentID: seats.componentID, NumUnits: 9 }, { componentID: calls.componentID }])
  await moveTo(client, '2027-02-03')
  const late = { subscriptionID: id, componentID: calls.componentID, Date: '2027-01-25' }
  const Usage = [
    { ...late, NumUnits: 2, UsageKey: 'one' },
    { ...late, NumUnits: 3, UsageKey: 'two' },
  ]
  expect((await client.post('/v1/usage', { Usage })).body).toEqual({ Recorded: 2, Duplicates: 0 })
  const next = (await client.get('/v1/account')).body.NextInvoiceNum
  await client.put('/v1/account', { ...(await client.get('/v1/account')).body, NextInvoiceNum: next + 100 })
  await moveTo(client, '2027-03-11')
  await client.put(`/v1/subscriptions/${free.body.subscriptionID}/cancel/prorata`)
  await add({ StartDate: '2027-03-11', packageVersionID: plan.packageVersionID })
  const other = await addCustomer(client, { isWaiveTaxes: true })
  const lines = [
    { UnitCostEx: 20, Qty: 3 },
    { UnitCostEx: 3.33, Qty: -1 },
  ]
  await client.post('/v1/invoices', { customerID, Charges: lines })
  const cancelled = await client.post('/v1/invoices', { customerID: other, Charges: lines })
  await client.delete(`/v1/invoices/${cancelled.body.invoiceID}`)
  await client.post('/v1/invoices', { customerID: other, Charges: lines, isDraft: true })
  await client.post('/v1/recurring-invoices', { customerID: other, RecurInvoiceCharges: lines })
  await moveTo(client, '2027-06-15')
  return client
}

const FIRST = `(select min(invoice_id) from invoices where account_id = :account)`

test('a busy account is clean', async () => {
  expect(await differencesOf(service, client)).toEqual([])
  const looked = await verifyAccount(service.db, client.id, () => {})
  expect(looked).toMatchObject({ account: client.id, differences: 0 })
  expect(looked.invoices).toBeGreaterThan(10)
  const kinds = await superuser.query(`select distinct kind from charges where account_id = ${client.id} order by kind`)
  expect(kinds.rows.map(({ kind }) => kind)).toEqual([
    'component',
    'late_usage',
    'manual',
    'metered',
    'package',
    'rise',
    'setup',
  ])
})

test('a verification changes nothing, whatever a check would say', async () => {
  const db = {
    transaction: ((account, work, options) =>
      service.db.transaction(
        account,
        async (tx) => {
          const result = await work(tx)
          await expect(
            tx.rows({ text: 'delete from invoice_drafts where account_id = $1', name: 'tampering', values: [account] }),
          ).rejects.toThrow(/read-only/)
          throw Object.assign(new Error('over'), { result })
        },
        options,
      )) as Database['transaction'],
  }
  await expect(verifyAccount(db, client.id, () => {})).rejects.toThrow('over')
})

test('what cannot even be read is a difference, and all other checks go on', async () => {
  const found = reported(
    await tampered(
      `update invoices set currency = 'USDx' where account_id = :account and invoice_id = ${FIRST}`,
      `update usage_packs set units = units || 'x' where account_id = :account`,
      `insert into list_blocks (account_id, list, block, records) values (:account, 'invoices', 0, 3)`,
    ),
  )
  const unreadable = (check: string, why: string) =>
    `${check}: account #: what is stored says something that cannot be read (${why}), should say something that can`
  expect(found).toContain(unreadable('invoices', 'assertion failed: USDx is a known currency'))
  expect(found).toContainEqual(expect.stringContaining('the database refused with 22P02'))
  expect(found).toContainEqual(expect.stringMatching(/^counted lists: list 0/))
})

test('an invoice names a subscription of its customer', async () => {
  const other = '(select subscription_id + 1000 from subscriptions where account_id = :account order by 1 limit 1)'
  const found = await tampered(
    `update invoices set subscription_id = ${other} where account_id = :account and invoice_id = ${FIRST}`,
  )
  expect(reported(found)).toContain(
    'invoices: invoice # of customer #: subscription says none, or that of another customer, should say one of its customer',
  )
})

describe('a charge', () => {
  test('of another amount than its facts make is named, and so is what follows from it', async () => {
    const found = await tampered(
      `update charge_rows set net_minor = net_minor + 1 where account_id = :account and invoice_id = ${FIRST} and kind = 'package'`,
    )
    expect(reported(found)).toEqual([
      'invoices: charge # of customer #: amount says 31.01 USD, should say 31.00 USD',
      'invoices: invoice # of customer #: base of tax VAT at 0.075 says 51.50 USD, should say 51.51 USD',
      'invoices: invoice # of customer #: shares of tax VAT at 0.075 says 38, 232, 116, should say 37, 233, 116',
      'invoices: invoice # of customer #: base of tax Levy at 0.0125 says 51.50 USD, should say 51.51 USD',
      'invoices: charge # of customer #: amount with tax says 5.44 USD, should say 5.43 USD',
      'invoices: charge # of customer #: amount with tax says 33.71 USD, should say 33.73 USD',
      'invoices: invoice # of customer #: total says 56.00 USD, should say 56.01 USD',
    ])
    expect(found[0]).toMatchObject({ account: client.id, check: 'invoices', recordType: 'charge' })
  })

  test.each(['package', 'component', 'rise', 'metered', 'late_usage', 'manual', 'setup'])(
    'of kind %s is computed again',
    async (kind) => {
      const found = await tampered(
        `update charge_rows set net_minor = net_minor + 7, gross_minor = gross_minor + 7 where account_id = :account and charge_id =
          (select max(charge_id) from charge_rows where account_id = :account and kind = '${kind}' and invoice_id is not null)`,
      )
      expect(reported(found)[0]).toMatch(/^invoices: charge # of customer #: amount says/)
    },
  )

  test.each([
    ['price', `price = price * 2`],
    ['last day', `period_until = period_until - 1`],
    ['whole period', `whole_from = whole_from - 1`],
    [
      'bracket',
      `brackets = '{"scheme":"unit","list":[{"from":"1","till":null,"price":"3"}],"quantity":"1","before":null}'`,
    ],
  ])('whose %s is another does not come to its amount', async (_, change) => {
    const found = await tampered(
      `update charge_rows set ${change} where account_id = :account and charge_id =
        (select max(charge_id) from charge_rows where account_id = :account and kind = 'package' and invoice_id is not null)`,
    )
    expect(reported(found)[0]).toMatch(/^invoices: charge # of customer #: amount says 31.00 USD, should say/)
  })

  test('whose line shows another unit price is named', async () => {
    const found = await tampered(
      `update charge_rows set unit_price = unit_price + 1 where account_id = :account and invoice_id = ${FIRST} and kind = 'component'`,
    )
    expect(reported(found)).toEqual([
      'invoices: charge # of customer #: unit price × quantity says 20.50 USD, should say 15.50 USD',
    ])
  })

  test('without an invoice is billed at nothing', async () => {
    const found = await tampered(
      `update charge_rows set invoice_id = null where account_id = :account and invoice_id = ${FIRST}`,
    )
    expect(reported(found)).toContain('invoices: invoice # of customer #: lines says none, should say at least one')
    expect(reported(found)).toContain(
      'charges without an invoice: charge # of customer #: invoice says none, should say one, for its amount is above 0',
    )
  })

  test('of an invoice that is not there is named', async () => {
    const found = await tampered(
      `update charge_rows set invoice_id = 999999 where account_id = :account and invoice_id = ${FIRST} and kind = 'setup'`,
    )
    expect(reported(found)).toContain('lines of invoices: charge #: invoice says 999999, should say one that exists')
  })
})

describe('an invoice', () => {
  test('with another total is named, and so is its customer', async () => {
    const found = await tampered(
      `update invoices set total_minor = total_minor + 100 where account_id = :account and invoice_id = ${FIRST}`,
    )
    expect(reported(found)).toEqual([
      'invoices: invoice # of customer #: total says 57.00 USD, should say 56.00 USD',
      expect.stringMatching(/^customer totals: customer #: receivable says .* USD, should say .* USD$/),
      'ledger entries: invoice # of customer #: entry invoice_issued says 51.50 USD receivable → revenue on 2027-01-01, should say 52.50 USD receivable → revenue on 2027-01-01',
    ])
  })

  test.each([
    ['another amount', 'amount_minor = amount_minor - 1', /tax VAT at 0.075 says 3.85 USD, should say 3.86 USD/],
    ['another base', 'base_minor = base_minor - 1', /base of tax VAT at 0.075 says/],
    ['other shares', 'shares[1] = shares[1] + 1', /shares of tax VAT at 0.075 says/],
    ['another rate', 'rate = 0.08', /tax VAT at 0.08 says 3.86 USD, should say 4.12 USD/],
  ])('whose tax has %s is named', async (_, change, what) => {
    const found = await tampered(
      `update invoice_tax_rows set ${change} where account_id = :account and invoice_id = ${FIRST} and name = 'VAT'`,
    )
    expect(reported(found)[0]).toMatch(what)
  })

  test('a tax of an invoice that is not there is named', async () => {
    const found = await tampered(
      `update invoice_tax_rows set invoice_id = 999999 where account_id = :account and invoice_id = ${FIRST}`,
    )
    expect(reported(found)).toContain(
      'lines of invoices: invoice #: a tax says of invoice #, should say of an invoice that exists',
    )
  })

  test('whose lines are in another order is named', async () => {
    const found = await tampered(
      `update charge_rows set display_order = display_order + 1 where account_id = :account and invoice_id = ${FIRST}`,
    )
    expect(reported(found)[0]).toBe('invoices: charge # of customer #: place on the invoice says 2, should say 1')
  })

  test('that froze a version of its customer that is not kept is named', async () => {
    const found = await tampered(
      `update invoices set customer_version = 77, account_version = 77 where account_id = :account and invoice_id = ${FIRST}`,
    )
    expect(reported(found)).toEqual([
      'invoices: invoice # of customer #: customer as frozen says a version that is not kept, should say a version that is',
      'invoices: invoice # of customer #: account as frozen says a version that is not kept, should say a version that is',
    ])
  })
})

describe('money given', () => {
  test('an allocation that is too big is outside both amounts', async () => {
    const found = reported(
      await tampered(`update allocations set amount_minor = 1000000 where account_id = :account and allocation_id =
      (select min(allocation_id) from allocations where account_id = :account)`),
    )
    expect(found).toContainEqual(
      expect.stringMatching(
        /^invoices: invoice # of customer #: negative adjustments says .*, should say 10000.00 USD/,
      ),
    )
    expect(found).toContainEqual(
      expect.stringMatching(
        /^invoices: invoice # of customer #: allocations says 10000.00 USD, should say at most its total/,
      ),
    )
    expect(found).toContainEqual(
      expect.stringMatching(/^credit notes: credit note # of customer #: what is allocated of it says/),
    )
    expect(found).toContainEqual(
      expect.stringMatching(
        /^credit notes: credit note # of customer #: allocations says 10000.00 USD, should say at most its total/,
      ),
    )
  })

  test.each([
    [
      'an invoice',
      `owed_id = 999999`,
      /^allocations: allocation # of customer #: invoice says 999999, should say one that exists/,
    ],
    [
      'a credit note',
      `given_id = 999999`,
      /^allocations: allocation # of customer #: credit note says 999999, should say one that exists/,
    ],
    [
      'a customer',
      `customer_id = customer_id + 1`,
      /^allocations: allocation # of customer #: invoice says \d+ of customer #, should say one of customer #/,
    ],
  ])('an allocation of %s that is not there is named', async (_, change, what) => {
    const found = reported(await tampered(`update allocations set ${change} where account_id = :account`))
    expect(found).toContainEqual(expect.stringMatching(what))
  })

  test('an allocation that is gone leaves invoice and credit note saying too much', async () => {
    const found = reported(await tampered(`delete from allocations where account_id = :account`))
    expect(found).toContainEqual(
      expect.stringMatching(/^invoices: .* negative adjustments says .*, should say 0.00 USD$/),
    )
    expect(found).toContainEqual(
      expect.stringMatching(/^credit notes: .* what is allocated of it says .*, should say 0.00 USD$/),
    )
  })

  test.each([
    [
      'amount of a line',
      `update credit_note_lines set net_minor = net_minor - 1 where account_id = :account`,
      /line 1 says/,
    ],
    [
      'total',
      `update negative_adjustments set amount_minor = amount_minor + 1 where account_id = :account`,
      /total says/,
    ],
    [
      'tax',
      `update credit_note_taxes set amount_minor = amount_minor + 100 where account_id = :account`,
      /tax VAT at 0.075 says .*, should say at most/,
    ],
    [
      'charge',
      `update credit_note_lines set charge_id = charge_id - 1 where account_id = :account`,
      /line 1 says charge #, should say a charge of invoice #|what was given back/,
    ],
  ])('the %s of a credit note follows from what it credits', async (_, statement, what) => {
    expect(reported(await tampered(statement))).toContainEqual(expect.stringMatching(what))
  })

  test('a charge says just what was given back of it, and never more than it was', async () => {
    const more = reported(
      await tampered(
        `update charge_rows set credited_minor = net_minor + 1 where account_id = :account and credited_minor > 0`,
      ),
    )
    expect(more).toContainEqual(
      expect.stringMatching(/^credited charges: .*what was given back of it says 31.01 USD, should say/),
    )
    expect(more).toContainEqual(
      expect.stringMatching(/credits of it says 31.01 USD, should say at most its amount, 31.00 USD/),
    )
    const less = reported(
      await tampered(`update charge_rows set credited_minor = 0 where account_id = :account and credited_minor > 0`),
    )
    expect(less).toEqual([
      expect.stringMatching(/^credited charges: .*what was given back of it says 0.00 USD, should say/),
    ])
  })

  test('credit notes take back no more tax than was charged', async () => {
    const found = reported(
      await tampered(`update invoice_tax_rows t set rate = rate, amount_minor = 0 where account_id = :account
      and invoice_id in (select invoice_id from negative_adjustments where account_id = :account)`),
    )
    expect(found).toContainEqual(
      expect.stringMatching(/^credited charges: invoice # of customer #: tax VAT taken back by credit notes says/),
    )
  })

  test.each([
    ['receivable', /^customer totals: customer #: receivable( by its ledger entries)? says .* USD, should say .* USD$/],
    ['unapplied', /^customer totals: customer #: unapplied( by its ledger entries)? says .* USD, should say .* USD$/],
  ])('the %s total of a customer is what its documents come to', async (name, what) => {
    const found = await tampered(
      `update customer_totals set ${name}_minor = ${name}_minor + 1 where account_id = :account`,
    )
    expect(found.length).toBe(4)
    for (const text of reported(found)) expect(text).toMatch(what)
  })

  test('totals that are gone, or of a customer that is not there, are reported', async () => {
    expect(reported(await tampered(`delete from customer_totals where account_id = :account`))[0]).toMatch(
      /receivable says 0.00 USD/,
    )
    const foreign = `insert into customer_totals values (:account, 999999, 'JPY', 5, 0)`
    expect(reported(await tampered(foreign))).toEqual([
      'customer totals: customer #: receivable says 5 JPY, should say 0 JPY',
      'customer totals: customer #: receivable by its ledger entries says 5 JPY, should say 0 JPY',
    ])
  })
})

describe('numbers', () => {
  const LAST = `(select max(number) from invoices where account_id = :account)`

  test('a missing invoice is a gap that no event tells of', async () => {
    const found = reported(
      await tampered(`update invoices set number = number + 1000 where account_id = :account and number = ${LAST}`),
    )
    expect(found).toEqual([
      expect.stringMatching(
        /^invoice numbers: account #: next invoice number says \d+, should say \d+ or more, for \d+ is given$/,
      ),
      expect.stringMatching(
        /^invoice numbers: invoice # of customer #: number says \d+, should say \d+, for \d+ to \d+ is missing and no event tells/,
      ),
    ])
  })

  test('a first number above 1 is a gap as well', async () => {
    const found = reported(
      await tampered(`update invoices set number = null, issued_at = null where account_id = :account and number = 1`),
    )
    expect(found).toContainEqual(
      'invoice numbers: invoice # of customer #: number says 2, should say 1, for 1 is missing and no event tells that the number was raised',
    )
  })

  test('the gap that raising the number left is reported by its event, and by that alone', async () => {
    const found = reported(
      await tampered(`delete from event_rows where account_id = :account and type = 'account.invoice_number_raised'`),
    )
    expect(found).toEqual([
      expect.stringMatching(
        /^invoice numbers: invoice # of customer #: number says \d+, should say \d+, for \d+ to \d+ is missing/,
      ),
    ])
  })

  test('a next number that was moved by hand is reported', async () => {
    const raised = reported(
      await tampered(
        `update account_counters set next_invoice_number = next_invoice_number + 2 where account_id = :account`,
      ),
    )
    expect(raised).toEqual([
      expect.stringMatching(
        /^invoice numbers: account #: next invoice number says \d+, should say \d+, for \d+ to \d+ is missing/,
      ),
    ])
    const lowered = reported(
      await tampered(`update account_counters set next_invoice_number = 2 where account_id = :account`),
    )
    expect(lowered).toEqual([expect.stringMatching(/next invoice number says 2, should say \d+ or more/)])
  })

  test('credit notes take every number of theirs, and none beyond', async () => {
    const gone = reported(
      await tampered(`update account_counters set next_credit_number = 5 where account_id = :account`),
    )
    expect(gone).toEqual([
      'credit note numbers: account #: numbers of credit notes says no CN-2 to CN-4, should say every number below CN-5',
    ])
    const beyond = reported(await tampered(`update negative_adjustments set ref = 'CN-9' where account_id = :account`))
    expect(beyond).toEqual([
      'credit note numbers: account #: numbers of credit notes says no CN-1, should say every number below CN-2',
      "credit note numbers: credit note # of customer #: number says CN-9, should say CN- and a number below the account's next, 2",
    ])
  })
})

describe('days', () => {
  test.each([
    ['package', 'the package'],
    ['component', 'component'],
    ['metered', 'usage of component'],
  ])('of a %s are charged once', async (kind, item) => {
    const found = reported(
      await tampered(
        `insert into charge_rows (account_id, invoice_id, display_order, kind, name, quantity, unit_price, net_minor, gross_minor, subscription_id, stretch,
           item_id, part, period_from, period_until, whole_from, whole_until, price, bracket_index)
         select account_id, null, 0, kind, name, 1, 0, 0, 0, subscription_id, stretch, item_id, part, period_from + 1, period_until, whole_from + 1,
           whole_until, 0, bracket_index
           from charges where account_id = :account and kind = '${kind}' and bracket_index = 0 and credited_from is null
          order by charge_id limit 1`,
      ),
    )
    expect(found).toContainEqual(
      expect.stringMatching(
        new RegExp(`^days charged twice: subscription # of customer #: days of ${item}.* says charge # until`),
      ),
    )
  })
})

test('what a usage cycle says was invoiced of it is what its last charge priced', async () => {
  const found = await tampered(
    `update usage_cycles set invoiced = invoiced + 1, total = total + 1 where account_id = :account and invoiced = 13`,
  )
  expect(reported(found)).toEqual([
    expect.stringMatching(
      /^usage cycles: subscription # of customer #: units invoiced of component \d+ in the cycle from 2027-01-01 says 14, should say 13$/,
    ),
  ])
})

test('a count that lets deep pages skip is what is there', async () => {
  const found = await tampered(
    `insert into list_blocks (account_id, list, block, records) values (:account, 'invoices', 0, 3)`,
  )
  expect(reported(found)).toEqual([
    expect.stringMatching(/^counted lists: list 0: records of invoices counted in this block says 3, should say \d+$/),
  ])
})

test('events of issued invoices are those of invoices that are there, each once', async () => {
  const last = `first_event_id = (select max(first_event_id) from event_packs where account_id = :account and mailed is null)`
  const moved = await tampered(
    `update event_packs set first_invoice_id = first_invoice_id + 7000 where account_id = :account and ${last}`,
  )
  expect(reported(moved)).toEqual([
    expect.stringMatching(
      /^events of invoices: invoice #: events of it and those issued with it says \d+, should say 0$/,
    ),
  ])
  const gone = await tampered(`delete from event_packs where account_id = :account and ${last}`)
  expect(reported(gone)).toEqual([
    expect.stringMatching(/^events of invoices: account #: events of issued invoices says \d+, should say \d+$/),
  ])
  const given = await tampered(
    `insert into event_rows (account_id, event_id, type, record_id, happened_at, actor)
       select :account, first_event_id, 'account.updated', 1, happened_at, 'x' from event_packs where account_id = :account and ${last}`,
  )
  expect(reported(given)).toEqual([
    expect.stringMatching(
      /^events of invoices: invoice #: last event of those issued with it says \d+, should say less than \d+, which is another event$/,
    ),
  ])
})

test('events of mails are those of invoices that were issued by then', async () => {
  const ofMails = (invoice: string, happenedAt: string) => `
    insert into event_packs (account_id, first_event_id, last_event_id, first_invoice_id, happened_at, actor, records, mailed)
    select :account, 9000000000, 9000000000, i - (i & 255), ${happenedAt}, 'x', '[{}]', array[(i & 255)::smallint] from (select ${invoice} as i) x`
  const issued = `(select max(invoice_id) from invoices where account_id = :account and number is not null)`
  for (const change of [ofMails('7000003', 'now()'), ofMails(issued, `'2001-01-01'`)])
    expect(reported(await tampered(change.trim()))).toEqual([
      expect.stringMatching(
        /^events of invoices: invoice #: events of mails with it and the 255 after it says 1, should say 0$/,
      ),
    ])
  expect(reported(await tampered(ofMails(issued, `'2999-01-01'`).trim()))).toEqual([])
})

test('events of usage in bulk find their reports, and tell what is stored of them', async () => {
  const row = `first_usage_id = (select min(first_usage_id) from usage_packs where account_id = :account)`
  const gone = await tampered(`delete from usage_packs where account_id = :account and ${row}`)
  expect(reported(gone)).toEqual([
    expect.stringMatching(
      /^events of usage: subscription # of customer #: row of the reports of event \d+ says \d+, should say one that has reports of it$/,
    ),
  ])
  for (const change of [
    `units = '7,4'`,
    `keys = replace(keys, 'two', 'too')`,
    `keys = 'one'`,
    `days = array[date '2027-01-06']`,
  ]) {
    const changed = await tampered(`update usage_packs set ${change} where account_id = :account and ${row}`)
    expect(reported(changed)).toEqual([
      expect.stringMatching(
        /^events of usage: usage batch \d+: reports that are as they are stored says [01], should say 2$/,
      ),
    ])
  }
})

test('a delivery of a webhook is of the event that it names', async () => {
  const found = await tampered(
    `insert into webhook_deliveries (account_id, webhook_id, event_id, type, record_id)
       select :account, 1, min(event_id), 'invoice.cancelled', 7 from event_rows where account_id = :account`,
    `insert into webhook_deliveries (account_id, webhook_id, event_id, type, record_id) values (:account, 1, 999999999, 'invoice.issued', 7)`,
  )
  expect(reported(found)).toEqual([
    expect.stringMatching(
      /^webhook deliveries: webhook delivery \d+: event \d+ says invoice.cancelled 7, should say \w+\.\w+ \d+$/,
    ),
    expect.stringMatching(
      /^webhook deliveries: webhook delivery \d+: event 999999999 says invoice.issued 7, should say nothing: there is no such event$/,
    ),
  ])
})
