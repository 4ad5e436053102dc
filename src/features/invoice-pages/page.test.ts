import { describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { codesOf, moveTo } from '../../../test/support/shop.ts'
import { cardShop } from '../collection/shop.testing.ts'
import { creditOf, paymentOf } from '../money/money.testing.ts'
import { open, ORIGIN, pathOf, seenOf } from './pages.testing.ts'

const service = await startTestService({ publicUrl: ORIGIN })

async function shop(account: object = {}, customer: object = {}) {
  const client = await service.newAccount({ name: 'Brightquay' })
  await client.put('/v1/account', account)
  await client.post('/v1/tax', { Name: 'VAT', rules: [{ isDefault: true, Perc: 0.15 }] })
  const added = await client.post('/v1/customers', {
    Name: 'Ada',
    LastName: 'Lovelace',
    PaymentTermDays: 14,
    ...customer,
  })
  const customerID = added.body.customerID as number
  const invoice = async (body: object = {}) => {
    const made = await client.post('/v1/invoices', {
      customerID,
      Charges: [{ Line: 'Hosting', Descrip: 'January', Qty: 2, UnitCostEx: 50 }],
      ...body,
    })
    expect(made.status, made.text).toBe(201)
    return made.body.invoiceID as number
  }
  const pay = async (invoiceID: number, amount: number, day = '2027-01-01') => {
    const allocations = [{ invoiceID, amountApplied: amount }]
    const paid = await client.post('/v1/payments', { ...paymentOf(customerID, amount, { Date: day }), allocations })
    expect(paid.status, paid.text).toBe(201)
  }
  return { client, customerID, invoice, pay }
}

describe('the link of an invoice', () => {
  test('leads to its page, is the same each time, and is another after it was revoked', async () => {
    const { client, invoice } = await shop()
    const id = await invoice()
    const path = await pathOf(client, id)
    expect(await pathOf(client, id)).toBe(path)
    expect((await open(service, path)).status).toBe(200)
    expect((await client.delete(`/v1/invoices/${id}/link`)).status).toBe(204)
    expect((await open(service, path)).status).toBe(404)
    expect((await open(service, `${path}/pdf`)).status).toBe(404)
    const next = await pathOf(client, id)
    expect(next).not.toBe(path)
    expect((await open(service, next)).status).toBe(200)
    const [event] = (await client.get('/v1/events?type=invoice.link_revoked')).body
    expect(event.RecordID).toBe(id)
    expect(JSON.stringify(event)).not.toContain(path.split('-')[3])
  })

  test('is refused for a draft, for an invoice that is not there, and for that of another account', async () => {
    const { client, customerID } = await shop()
    const other = await shop()
    const draft = await client.post('/v1/invoices', { customerID, isDraft: true, Charges: [{ UnitCostEx: 10 }] })
    const id = draft.body.invoiceID
    for (const method of ['GET', 'DELETE'])
      expect([
        (await client.request(method, `/v1/invoices/${id}/link`)).status,
        codesOf(await client.request(method, `/v1/invoices/${id}/link`)),
      ]).toEqual([409, ['invoice_draft']])
    for (const method of ['GET', 'DELETE']) {
      expect((await client.request(method, '/v1/invoices/999999/link')).status).toBe(404)
      expect((await client.request(method, `/v1/invoices/${await other.invoice()}/link`)).status).toBe(404)
    }
  })
})

describe('the page of an invoice', () => {
  test('shows what it is for, its tax, what is to be paid and by when', async () => {
    const { client, invoice } = await shop({ BankDetails: 'IBAN DE02\nBank' })
    const { status, seen } = await open(service, await pathOf(client, await invoice({ poNumber: 'PO 7' })))
    expect(status).toBe(200)
    // 2 × 50 and 15 % of it; issued on 1 January with a term of 14 days.
    for (const text of [
      'Invoice 1',
      'To pay $115.00',
      'Due on January 15, 2027',
      'Hosting',
      'January',
      '2 × 50.00',
      '$100.00',
      'VAT 15%',
      '$15.00',
      'PO 7',
      'Ada Lovelace',
      'Brightquay',
      'IBAN DE02',
    ])
      expect(seen).toContain(text)
  })

  test('shows when it was supplied, why there is no tax, and what is written off', async () => {
    const exempt = { isWaiveTaxes: true, TaxCategory: 'AE', VatNo: 'DE136695976', isCompany: true, Locale: 'de' }
    const { client, customerID, invoice } = await shop({}, exempt)
    const id = await invoice({ SupplyDate: '2026-12-19' })
    const path = await pathOf(client, id)
    const { seen } = await open(service, path)
    for (const text of [
      'Leistungsdatum 19. Dezember 2026',
      'VAT 0 % Steuerschuldnerschaft des Leistungsempfängers. 0,00',
      'USt-IdNr. DE136695976',
    ])
      expect(seen.replaceAll('\u00a0', ' ')).toContain(text)
    const bad = { customerID, Type: 'negative', AdjustmentType: 'bad_debt', Amount: 40, Date: '2027-01-01', Ref: 'B' }
    const Allocations = [{ objectID: id, AmtAllocated: 40 }]
    const added = await client.post('/v1/adjustment/add', { ...bad, Allocations })
    expect(added.text).toContain('AdjustmentID')
    const after = (await open(service, path)).seen.replaceAll('\u00a0', ' ')
    expect(after).toContain('Von dieser Rechnung sind 40,00 $ abgeschrieben.')
  })

  test('is in the language of its customer whatever the browser wishes, else in that of the browser', async () => {
    const german = await shop({}, { Locale: 'de-AT' })
    const path = await pathOf(german.client, await german.invoice())
    expect((await open(service, path, { 'accept-language': 'en' })).seen).toContain('Fällig am 15. Jänner 2027')
    const none = await shop()
    const other = await pathOf(none.client, await none.invoice())
    expect((await open(service, other, { 'accept-language': 'de' })).seen).toContain('Zu zahlen 115,00 $')
    expect((await open(service, other, { 'accept-language': 'fr' })).seen).toContain('To pay $115.00')
  })

  test('shows a part that is paid, all of it, and what is late', async () => {
    const { client, invoice, pay } = await shop()
    const id = await invoice()
    const path = await pathOf(client, id)
    await pay(id, 15)
    const partly = (await open(service, path)).seen
    expect(partly).toContain('To pay $100.00')
    expect(partly).toContain('Bank transfer, Jan 1, 2027 -$15.00')
    await moveTo(client, '2027-01-16')
    expect((await open(service, path)).seen).toContain('Was due on January 15, 2027')
    await pay(id, 100)
    const paid = (await open(service, path)).seen
    expect(paid).toContain('✓ Paid')
    expect(paid).not.toContain('To pay')
  })

  test('thanks nobody for what was credited, written off, or nothing from the start', async () => {
    const { client, customerID, invoice, pay } = await shop()
    const [credited, off, partly, both] = [await invoice(), await invoice(), await invoice(), await invoice()]
    const free = await invoice({ Charges: [{ Line: 'Trial', UnitCostEx: 0 }] })
    const credit = async (id: number, amount: number) => {
      const body = { ...creditOf(customerID, amount), Allocations: [{ invoiceID: id, amountApplied: amount }] }
      expect((await client.post('/v1/credits', body)).status).toBe(201)
    }
    const writeOff = async (id: number, amount: number) => {
      const body = { customerID, Type: 'negative', AdjustmentType: 'bad_debt', Amount: amount, Date: '2027-01-01' }
      const Allocations = [{ objectID: id, AmtAllocated: amount }]
      const added = await client.post('/v1/adjustment/add', { ...body, Ref: `B${id}`, Allocations })
      expect(added.text).toContain('AdjustmentID')
    }
    await credit(credited, 115)
    await writeOff(off, 115)
    await pay(partly, 100)
    await writeOff(partly, 15)
    await credit(both, 15)
    await pay(both, 100)
    const seenOf = async (id: number) => (await open(service, await pathOf(client, id))).seen
    for (const id of [credited, off, partly, free]) {
      const seen = await seenOf(id)
      expect(seen).toContain('✓ Settled Nothing is left to pay.')
      expect(seen).not.toMatch(/Paid|Thank you|To pay/)
    }
    expect(await seenOf(partly)).toContain('Written off, Jan 1, 2027 -$15.00')
    expect(await seenOf(both)).toContain('✓ Paid Thank you: nothing is left to pay.')
  })

  test('shows that a cancelled one asks for nothing', async () => {
    const { client, invoice } = await shop()
    const id = await invoice()
    const path = await pathOf(client, id)
    expect((await client.delete(`/v1/invoices/${id}`)).status).toBe(204)
    const { seen } = await open(service, path)
    expect(seen).toContain('This invoice is cancelled: nothing is due.')
    expect(seen).not.toContain('To pay')
  })

  test('is shown for 90 days after the later of its due date and its payment, and without end while anything is open', async () => {
    const { client, invoice, pay } = await shop()
    const [early, late, never] = [await invoice(), await invoice(), await invoice()]
    const paths = await Promise.all([early, late, never].map((id) => pathOf(client, id)))
    await pay(early, 115)
    await moveTo(client, '2027-02-01')
    await pay(late, 115, '2027-02-01')
    const statuses = async () => Promise.all(paths.map(async (path) => (await open(service, path)).status))
    // Due on 15 January: 90 days later is 15 April. Paid on 1 February: 2 May.
    await moveTo(client, '2027-04-15')
    expect(await statuses()).toEqual([200, 200, 200])
    await moveTo(client, '2027-04-16')
    expect(await statuses()).toEqual([410, 200, 200])
    await moveTo(client, '2027-05-02')
    expect(await statuses()).toEqual([410, 200, 200])
    await moveTo(client, '2027-05-03')
    expect(await statuses()).toEqual([410, 410, 200])
    expect((await open(service, `${paths[0]}/pdf`)).status).toBe(410)
  })

  test('has its PDF, as the interface answers it', async () => {
    const { client, invoice } = await shop()
    const id = await invoice()
    const pdf = await service.anonymous.get(`${await pathOf(client, id)}/pdf`)
    expect([pdf.status, pdf.headers['content-type'], pdf.headers['cache-control']]).toEqual([
      200,
      'application/pdf',
      'no-store',
    ])
    expect(pdf.headers['content-disposition']).toBe('inline; filename="Invoice-1.pdf"')
    expect(pdf.text.slice(0, 5)).toBe('%PDF-')
  })

  test('lets no name or text become markup, and changes nothing when it is opened', async () => {
    const name = `<script>alert(1)</script>"'&`
    const { client, invoice } = await shop(
      { Name: name, Notes: '<img src=x>', BankDetails: name },
      { Name: name, LastName: '\u202eevil' },
    )
    const id = await invoice({
      Charges: [{ Line: name, Descrip: `${name}\n${'x'.repeat(255)}`, UnitCostEx: 1 }],
      Notes: name,
    })
    const before = (await client.get('/v1/events?sort=-id&page_size=1')).body[0].eventID
    const { text } = await open(service, await pathOf(client, id))
    expect(text).not.toMatch(/<script|<img src=x/)
    expect(seenOf(text)).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
    expect((await client.get('/v1/events?sort=-id&page_size=1')).body[0].eventID).toBe(before)
  })

  test('has its link from the address of the request where PUBLIC_URL is not set, and in a live account none', async () => {
    const without = await startTestService()
    const test = await without.newAccount()
    const live = await without.newAccount({ mode: 'live', clockAt: null })
    for (const client of [test, live]) {
      const customer = await client.post('/v1/customers', { Name: 'Acme', isCompany: true })
      const made = await client.post('/v1/invoices', {
        customerID: customer.body.customerID,
        Charges: [{ UnitCostEx: 1 }],
      })
      const link = await client.get(`/v1/invoices/${made.body.invoiceID}/link`, undefined, {
        host: 'billing.local:3000',
      })
      if (client === test) expect(link.body.Url).toMatch(/^http:\/\/billing\.local:3000\/i\/\d+-\d+-0-[a-z2-7]{26}$/)
      else expect([link.status, codesOf(link)]).toEqual([409, ['public_url_missing']])
    }
  })
  test('has its link by https where a proxy that is trusted says so, and by http where it is not trusted', async () => {
    for (const trustProxy of [true, false]) {
      const without = await startTestService({ trustProxy })
      const { client, invoice } = await cardShop(without, null)
      const sent = { host: 'billing.local', 'x-forwarded-proto': 'https' }
      const { body } = await client.get(`/v1/invoices/${await invoice(1)}/link`, undefined, sent)
      expect(new URL(body.Url).origin).toBe(trustProxy ? 'https://billing.local' : 'http://billing.local')
    }
  })
  test.each([
    ['en-GB', 'Charge'],
    ['de-DE', 'Posten'],
  ])('names a line without any text in %s', async (Locale, name) => {
    const { client, invoice } = await cardShop(service, null, { Locale })
    const { text } = await open(service, await pathOf(client, await invoice(5)))
    expect(text).toContain(`<td><bdi>${name}</bdi></td>`)
  })
})
