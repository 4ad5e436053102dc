import fc from 'fast-check'
import { expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { moveTo, subscribe } from '../../../test/support/shop.ts'
import { customerNameOf } from '../../kernel/customer-name.ts'
import { localeOfAccount } from '../../platform/locale/format.ts'
import { sql } from '../../platform/database/sql.ts'
import { invoiceMail } from './invoice-template.ts'
import { attachmentMarksOf, markOf } from './links.ts'
import { findMail } from './queries.ts'
import { type Rendered, oneLine } from './templates.ts'

/** A mail with an invoice is composed when it is read. It says what it would have said when it was queued, to the byte, whatever is changed in between. */

const service = await startTestService()

const NAMES = fc.oneof(
  fc.constantFrom(
    'Acme & Söhne',
    'A "quoted" \\ name',
    '<b>Ltd</b>',
    'Łódź 株式会社',
    'two  parts',
    'Turned \u202e around',
    "{},'null'",
  ),
  fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
    .filter((name) => name.trim() !== '' && !/[\p{Cc}\p{Cs}]/u.test(name)),
)
const LOCALES = fc.constantFrom('en', 'de', 'en-GB', 'de-AT', 'en-ZA', 'fr', 'de-CH')
const ACCOUNTS = fc.record({
  Name: NAMES,
  Colour: fc.constantFrom(null, '#7a1f5c', '#ffffff', '#000000'),
  Country: fc.constantFrom('South Africa', 'Germany', 'United States', 'Nowhere'),
  Locale: LOCALES,
})
const CUSTOMERS = fc.record({
  Name: NAMES,
  LastName: NAMES,
  isCompany: fc.boolean(),
  Email: fc.constantFrom('ap@example.com', "o'neil+x@example.com"),
  EmailCC: fc.constantFrom(null, 'copy@example.com'),
  Locale: fc.oneof(fc.constant(null), LOCALES),
  PaymentTermDays: fc.constantFrom(0, 14, 365),
})
const WORLDS = fc.record({
  account: ACCOUNTS,
  customer: CUSTOMERS,
  currency: fc.constantFrom('USD', 'EUR', 'JPY'),
  price: fc.constantFrom(31, 1, 123_456),
  paid: fc.constantFrom(0, 0, 1, 10_000_000),
  after: fc.tuple(ACCOUNTS, CUSTOMERS),
})
type World = typeof WORLDS extends fc.Arbitrary<infer W> ? W : never

const accepted = async (reply: Promise<{ status: number; text: string }>) => {
  const { status, text } = await reply
  expect(status, text).toBeLessThan(300)
}

/** Returns the mail as it is when it is composed now, of what the interface answers. */
async function composedNow(client: TestClient, invoiceID: number, messageId: string): Promise<Rendered> {
  const invoice = (await client.get(`/v1/invoices/${invoiceID}`)).body
  const customer = (await client.get(`/v1/customers/${invoice.customerID}`)).body
  const account = (await client.get('/v1/account')).body
  const places = { JPY: 0 }[invoice.CurrencyCode as string] ?? 2
  const minor = (amount: number) => BigInt(Math.round(amount * 10 ** places))
  const { subject, ...texts } = invoiceMail({
    accountName: account.Name,
    colour: account.Colour,
    locale: localeOfAccount(customer.Locale ?? account.Locale, account.Country),
    link: markOf(messageId, { kind: 'i', record: BigInt(invoiceID), counter: 0 }),
    attachment: attachmentMarksOf(messageId),
    customerName: customerNameOf({ ...customer, name: customer.Name, lastName: customer.LastName }),
    number: BigInt(invoice.invoiceNum),
    invoiceDate: invoice.InvoiceDate.slice(0, 10),
    dueDate: invoice.DueDate.slice(0, 10),
    currency: invoice.CurrencyCode,
    totalMinor: minor(invoice.Total),
    balanceMinor: minor(invoice.Balance),
  })
  return { ...texts, subject: oneLine(subject) }
}

/** All mails of an account as they are stored: marks in the places of links. */
async function mailsOf({ id }: TestClient) {
  const db = service.db.reader(id)
  const rows = await db.rows<{ id: bigint; invoiceId: bigint; isComposed: boolean }>(sql`
    select outbox_id as "id", document_id as "invoiceId", text_body is not null as "isComposed" from outbox
     where account_id = ${id} and template = 'invoice' order by outbox_id`)
  return Promise.all(rows.map(async (row) => ({ ...row, ...(await findMail(db, id, row.id))! })))
}

const textsOf = ({ subject, text, html }: Rendered) => ({ subject, text, html })

/** Changes all that the mail was about: who writes, who is written to, and what is left to pay. */
async function changeAll(client: TestClient, customerID: number, { currency, after: [account, customer] }: World) {
  await accepted(client.put('/v1/account', account))
  const { body } = await client.get(`/v1/customers/${customerID}`)
  await accepted(client.put(`/v1/customers/${customerID}`, { ...body, ...customer, Email: 'new@example.com' }))
  const { body: invoices } = await client.get(`/v1/customers/${customerID}/invoices`)
  const payment = { customerID, Amount: 3, CurrencyCode: currency, Date: '2027-02-01', Method: 'eft', allocations: [] }
  await accepted(client.post('/v1/payments', payment))
  for (const { invoiceID } of invoices) await accepted(client.delete(`/v1/invoices/${invoiceID}/link`))
}

test('a mail with an invoice says what it would have said when it was queued, whatever is changed before it is read', async () => {
  const property = fc.asyncProperty(WORLDS, async (world) => {
    const client = await service.newAccount({ clockAt: '2027-01-01T08:00:00.000Z' })
    await accepted(client.put('/v1/account', world.account))
    const rate = { price: world.price, currency: world.currency }
    const made = await subscribe(
      client,
      rate,
      { StartDate: '2027-01-05' },
      { ...world.customer, CurrencyCode: world.currency, autoSendInvoice: true },
    )
    if (world.paid > 0)
      await accepted(
        client.post('/v1/payments', {
          customerID: made.customerID,
          Amount: world.paid,
          CurrencyCode: world.currency,
          Date: '2027-01-01',
          Method: 'eft',
          allocations: [],
        }),
      )
    // The first on its own, the second in a run.
    const expected = []
    for (const day of ['2027-01-05', '2027-02-05']) {
      await moveTo(client, day)
      const last = (await mailsOf(client)).at(-1)!
      expected.push({
        to: world.customer.Email,
        isComposed: false,
        ...(await composedNow(client, Number(last.invoiceId), last.messageId)),
      })
    }
    const read = async () =>
      (await mailsOf(client)).map(({ to, isComposed, ...mail }) => ({ to, isComposed, ...textsOf(mail) }))
    expect(await read()).toEqual(expected)
    await changeAll(client, made.customerID, world)
    expect(await read()).toEqual(expected)
  })
  await fc.assert(property, { numRuns: 12, endOnFailure: true })
})
