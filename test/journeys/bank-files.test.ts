import { expect, test } from 'vitest'
import { account } from '../../src/features/batches/batches.testing.ts'
import { startTestService } from '../support/app.ts'
import { hasFixtures } from '../support/fixtures.ts'
import { hasXmllint, xmllint } from '../support/schemas.ts'
import { differencesOf } from '../support/shop.ts'
import { bankOf, collected, notification, report, returned, type Sent, statement } from './bank.testing.ts'
import { CREDITOR } from '../../src/features/gateways/creditor.testing.ts'

/**
 * A collection by file from mandate to the last return. What the bank answers is made from the file that was downloaded: its identifiers, amounts
 * and account alone are known to it.
 */

const service = await startTestService()

const AMOUNTS = ['115.00', '40.50', '10.00', '230.00', '0.01', '99.99']

/** Six payers and a batch of EUR 495.50 for Tuesday, 5 January 2027, which has left as a file. */
async function collection() {
  const shop = await account(service)
  const { client, must } = shop
  await must('post', '/v1/currencies', { CurrencyCode: 'EUR' })
  const gateway = await must('post', '/v1/gateways', { GatewayType: 'sepa-file', Settings: CREDITOR })
  const batch = { CurrencyCode: 'EUR', GatewayToken: gateway.GatewayToken, ActionDate: '2027-01-05' }
  const { BatchToken } = await must('post', '/v1/batches', batch)
  const lines: { customerID: number; paymentID: number; invoiceID: number; paymentMethodID: number }[] = []
  for (const [n, amount] of AMOUNTS.entries()) {
    const { customerID } = await must('post', '/v1/customers', { Name: `P${n}`, isCompany: true, CurrencyCode: 'EUR' })
    const BankAccount = {
      Method: 'sepa',
      AccountType: 'Current',
      AccountHolder: `Payer ${n}`,
      Bank: 'A bank',
      IBAN: 'NL91ABNA0417164300',
      BIC: 'ABNANL2A',
      MandateReference: `M-${n}`,
      MandateDate: '2026-12-01',
    }
    const { paymentMethodID } = await must('post', '/v1/paymentmethods/bankaccount', {
      customerID,
      isPrimary: true,
      BankAccount,
    })
    const Charges = [{ UnitCostEx: Number(amount) }]
    const { invoiceID } = await must('post', '/v1/invoices', { customerID, CurrencyCode: 'EUR', Charges })
    const PaymentApplied = [{ invoiceID, amount: Number(amount) }]
    const line = { BatchToken, customerID, paymentMethodID, Amount: Number(amount), PaymentApplied }
    const { paymentID } = await must('post', '/v1/batches/payments', line)
    lines.push({ customerID, paymentID, invoiceID, paymentMethodID })
  }
  await must('put', '/v1/batches/submit', { BatchToken, ActionDate: batch.ActionDate })
  await shop.build()
  const { text: file } = await client.get(`/v1/batches/${BatchToken}/file`)

  const send = async (body: string) => {
    const path = `/v1/resultfiles?gatewayID=${gateway.gatewayID}`
    const {
      status,
      body: answer,
      text,
    } = await client.request('POST', path, body, { 'content-type': 'application/xml' })
    expect(status, text).toBe(201)
    const { Matched, Applied, AlreadyKnown, Unmatched, resultFileID } = answer
    const { Lines } = (await client.get(`/v1/resultfiles/${resultFileID}`)).body
    return { counts: [Matched, Applied, AlreadyKnown, Unmatched], Lines, resultFileID }
  }
  /** Outcomes of the lines, as their invoices and attempts show them. */
  const outcomes = () =>
    Promise.all(
      lines.map(async ({ invoiceID }) => {
        const { Status } = (await client.get(`/v1/invoices/${invoiceID}`)).body
        const { Outcome, Class } = (await client.get(`/v1/invoices/${invoiceID}/attempts`)).body[0]
        return [Status, Outcome, Class].filter((word) => word !== null).join(' ')
      }),
    )
  /** Cents by outcome. They always come to what was submitted. */
  const sums = async () => {
    const cents: Record<string, number> = {}
    for (const [n, outcome] of (await outcomes()).entries()) {
      const [, word = ''] = outcome.split(/(?<=Pending|Paid|Unpaid|Past Due) /)
      const name = word.replace(/ .*/, '')
      cents[name] = (cents[name] ?? 0) + Math.round(Number(AMOUNTS[n]) * 100)
    }
    expect(Object.values(cents).reduce((sum, some) => sum + some, 0)).toBe(49_550)
    return cents
  }
  return { ...shop, BatchToken, gateway, lines, file, send, outcomes, sums }
}

test('a file is answered by report, notification and statement: rejected, never sent, settled, returned with a fee, by mandate and twice', async () => {
  const { client, must, move, state, BatchToken, gateway, lines, file, send, outcomes, sums } = await collection()
  const bank = bankOf(file)
  expect([bank.count, bank.sum, bank.iban]).toEqual(['6', '495.50', CREDITOR.CreditorIBAN])
  expect(bank.sent.map(({ amount }) => amount)).toEqual(AMOUNTS)
  const [, rejected, poor, late, , good] = bank.sent as [Sent, Sent, Sent, Sent, Sent, Sent]
  expect(await outcomes()).toEqual(Array(6).fill('Pending pending'))
  expect(await sums()).toEqual({ pending: 49_550 })

  // Tuesday: the bank rejects one; another was taken out of the file at the bank's counter, which only a person knows.
  await move('2027-01-05')
  const pain = report(bank, rejected, 'AC04', good)
  expect((await send(pain)).counts).toEqual([2, 1, 0, 0])
  const never = { paymentID: lines[4]!.paymentID, Success: false, Reason: 'not_sent' }
  await must('put', `/v1/batches/${BatchToken}/results`, { Results: [never] })
  expect(await sums()).toEqual({ pending: 45_499, declined: 4_050, not_sent: 1 })
  expect(await state(BatchToken)).toBe('submitted')

  // Thursday: one amount for all that has not failed, 495.50 - 40.50 - 0.01.
  await move('2027-01-07')
  const wrong = notification(bank, [collected(bank, '495.50', '2027-01-06')], 'N0')
  expect((await send(wrong)).counts).toEqual([0, 0, 0, 1])
  const right = collected(bank, '454.99', '2027-01-06')
  expect((await send(notification(bank, [{ ...right, reference: 'COLL-2' }], 'N1'))).counts).toEqual([1, 1, 0, 0])
  expect(await state(BatchToken)).toBe('completed')
  expect(await sums()).toEqual({ succeeded: 45_499, declined: 4_050, not_sent: 1 })

  // Friday: 10.00 comes back with a fee of 3.00, at noon as a notification and at night in the statement, with the settlement.
  await move('2027-01-08')
  const withFee = returned(poor, 'AM04', '2027-01-08', { amount: '13.00' })
  const noon = await send(notification(bank, [withFee], 'N2'))
  expect(noon.counts).toEqual([1, 1, 0, 1])
  expect(noon.Lines).toMatchObject([{ Kind: 'other', Amount: 3, Code: 'CHRG', paymentID: lines[2]!.paymentID }])
  const night = statement(bank, [{ ...right, reference: 'COLL-2' }, withFee], 'S1')
  expect((await send(night)).counts).toEqual([0, 0, 2, 0])

  // In March one is claimed back; the bank names the mandate alone, so a person looks at it.
  await move('2027-03-01')
  const claimed = returned(late, 'MD06', '2027-03-01', { mandateOnly: true })
  const { Lines, resultFileID } = await send(statement(bank, [claimed], 'S2'))
  expect(Lines).toMatchObject([{ Kind: 'return', Amount: 230, Code: 'MD06', paymentID: lines[3]!.paymentID }])
  expect(await sums()).toMatchObject({ succeeded: 44_499 })
  const line = `/v1/resultfiles/${resultFileID}/lines/${Lines[0].lineID}`
  await must('put', line, { paymentID: Lines[0].paymentID })
  expect((await client.put(line, { paymentID: Lines[0].paymentID })).status).toBe(409)

  expect(await outcomes()).toEqual([
    'Paid succeeded',
    'Past Due declined account_closed',
    'Past Due returned insufficient_funds',
    'Past Due returned refunded_late',
    'Past Due not_sent not_sent',
    'Paid succeeded',
  ])
  expect(await sums()).toEqual({ succeeded: 21_499, returned: 24_000, declined: 4_050, not_sent: 1 })
  const days = await Promise.all(
    lines.slice(2, 4).map(async ({ customerID }) => {
      const entries = (await client.get(`/v1/ledger/entries?customerID=${customerID}`)).body
      return entries.find(({ Event }: { Event: string }) => Event === 'payment_returned').Date.slice(0, 10)
    }),
  )
  expect(days).toEqual(['2027-01-08', '2027-03-01'])
  const valid = await Promise.all(
    lines.map(async (one) => (await client.get(`/v1/paymentmethods/${one.paymentMethodID}`)).body.isValid),
  )
  // A closed account is rejected, a successful debit verifies, what never left says nothing.
  expect(valid).toEqual([true, false, true, true, false, true])

  // Money for the debit that was rejected is no success of it, and it can be collected again only with an account that is not closed.
  const again = { ...returned(rejected, '', '2027-03-01'), isCredit: true, reference: 'LATE' }
  const plain = { ...again, details: again.details.replace(/<RtrInf>.*<\/RtrInf>/, '') }
  const contradiction = await send(statement(bank, [plain], 'S3'))
  expect(contradiction.Lines).toMatchObject([{ Kind: 'credit', Amount: 40.5, State: 'open' }])
  const next = { CurrencyCode: 'EUR', GatewayToken: gateway.GatewayToken, ActionDate: '2027-03-04' }
  const { BatchToken: nextToken } = await must('post', '/v1/batches', next)
  const { customerID, paymentMethodID, invoiceID } = lines[1]!
  const retry = { BatchToken: nextToken, customerID, paymentMethodID, Amount: 40.5 }
  const refused = await client.post('/v1/batches/payments', { ...retry, PaymentApplied: [{ invoiceID, amount: 40.5 }] })
  expect([refused.status, refused.text]).toEqual([409, expect.stringContaining('"payment_method_rejected"')])
  const { customerID: payer, paymentMethodID: usable, invoiceID: open } = lines[2]!
  const second = { ...retry, customerID: payer, paymentMethodID: usable, Amount: 10 }
  await must('post', '/v1/batches/payments', { ...second, PaymentApplied: [{ invoiceID: open, amount: 10 }] })

  expect(await differencesOf(service, client)).toEqual([])
})

test.skipIf(!hasXmllint || !hasFixtures)(
  'what the bank answers here is valid by the official schemas (needs libxml2-utils and ../shared/fixtures)',
  async () => {
    const bank = bankOf((await collection()).file)
    const [one, two] = bank.sent as [Sent, Sent]
    const entries = [collected(bank, '454.99', '2027-01-06'), returned(one, 'AM04', '2027-01-08', { amount: '118.00' })]
    expect(xmllint('pain.002.001.13', report(bank, one, 'AC04', two))).toBe('')
    expect(xmllint('camt.054.001.08', notification(bank, entries, 'N'))).toBe('')
    expect(xmllint('camt.053.001.02', statement(bank, entries, 'S'))).toBe('')
  },
)
