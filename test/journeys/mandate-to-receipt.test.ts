import { expect, test } from 'vitest'
import { SEPA } from '../../src/features/emandates/emandates.testing.ts'
import { CREDITOR } from '../../src/features/gateways/creditor.testing.ts'
import { fieldsOf, open, ORIGIN, press } from '../../src/features/invoice-pages/pages.testing.ts'
import { startMailing, startMailServer } from '../../src/features/mailing/mailing.testing.ts'
import { differencesOf, moveTo } from '../support/shop.ts'
import { bankOf, collected, returned, statement } from './bank.testing.ts'

/**
 * From the mandate to the receipt, as its people see it: the customer signs on a page, gets their mails from a real mail server and pays on the page
 * that one of them links; the firm uses the interface; the bank knows its file alone.
 */

const server = await startMailServer()
const { service, work, sender } = await startMailing(server, { publicUrl: ORIGIN })

/** The firm's account is not that of its customer. */
const FIRM = { ...CREDITOR, CreditorName: 'Acme & Sons', CreditorIBAN: 'DE75512108001245126199' }

/** Monday, 4 January 2027. */
const MONDAY = '2027-01-04T08:00:00.000Z'

async function firm() {
  const client = await sender({ clockAt: MONDAY })
  const must = async (method: 'post' | 'put', path: string, body: object) => {
    const reply = await client[method](path, body)
    expect(reply.status, `${path} ${reply.text}`).toBeLessThan(300)
    return reply.body
  }
  await must('post', '/v1/currencies', { CurrencyCode: 'EUR' })
  await must('post', '/v1/tax', { Name: 'VAT', rules: [{ Perc: 0.19 }] })
  const bank = { GatewayType: 'sepa-file', FriendlyName: 'Bank', isPrimary: true, Settings: FIRM }
  const { gatewayID } = await must('post', '/v1/gateways', bank)
  const get = async (path: string) => (await client.get(path)).body
  /** Sends what waits, what a move of the clock wrote too, and returns the mails that arrived since. */
  const arrived = async () => {
    const known = server.arrived.length
    for (const { outboxID, Status } of await get('/v1/outbox?page_size=100'))
      if (Status === 'Held') await must('put', `/v1/outbox/${outboxID}/send`, {})
    await work()
    return server.arrived.slice(known).map(({ mail }) => mail)
  }
  return { client, must, get, gatewayID, arrived }
}
type Firm = Awaited<ReturnType<typeof firm>>

/** Signs an eMandate on its page, and makes a customer who is debited by it and has a card besides. */
async function customerOf({ must, get, arrived }: Firm) {
  const { Token, Url } = await must('post', '/v1/emandate', SEPA)
  const path = new URL(Url).pathname
  const page = await open(service, path)
  expect(page.seen).toContain('SEPA Direct Debit mandate')
  expect(page.seen).toContain(FIRM.CreditorIdentifier)
  const shown = /name="shown" value="([0-9a-f]{64})"/.exec(page.text)?.[1] ?? ''
  const signature = { decision: 'sign', consent: 'yes', signature: 'Ada Lovelace', drawing: '', shown }
  expect((await press(service, path, signature)).status).toBe(200)
  expect((await get(`/v1/emandate?Token=${Token}`)).MandateState).toBe('signed')
  expect((await arrived()).map(({ subject }) => subject)).toEqual([expect.stringMatching(/mandate/i)])
  const { customerID } = await must('post', '/v1/customers', {
    Name: 'Ada',
    LastName: 'Lovelace',
    Email: 'ada@example.org',
    CurrencyCode: 'EUR',
    PaymentMethod: 'bank_account',
    PaymentTermDays: 0,
    autoSendInvoice: true,
  })
  const BankAccount = {
    Method: 'sepa',
    AccountType: 'Current',
    AccountHolder: 'Ada Lovelace',
    Bank: 'Commerzbank',
    IBAN: 'DE89370400440532013000',
    BIC: 'COBADEFFXXX',
    EMandateToken: Token,
  }
  const linked = await must('post', '/v1/paymentmethods/bankaccount', { customerID, isPrimary: true, BankAccount })
  const names = { NameOnCard: 'Ada', LastNameOnCard: 'Lovelace' }
  const CreditCard = { Number: '4242424242424242', CardType: 'Visa', ExpiryMonth: 12, ExpiryYear: 2030, ...names }
  await must('post', '/v1/paymentmethods/creditcard', { customerID, isPrimary: false, CreditCard })
  return { customerID, reference: linked.BankAccount.MandateReference as string }
}

test('a mandate signed on a page, an invoice by mail, its debit by file that comes back, and the card on the page that the mail links', async () => {
  const shop = await firm()
  const { client, must, get, gatewayID, arrived } = shop
  const { customerID, reference } = await customerOf(shop)

  // Three at 40.00 and one at 25.50 are 145.50; 19 % of 120.00 are 22.80, of 25.50 4.845, so 4.85: 173.15 in all.
  const Charges = [
    { Line: 'Engine hours', Qty: 3, UnitCostEx: 40 },
    { Line: 'Punched cards', Qty: 1, UnitCostEx: 25.5 },
  ]
  const { invoiceID, invoiceNum } = await must('post', '/v1/invoices', { customerID, CurrencyCode: 'EUR', Charges })
  const invoice = () => get(`/v1/invoices/${invoiceID}`)
  expect(await invoice()).toMatchObject({ Total: 173.15, Balance: 173.15, Status: 'Due' })
  const [issued, ...none] = await arrived()
  expect(none).toEqual([])
  expect(issued).toMatchObject({
    subject: `[TEST] Invoice ${invoiceNum} from Acme & Sons`,
    attachments: [{ filename: `Invoice-${invoiceNum}.pdf` }],
  })
  expect(issued?.text).toContain('173.15')

  // The notice is given 14 days before: the debit is on Monday, the 18th.
  await moveTo(client, '2027-01-04')
  expect(await invoice()).toMatchObject({ Status: 'Pending', NextTryDate: '2027-01-18T00:00:00Z' })
  const [notice] = await arrived()
  expect(notice?.text).toContain('January 18, 2027')
  expect(notice?.text).toContain(reference)
  await moveTo(client, '2027-01-14')
  const [{ BatchToken, PaymentsTotal }] = await get('/v1/batches')
  expect(PaymentsTotal).toBe('173.15')
  await must('put', '/v1/batches/submit', { BatchToken, ActionDate: '2027-01-18' })
  await moveTo(client, '2027-01-15')
  const { text: file } = await client.get(`/v1/batches/${BatchToken}/file`)
  const [{ paymentID }] = await get('/v1/payments')
  const bank = bankOf(file)
  const debit = { endToEnd: `P${client.id}-${paymentID}`, amount: '173.15', mandate: reference, debtor: 'Ada Lovelace' }
  expect(bank).toMatchObject({ count: '1', sum: '173.15', iban: FIRM.CreditorIBAN, sent: [debit] })
  for (const part of ['<ReqdColltnDt>2027-01-18', '<DtOfSgntr>2027-01-04', '<IBAN>DE89370400440532013000'])
    expect(file).toContain(part)

  // The bank books the collection on the 18th, and takes it back on the 20th.
  await moveTo(client, '2027-01-20')
  const booked = [collected(bank, '173.15', '2027-01-18'), returned(debit, 'AM04', '2027-01-20')]
  const path = `/v1/resultfiles?gatewayID=${gatewayID}`
  const answer = await client.request('POST', path, statement(bank, booked, 'S1'), {
    'content-type': 'application/xml',
  })
  expect([answer.status, answer.body]).toMatchObject([201, { Matched: 2, Applied: 2, Unmatched: 0 }])
  expect(await invoice()).toMatchObject({ Status: 'Past Due', Balance: 173.15, NumTries: 1 })
  await moveTo(client, '2027-01-20')
  const subjectOf = ({ subject }: { subject?: string }) => subject
  const told = await arrived()
  expect(told.map(subjectOf).sort()).toEqual([
    '[TEST] Acme & Sons will debit your bank account',
    '[TEST] Your payment to Acme & Sons did not go through',
  ])
  const [again, failed] = told.sort((a, b) => (a.subject ?? '').localeCompare(b.subject ?? ''))
  // The next step is wanted on the 23rd; its notice of 14 days makes it Wednesday, 3 February.
  expect(again?.text).toContain('February 3, 2027')
  expect(failed?.text).toContain('173.15')

  // The customer opens the page that the mail about the failure links, and pays by card instead.
  const link = new RegExp(`${ORIGIN}(/i/[\\w-]+)`).exec(failed?.text ?? '')?.[1] ?? ''
  const page = (await open(service, link)).seen
  expect(page).toContain('It will be debited on February 3, 2027 from the bank account ending in 3000.')
  expect(page).toContain('Pay €173.15 by card instead')
  const asked = await open(service, `${link}/pay`)
  expect(asked.seen).toContain('Visa •••• 4242')
  const paid = await press(service, `${link}/pay`, fieldsOf(asked.text))
  expect(paid.seen).toContain('✓ Paid')
  expect(await invoice()).toMatchObject({ Status: 'Paid', Balance: 0, NumTries: 2, NextTryDate: null })
  const [receipt, ...others] = await arrived()
  expect(others).toEqual([])
  expect(receipt?.text).toContain('173.15')
  expect(receipt?.subject).toMatch(/receipt|received/i)

  // Nothing comes after it: no try, no mail, no balance.
  await moveTo(client, '2027-03-01')
  expect(await arrived()).toEqual([])
  const payments = (await get('/v1/payments')).map(({ Date, Amount, Status, Method }: any) =>
    [Date.slice(0, 10), Amount, Status, Method].join(' '),
  )
  expect(payments).toEqual(['2027-01-18 173.15 Failed bank_account', '2027-01-20 173.15 Allocated credit_card'])
  expect((await get(`/v1/invoices/${invoiceID}/attempts`)).map(({ Outcome, Class }: any) => [Outcome, Class])).toEqual([
    ['returned', 'insufficient_funds'],
    ['succeeded', null],
  ])
  expect((await get(`/v1/customers/${customerID}/balances`))[0]).toMatchObject({
    Balance: 0,
    Unallocated: 0,
    Pending: 0,
  })
  expect(await differencesOf(service, client)).toEqual([])
})
