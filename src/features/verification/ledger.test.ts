import { beforeAll, describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { decimal } from '../../kernel/decimal.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { getAccount } from '../accounts/queries.ts'
import { takeLedgerMark } from '../ledger/mark-queries.ts'
import { sealLedger } from '../ledger/seal.ts'
import { invoiceOf, paymentOf } from '../money/money.testing.ts'
import type { NewPayment } from '../money/payment-queries.ts'
import { addPayment, failPayment, lockedPayment, settlePayment } from '../money/payments.ts'
import { differencesOf } from '../../../test/support/shop.ts'
import { netOf } from './entries.ts'
import type { PostedEntry } from '../ledger/group-by-facts-queries.ts'
import { tamperWith, reported } from './tamper.testing.ts'
import { verifyAccount } from '../../checks.ts'

/** The ledger follows from the documents and cannot be changed unseen: every way of tampering with money is found and named. */

const service = await startTestService()
let client: TestClient
const { superuser, tampered } = await tamperWith(service, () => client)
beforeAll(async () => {
  client = await busyBooks()
})

const contextAt = (now: string) => ({ moment: { now, today: now.slice(0, 10) }, actor: 'test' })

/** A payment that a gateway works on: begun, and settled or failed where an outcome is reported. */
const begin = (of: TestClient, customerID: number, invoiceID: number, outcome: 'settled' | 'failed' | null) =>
  service.db.transaction(of.id, async (tx) => {
    const account = await getAccount(tx, tx.account)
    const context = { account, ...contextAt('2027-01-20T10:00:00.000Z') } as unknown as RequestContext
    const wanted: NewPayment = {
      customerId: BigInt(customerID),
      paidAt: '2027-01-20T10:00:00.000Z',
      dated: '2027-01-20',
      currency: 'USD',
      amountMinor: 1000n,
      method: 'credit_card',
      origin: 'gateway',
      ref: null,
      memo: null,
    }
    const target = { kind: 'invoice' as const, id: BigInt(invoiceID) }
    const payment = await addPayment(tx, context, wanted, { list: [{ id: null, target, amountMinor: 1000n }] })
    if (outcome === null) return
    const begun = (await lockedPayment(tx, payment.id))!
    if (outcome === 'settled') await settlePayment(tx, context, begun, '2027-01-22')
    else await failPayment(tx, context, begun, { on: '2027-01-23', reason: 'declined' })
  })

/** Money of every kind, corrected, failed, deleted, and allocated while books were closed; sealed in the middle of it. */
async function busyBooks(): Promise<TestClient> {
  const of = await service.newAccount()
  await of.post('/v1/tax', { Name: 'VAT', rules: [{ Perc: 0.15, TaxNumber: 'T-1' }] })
  const customerID: number = (await of.post('/v1/customers', { Name: 'Acme', isCompany: true })).body.customerID
  const [first, second] = [await invoiceOf(of, customerID), await invoiceOf(of, customerID)]
  const cancelled = await invoiceOf(of, customerID)
  const made = async (path: string, body: object) => {
    const { status, body: answer, text } = await of.post(path, body)
    expect(status, text).toBe(201)
    return answer
  }
  const list = (...amounts: [number, number][]) =>
    amounts.map(([invoiceID, amountApplied]) => ({ invoiceID, amountApplied }))
  const pay = (amount: number, ...amounts: [number, number][]) =>
    made('/v1/payments', paymentOf(customerID, amount, { Allocations: list(...amounts) }))
  const edited = await pay(50, [first, 20])
  const path = `/v1/payments/${edited.paymentID}`
  expect(
    (await of.put(path, paymentOf(customerID, 60, { Date: '2027-01-03', Allocations: list([first, 25]) }))).status,
  ).toBe(204)
  const deleted = await pay(15, [second, 15])
  expect((await of.delete(`/v1/payments/${deleted.paymentID}`)).status).toBe(204)
  const bounced = await pay(30, [second, 30])
  expect(
    (await of.put(`/v1/payments/${bounced.paymentID}/fail`, { Date: '2027-01-01', Reason: 'bounced' })).status,
  ).toBe(204)
  const negative = (AdjustmentType: string, Amount: number, invoiceID: number) =>
    made('/v1/adjustment/add', {
      customerID,
      Type: 'negative',
      AdjustmentType,
      Amount,
      Date: '2027-01-02',
      Ref: `N${Amount}`,
      Allocations: [{ objectID: invoiceID, isAdjustment: false, amountApplied: Amount }],
    })
  await negative('credit_note', 7.77, first)
  await negative('credit_note', 3.33, first)
  await negative('bad_debt', 5, second)
  await made('/v1/adjustment/add', {
    customerID,
    Type: 'positive',
    AdjustmentType: 'interest',
    Amount: 4,
    Date: '2027-01-01',
    DueDate: '2027-01-31',
    Ref: 'I',
  })
  const seal = async (day: string) => {
    const below = await takeLedgerMark(service.db.unscoped)
    await sealLedger(service.db, of.id, { at: `${day}T02:00:00.000Z`, below, eventSeal: null })
  }
  for (const outcome of ['settled', 'failed', null] as const) await begin(of, customerID, second, outcome)
  await seal('2027-01-25')
  await of.put('/v1/clock', { Now: '2027-02-10' })
  await of.delete(`/v1/invoices/${cancelled}`)
  await seal('2027-02-10')
  const late = await pay(9)
  await of.put('/v1/account', { LockDate: '2027-01-31' })
  const closed = { ...paymentOf(customerID, 60, { Date: '2027-01-03' }), Allocations: list([first, 26]) }
  expect((await of.put(path, closed)).status).toBe(204)
  expect((await of.put(path, { ...closed, Allocations: [] })).status).toBe(204)
  await of.put('/v1/account', { LockDate: null })
  await of.put(`/v1/payments/${late.paymentID}`, paymentOf(customerID, 9, { Allocations: list([second, 9]) }))
  return of
}

test('busy books are clean, before their seal and after it', async () => {
  expect(reported(await differencesOf(service, client))).toEqual([])
  expect(await verifyAccount(service.db, client.id, () => {})).toMatchObject({ isChained: true })
  const { rows } = await superuser.query(
    `select distinct event || case when is_reversal then ' back' else '' end as event from ledger_rows where account_id = ${client.id}`,
  )
  expect(rows.length).toBeGreaterThanOrEqual(15)
})

const LAST = `(select max(entry_id) from ledger_rows where account_id = :account)`
const ofRecord = (type: string, event: string) =>
  `(select min(entry_id) from ledger_rows where account_id = :account and record_type = '${type}' and event = '${event}')`

describe('an entry', () => {
  test.each([
    [
      'amount',
      'amount_minor = amount_minor + 1',
      /^ledger entries: payment # of customer #: entry payment_recorded says/,
    ],
    ['day', 'dated = dated + 1', /^ledger entries: payment # .*entry payment_recorded/],
    [
      'currency',
      `currency = 'EUR'`,
      /^ledger entries: payment # .*EUR cash → unapplied on .*, should say .*USD cash → unapplied/,
    ],
    ['account', `debit = 'bad_debt'`, /^ledger entries: payment # .*bad_debt → unapplied/],
    ['customer', 'customer_id = customer_id + 1', /^ledger entries: payment # .*should say nothing/],
    ['record', 'record_id = 999999', /^ledger entries: payment # .*should say nothing/],
    ['event', `event = 'payment_begun'`, /^ledger entries: payment # .*entry payment_begun says/],
  ])('of another %s is named, and the chain no longer comes to its head', async (_, change, what) => {
    const entry = `(select max(entry_id) from ledger_rows where account_id = :account and event = 'payment_recorded' and not is_reversal)`
    const found = reported(
      await tampered(`update ledger_rows set ${change} where account_id = :account and entry_id = ${entry}`),
    )
    expect(found).toContainEqual(expect.stringMatching(what))
    expect(found).toContainEqual(
      expect.stringMatching(
        /^ledger chain: customer #: (hash|last link) of the ledger in USD says|^ledger chain: customer #: head/,
      ),
    )
  })

  test('that is deleted is missing of its record, of the totals and of the chain', async () => {
    const found = reported(
      await tampered(
        `delete from ledger_rows where account_id = :account and entry_id = ${ofRecord('invoice', 'invoice_issued')}`,
      ),
    )
    expect(found).toEqual([
      expect.stringMatching(/^customer totals: customer #: receivable by its ledger entries says/),
      'ledger entries: invoice # of customer #: entry invoice_issued says nothing, should say 100.00 USD receivable → revenue on 2027-01-01',
      expect.stringMatching(
        /^ledger chain: customer #: hash of the ledger in USD says [0-9a-f]{16}, should say [0-9a-f]{16}$/,
      ),
      expect.stringMatching(/^ledger chain: customer #: sealed hash of the ledger in USD says/),
    ])
  })

  test('that nobody posted, with totals and head made to fit, is still no document', async () => {
    const found = reported(
      await tampered(
        `insert into ledger_rows select account_id, entry_id + 1000, customer_id, link + 1, 999999, 100, posted_at, dated, false, currency, 'payment_recorded',
           'payment', 'cash', 'unapplied', null, null, null from ledger_rows where account_id = :account and entry_id = ${LAST}`,
        `update customer_totals set links = links + 1, unapplied_minor = unapplied_minor + 100 where account_id = :account`,
      ),
    )
    expect(found).toContain(
      'ledger entries: payment # of customer #: entry payment_recorded says 1.00 USD cash → unapplied on 2027-01-01, should say nothing',
    )
  })

  test.each([
    ['amount of nothing', 'amount_minor = 0'],
    ['one account on both sides', 'credit = debit'],
    ['account that is not known', `credit = 'pocket'`],
    ['event that is not known', `event = 'gift'`],
    ['record that is not known', `record_type = 'gift'`],
  ])('with an %s does not balance', async (_, change) => {
    const found = reported(
      await tampered(
        'alter table ledger_rows drop constraint ledger_rows_check, drop constraint ledger_rows_amount_minor_check',
        `update ledger_rows set ${change} where account_id = :account and entry_id = ${ofRecord('payment', 'payment_recorded')}`,
      ),
    )
    expect(found).toContainEqual(
      expect.stringMatching(
        /^ledger balance: ledger entry # of customer #: entry .*should say an amount above 0 from one account/,
      ),
    )
  })
})

describe('a document', () => {
  test.each([
    ['invoice', 'invoices', 'invoice_date = invoice_date + 1', /^ledger entries: invoice #.*entry invoice_issued/],
    [
      'cancelled invoice',
      'invoices',
      `cancelled_on = cancelled_on + 1`,
      /^ledger entries: invoice #.*entry invoice_cancelled/,
    ],
    ['payment', 'payments', 'dated = dated + 1', /^ledger entries: payment #.*entry payment_/],
    ['settled payment', 'payments', 'settled_on = settled_on + 1', /^ledger entries: payment #.*entry payment_settled/],
    [
      'failed payment',
      'payments',
      'failed_on = failed_on + 1',
      /^ledger entries: payment #.*entry payment_(failed|returned)/,
    ],
    [
      'credit note',
      'negative_adjustments',
      'dated = dated + 1',
      /^ledger entries: negative adjustment #.*entry credit_note_made/,
    ],
    [
      'bad debt',
      'negative_adjustments',
      `kind = 'credit_note', ref = ref || 'x'`,
      /^ledger entries: negative adjustment #.*entry bad_debt_written_off .*should say nothing/,
    ],
    [
      'interest',
      'positive_adjustments',
      'amount_minor = amount_minor + 1',
      /^ledger entries: positive adjustment #.*entry interest_charged says 4.00 USD/,
    ],
    ['allocation', 'allocations', 'dated = dated + 1', /^ledger entries: allocation #.*entry allocation_made/],
    [
      'ended allocation',
      'allocations',
      'ended_on = ended_on + 1',
      /^ledger entries: allocation #.*entry allocation_ended/,
    ],
    [
      'settled tax',
      'settlement_taxes',
      'amount_minor = amount_minor + 100',
      /^ledger entries: settlement #.*entry tax_taken_back of VAT at 0.15 \(T-1\) says/,
    ],
    [
      'day of a settled tax',
      'settlement_taxes',
      'dated = dated + 1',
      /^ledger entries: settlement #.*entry tax_taken_back of VAT at 0.15 \(T-1\) says/,
    ],
    [
      'settled tax that is old',
      'settlements',
      'is_old = true, settled_before_minor = null, old_allocation_id = 99',
      /^ledger entries: settlement #.*entry tax_taken_back of VAT at 0.15 \(T-1\) says .*, should say nothing/,
    ],
    [
      'tax',
      'invoice_tax_rows',
      'amount_minor = amount_minor + 1',
      /^ledger entries: invoice #.*entry invoice_issued of VAT at 0.15 \(T-1\) says/,
    ],
  ])('%s that was changed is not what was posted', async (_, table, change, what) => {
    expect(reported(await tampered(`update ${table} set ${change} where account_id = :account`))).toContainEqual(
      expect.stringMatching(what),
    )
  })

  test.each([
    ['invoice', 'invoices', 'invoice'],
    ['payment', 'payments', 'payment'],
    ['credit note', 'negative_adjustments', 'negative adjustment'],
    ['positive adjustment', 'positive_adjustments', 'positive adjustment'],
    ['allocation', 'allocations', 'allocation'],
    ['settlement', 'settlements', 'settlement'],
  ])('%s that is gone leaves entries of nothing', async (_, table, word) => {
    expect(reported(await tampered(`delete from ${table} where account_id = :account`))).toContainEqual(
      expect.stringMatching(new RegExp(`^ledger entries: ${word} # of customer #: entry .*, should say nothing$`)),
    )
  })

  test.each([
    ['invoice', `entry invoice_issued says nothing, should say 100.00 USD receivable → revenue on 2027-01-01`],
    ['payment', `entry payment_begun says nothing, should say 10.00 USD clearing → unapplied on 2027-01-20`],
    [
      'negative_adjustment',
      `entry bad_debt_written_off says nothing, should say 5.00 USD bad_debt → unapplied on 2027-01-02`,
    ],
    [
      'positive_adjustment',
      `entry interest_charged says nothing, should say 4.00 USD receivable → interest on 2027-01-01`,
    ],
    ['allocation', `entry allocation_made says nothing, should say 7.77 USD unapplied → receivable on 2027-01-02`],
    [
      'settlement',
      `entry tax_taken_back of VAT at 0.15 (T-1) says nothing, should say 1.01 USD tax → revenue on 2027-01-02`,
    ],
  ])('of type %s without any entry is named', async (type, what) => {
    const found = reported(
      await tampered(`delete from ledger_rows where account_id = :account and record_type = '${type}'`),
    )
    expect(found.join('\n')).toContain(what)
  })
})

test('money held without a refund, and a payment that waits for a gateway which nobody asks, are named', async () => {
  const held = reported(
    await tampered('update payments set held_minor = 1 where account_id = :account and applied_minor < amount_minor'),
  )
  expect(held).toContain(
    'payments: payment # of customer #: what is held for refunds says 0.01 USD, should say 0.00 USD',
  )
  const waiting = reported(
    await tampered(
      `update payments set gateway_id = 1, charge_id = payment_id
        where account_id = :account and origin = 'gateway' and settled_on is null and failed_on is null`,
    ),
  )
  expect(waiting).toEqual([
    'payments: payment # of customer #: its outcome says pending, should say known, for no try or line of it is open',
  ])
})

describe('sums', () => {
  test.each([
    ['payments', 'applied_minor = applied_minor - 1', /^payments: payment # .*what is allocated of it says/],
    [
      'negative_adjustments',
      'applied_minor = applied_minor - 1',
      /^credit notes: credit note # .*what is allocated of it says/,
    ],
    ['positive_adjustments', 'paid_minor = 1', /^positive adjustments: .*payments says 0.01 USD, should say 0.00 USD/],
    ['positive_adjustments', 'pending_minor = 1', /^positive adjustments: .*pending payments says 0.01 USD/],
    ['positive_adjustments', 'negative_minor = 1', /^positive adjustments: .*negative adjustments says 0.01 USD/],
    [
      'invoices',
      'pending_minor = pending_minor - 1, paid_minor = paid_minor + 1',
      /^invoices: invoice # .*pending payments says/,
    ],
    ['invoices', 'credited_minor = credited_minor + 1', /^invoices: invoice # .*what is credited of it says/],
    ['invoices', 'written_off_minor = written_off_minor + 1', /^invoices: invoice # .*bad debt says/],
    [
      'customer_totals',
      'clearing_minor = 0',
      /^customer totals: customer #: clearing says 0.00 USD, should say 10.00 USD/,
    ],
    [
      'allocations',
      `dated = '2020-01-01'`,
      /^allocations: allocation # .*day says 2020-01-01, should say 2027-01-.* or later/,
    ],
  ])('of %s are what allocations say (%s)', async (table, change, what) => {
    const found = reported(
      await tampered(
        `update ${table} set ${change} where account_id = :account ${table === 'payments' ? 'and applied_minor > 0' : ''}`,
      ),
    )
    expect(found).toContainEqual(expect.stringMatching(what))
  })

  test.each([
    ['a tax', 'update settlement_taxes set amount_minor = amount_minor + 1', /settlement #.*: tax VAT at 0.15 says/],
    ['the gross', 'update settlements set gross_minor = gross_minor + 100', /settlement #.*: tax VAT at 0.15 says/],
    ['what was settled before', 'update settlements set settled_before_minor = 333', /settlement #.*: tax VAT at/],
    ['the tax before', 'update settlement_taxes set settled_before_minor = 1', /settlement #.*: tax VAT at 0.15 says/],
    [
      'the basis',
      `update settlements set basis = 'given_back'`,
      /settlement #.*: basis says given_back, should say amount/,
    ],
    [
      'more than the note',
      'update settlements set gross_minor = 100000',
      /credit note #.*what is settled of it says 1000.00/,
    ],
    ['more than the invoice', 'update settlements set gross_minor = 100000', /invoice #.*what is settled of it says/],
    ['another customer', 'update settlements set customer_id = customer_id + 1', /settlement #.*: customer says \d/],
    ['a tax that is gone', 'delete from settlement_taxes', /settlement #.*: taxes says 0, should say 1/],
    [
      'the number of a tax',
      `update settlement_taxes set tax_number = 'T-2'`,
      /settlement #.*: tax VAT at 0.15 says .*\(T-2\), should say .*\(T-1\)/,
    ],
    [
      'an invoice that is owed no longer',
      `update invoices set cancelled_at = now(), cancelled_on = '2027-01-20'`,
      /settlement #.*: invoice says \d+, should say one that is issued and not cancelled/,
    ],
  ])('a settlement follows from its facts: %s', async (_, statement, what) => {
    expect(reported(await tampered(`${statement} where account_id = :account`))).toContainEqual(
      expect.stringMatching(new RegExp(`^settlements: ${what.source}`)),
    )
  })

  test('more tax than the invoice had is never taken back', async () => {
    const found = reported(
      await tampered(
        `update ledger_rows set amount_minor = 100000 where account_id = :account and event = 'tax_taken_back' and not is_reversal`,
      ),
    )
    expect(found).toContainEqual(
      expect.stringMatching(/^credited charges: invoice # .*tax VAT taken back by credit notes says/),
    )
  })

  test('a number of credit notes is given once', async () => {
    const found = reported(
      await tampered(
        'drop index negative_adjustments_number_key',
        `update negative_adjustments set ref = 'n7.77' where account_id = :account and ref = 'N3.33'`,
      ),
    )
    expect(found).toContainEqual(
      expect.stringMatching(
        /^credit note numbers: credit note # .*number says n7.77, should say another, for credit note # has it/,
      ),
    )
  })
})

describe('the chain', () => {
  const lastLink = `(select max(link) from ledger_rows where account_id = :account)`

  test('tells that its newest link was cut off', async () => {
    const found = reported(await tampered(`delete from ledger_rows where account_id = :account and link = ${lastLink}`))
    expect(found).toContainEqual(
      expect.stringMatching(/^ledger chain: customer #: last link of the ledger in USD says \d+, should say \d+$/),
    )
  })

  test('tells by the seal that its newest links were cut off together with the head', async () => {
    const found = reported(
      await tampered(
        `delete from ledger_rows where account_id = :account and link >= (select sealed_links from customer_totals where account_id = :account)`,
        `update customer_totals set links = sealed_links - 1 where account_id = :account`,
      ),
    )
    expect(found).toContainEqual(
      expect.stringMatching(
        /^ledger chain: customer #: last link of the ledger in USD says \d+, should say \d+ or more, for so many are sealed$/,
      ),
    )
  })

  test('tells that an instant of posting was changed', async () => {
    const change = (where: string) =>
      `update ledger_rows set posted_at = posted_at + interval '1 hour' where account_id = :account and ${where}`
    expect(reported(await tampered(change('true')))).toContainEqual(
      expect.stringMatching(/^ledger chain: customer #: hash of/),
    )
    expect(reported(await tampered(change(`entry_id = ${ofRecord('invoice', 'invoice_issued')} + 1`)))).toEqual([
      expect.stringMatching(
        /^ledger chain: ledger entry # of customer #: instant of posting says .*01:00:00.000Z, should say .*00:00:00.000Z, that of its link$/,
      ),
    ])
  })

  test('tells a link that is missing between others', async () => {
    const found = reported(
      await tampered(`update ledger_rows set link = link + 1 where account_id = :account and link > 3`),
    )
    expect(found).toContainEqual(
      expect.stringMatching(/^ledger chain: ledger entry # of customer #: link in USD says 5, should say 4$/),
    )
  })

  test.each([
    ['head', `head = sha256('x')`, /hash of the ledger in USD says/],
    ['sealed head', `sealed_head = sha256('x')`, /sealed hash of the ledger in USD says/],
  ])('tells that its %s was changed', async (_, change, what) => {
    expect(reported(await tampered(`update customer_totals set ${change} where account_id = :account`))).toContainEqual(
      expect.stringMatching(what),
    )
  })

  test('tells entries of a customer that has no totals', async () => {
    expect(reported(await tampered(`delete from customer_totals where account_id = :account`))).toContainEqual(
      expect.stringMatching(/^ledger chain: customer #: head of the chain in USD says none, should say [0-9a-f]{16}$/),
    )
  })
})

describe('the seal', () => {
  test.each([
    ['sealed head that was moved', `update customer_totals set sealed_links = 1 where account_id = :account`],
    ['seal that was changed', `update ledger_seals set seal = sha256('x') where account_id = :account`],
    ['number of chains that was changed', `update ledger_seals set heads = 7 where account_id = :account`],
    [
      'seal that is gone',
      `delete from ledger_seals where account_id = :account and ledger_seal_id = (select max(ledger_seal_id) from ledger_seals)`,
    ],
  ])('tells of a %s', async (_, statement) => {
    expect(reported(await tampered(statement))).toContainEqual(
      expect.stringMatching(
        /^ledger chain: ledger seal #: newest seal says [0-9a-f]{16} of \d chains and 0 batches, should say [0-9a-f]{16} of 1 and 0$/,
      ),
    )
  })

  test('tells that there is none where chains are sealed', async () => {
    expect(reported(await tampered(`delete from ledger_seals where account_id = :account`))).toEqual([
      'ledger chain: ledger seal #: newest seal says none, should say one of 1 chains',
    ])
  })
})

const entry = (id: number, more: Partial<PostedEntry> = {}): PostedEntry => ({
  id: BigInt(id),
  customerId: 1n,
  currency: 'USD',
  recordType: 'allocation',
  recordId: 1n,
  event: 'allocation_made',
  isReversal: false,
  debit: 'unapplied',
  credit: 'receivable',
  taxName: null,
  taxRate: null,
  taxNumber: null,
  amountMinor: 100n,
  dated: '2027-01-01',
  ...more,
})
const reversal = (id: number, more: Partial<PostedEntry> = {}) =>
  entry(id, { isReversal: true, debit: 'receivable', credit: 'unapplied', ...more })

describe('a reversal', () => {
  const netIds = (entries: PostedEntry[]) => netOf(entries).map(({ id }) => Number(id))

  test('meets the entry that it takes back, whatever order they are given in', () => {
    expect(netIds([reversal(2), entry(1), entry(3)])).toEqual([3])
    expect(netIds([entry(1), entry(2), reversal(3)])).toEqual([1])
  })

  test('of an allocation or of a pending payment may be of a later day, where books were closed; of any other record it is of the same day', () => {
    expect(netIds([entry(1), reversal(2, { dated: '2027-02-01' })])).toEqual([])
    expect(netIds([entry(1, { dated: '2027-03-01' }), reversal(2, { dated: '2027-02-01' })])).toEqual([1, 2])
    const payment = { recordType: 'payment' } as const
    expect(netIds([entry(1, payment), reversal(2, { ...payment, dated: '2027-02-01' })])).toEqual([1, 2])
    const pending = { ...payment, event: 'payment_begun' } as const
    expect(netIds([entry(1, pending), reversal(2, { ...pending, dated: '2027-02-01' })])).toEqual([])
    const recorded = { ...payment, event: 'payment_recorded' } as const
    expect(netIds([entry(1, recorded), reversal(2, { ...recorded, dated: '2027-02-01' })])).toEqual([1, 2])
  })

  test.each([
    ['amount', { amountMinor: 99n }],
    ['currency', { currency: 'EUR' }],
    ['event', { event: 'tax_taken_back' }],
    ['side', { debit: 'unapplied', credit: 'receivable' }],
    ['tax', { taxName: 'VAT', taxRate: decimal('0.15') }],
  ])('of another %s takes nothing back, nor one that came before', (_, more) => {
    expect(netIds([entry(1), reversal(2, more)])).toEqual([1, 2])
    expect(netIds([reversal(1), entry(2)])).toEqual([1, 2])
  })
})
