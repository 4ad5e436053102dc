import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { type Reply, startTestService, type TestClient } from '../../../test/support/app.ts'
import { readFurtherFonts, useFurtherFonts } from '../../platform/pdf/further-fonts.ts'

/** Warnings of characters on papers that no font has. */

const service = await startTestService({ now: () => Date.parse('2027-03-01T00:00:00Z') })
afterEach(() => useFurtherFonts(undefined))

const warningOf = ({ headers }: Reply) => headers['perennial-warning']
const missing = (...fields: string[]) => fields.map((field) => `glyphs_missing;field="${field}"`).join(', ')

async function customerOf(client: TestClient, Name: string): Promise<number> {
  const { status, body } = await client.post('/v1/customers', { Name, isCompany: true, Email: 'pay@example.com' })
  expect(status).toBe(201)
  return body.customerID
}

const line = { UnitCostEx: 10, Line: 'Work' }

test('an invoice by hand tells of them at add, issue and send, and with its PDF, by the fields of its paper', async () => {
  const client = await service.newAccount()
  expect((await client.put('/v1/account', { Name: 'Acme', City: '北京' })).status).toBe(204)
  const customerID = await customerOf(client, '李明')
  const Charges = [line, { ...line, Descrip: '一月' }]
  const added = await client.post('/v1/invoices', { customerID, Charges, Notes: '谢谢', isDraft: true })
  const all = missing('Customer.Name', 'Account.City', 'Invoice.Notes', 'Invoice.Charges[1].Descrip')
  expect([added.status, warningOf(added)]).toEqual([201, all])
  const path = `/v1/invoices/${added.body.invoiceID}`
  expect(warningOf(await client.get(`${path}/pdf`))).toBe(all)
  // An edit of the draft looks at what it makes of it.
  const edited = await client.put(path, { customerID, Charges: [line], Notes: 'Thanks' })
  expect([edited.status, warningOf(edited)]).toEqual([204, missing('Customer.Name', 'Account.City')])
  const back = await client.put(path, { customerID, Charges, Notes: '谢谢' })
  expect([back.status, warningOf(back)]).toEqual([204, all])
  expect(warningOf(await client.put(`${path}/issue`))).toBe(all)
  // An issued invoice shows its parties as they were.
  const customer = { Name: 'Ada', isCompany: true, Email: 'pay@example.com' }
  expect((await client.put(`/v1/customers/${customerID}`, customer)).status).toBe(204)
  expect(warningOf(await client.put(`${path}/send`))).toBe(all)
  expect(warningOf(await client.get(`${path}/pdf`))).toBe(all)
  const later = await client.post('/v1/invoices', { customerID, Charges: [line] })
  expect([later.status, warningOf(later)]).toEqual([201, missing('Account.City')])
  const statement = `/v1/customers/${customerID}/statement?from=2027-03-01&to=2027-03-01&format=pdf`
  const drawn = await client.get(statement)
  expect([drawn.status, warningOf(drawn)]).toEqual([200, missing('Account.City')])
})

test('Latin, Greek and Cyrillic are told of by nobody, and of many fields the first', async () => {
  const client = await service.newAccount()
  const customerID = await customerOf(client, 'Ελλάδα Спасибо')
  const plain = await client.post('/v1/invoices', { customerID, Charges: [line], isDraft: true })
  const path = `/v1/invoices/${plain.body.invoiceID}`
  const answers = [
    plain,
    await client.get(`${path}/pdf`),
    await client.put(`${path}/issue`),
    await client.put(`${path}/send`),
  ]
  expect(answers.map(({ status }) => status)).toEqual([201, 200, 204, 204])
  expect(answers.map(warningOf)).toEqual(answers.map(() => undefined))
  const Charges = Array.from({ length: 1000 }, () => ({ ...line, Line: '月' }))
  const many = await client.post('/v1/invoices', { customerID, Charges })
  const first = Array.from({ length: 20 }, (_one, index) => `Invoice.Charges[${index}].Line`)
  expect([many.status, warningOf(many)]).toEqual([201, missing(...first)])
})

test('a character that a font of the operator’s has is not missing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'perennial-fonts-'))
  const file = createRequire(import.meta.url).resolve('dejavu-fonts-ttf/ttf/DejaVuSansMono.ttf')
  copyFileSync(file, join(folder, 'mono.ttf'))
  const client = await service.newAccount()
  const customer = { Name: 'Rotate ⌵', isCompany: true }
  expect(warningOf(await client.post('/v1/customers', customer))).toBe(missing('Customer.Name'))
  useFurtherFonts(readFurtherFonts(folder).fonts)
  const { body, ...added } = await client.post('/v1/customers', customer)
  expect([added.status, warningOf({ ...added, body })]).toEqual([201, undefined])
  const { customerID } = body
  const invoice = await client.post('/v1/invoices', { customerID, Charges: [{ ...line, Line: '⌵ 李' }] })
  expect(warningOf(invoice)).toBe(missing('Invoice.Charges[0].Line'))
  rmSync(folder, { recursive: true })
})

test('texts of the account by language are told of at its PUT, and of a paper by the language that it is in', async () => {
  const client = await service.newAccount()
  const Texts = { de: { BankDetails: '银行' }, fr: { Notes: '谢谢', BankDetails: 'Banque' } }
  const put = await client.put('/v1/account', { BankDetails: '銀行', Texts })
  const all = missing('Account.BankDetails', 'Account.Texts.de.BankDetails', 'Account.Texts.fr.Notes')
  expect([put.status, warningOf(put)]).toEqual([204, all])
  const pdfIn = async (Locale: string) => {
    const { body } = await client.post('/v1/customers', { Name: 'Ada', isCompany: true, Locale })
    const { invoiceID } = (await client.post('/v1/invoices', { customerID: body.customerID, Charges: [line] })).body
    const drawn = await client.get(`/v1/invoices/${invoiceID}/pdf`)
    expect(drawn.status).toBe(200)
    return warningOf(drawn)
  }
  expect(await pdfIn('de-AT')).toBe(missing('Account.Texts.de.BankDetails'))
  expect(await pdfIn('fr')).toBe(missing('Invoice.Notes'))
  expect(await pdfIn('en')).toBe(missing('Account.BankDetails'))
})

test('a credit note tells of them when it is sent, and with its PDF', async () => {
  const client = await service.newAccount()
  const customerID = await customerOf(client, '李明')
  const { body: invoice } = await client.post('/v1/invoices', { customerID, Charges: [line] })
  const Reason = '退款'
  const credited = await client.post(`/v1/invoices/${invoice.invoiceID}/credit`, { Amount: 10, Reason })
  expect(credited.status).toBe(201)
  const path = `/v1/credits/${credited.body.creditNoteID}`
  expect(warningOf(await client.get(`${path}/pdf`))).toContain(missing('Customer.Name'))
  expect(warningOf(await client.put(`${path}/send`, { isMailed: false }))).toContain(missing('Customer.Name'))
})
