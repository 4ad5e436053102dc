import { describe, expect, test } from 'vitest'
import { hasPoppler, infoOfPdf, structureOfPdf, textOfPdf } from '../../../test/support/poppler.ts'
import { decimal } from '../../kernel/decimal.ts'
import { renderCreditNote } from './credit-note-pdf.ts'
import { sampleCreditNote, sampleInvoice, sampleStatement } from './documents.testing.ts'
import { renderInvoice } from './invoice-pdf.ts'
import { paperOf } from './parties.ts'
import { renderStatement } from './statement-pdf.ts'

/** Spaces told apart by no reader. */
const said = (text: string) => text.replaceAll(/[\s\u00a0\u202f]+/g, ' ')

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
)

test('the same document is the same bytes', () => {
  expect(renderInvoice(sampleInvoice()).equals(renderInvoice(sampleInvoice()))).toBe(true)
})

test('a logo that cannot be drawn leaves the name in its place, and the document is made', () => {
  const broken = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 1])
  expect(
    renderInvoice(sampleInvoice({ logo: broken }))
      .subarray(0, 8)
      .toString(),
  ).toBe('%PDF-1.7')
})

test.each([
  ['United States', 'LETTER'],
  ['South Africa', 'A4'],
  ['Atlantis', 'A4'],
  [null, 'A4'],
])('documents of an account in %s are on %s', (country, paper) => expect(paperOf(country)).toBe(paper))

describe.skipIf(!hasPoppler)('read by another program (needs poppler-utils)', () => {
  test('an invoice says all that a book-keeper asks for, in reading order', () => {
    const text = said(textOfPdf(renderInvoice(sampleInvoice({ locale: 'en' }))))
    const order = [
      'Tax invoice 1042',
      'Kölner Datendienste (Pty) Ltd 12 Long Street',
      'VAT number 4123456789',
      'Fabryka Łódź Sp. z o.o. ul. Piotrkowska 1 90-001 Łódź',
      'księgowość@example.pl',
      'Invoice number 1042 Invoice date April 3, 2027 Due date May 3, 2027 Supply date April 3, 2027 Reference I1042 Purchase order PO-7781 Currency ZAR',
      'Description Quantity Unit price Amount (ZAR)',
      'Premium package 1 1 Apr 2027 to 30 Apr 2027 1 100.00 100.00',
      'Krĩtũ storage, metered 1 Apr 2027 to 30 Apr 2027 1,250.5 0.08 100.04',
      'Subtotal 300.04 VAT 15% on 300.04 Tax number 4123456789 45.01 Total ZAR 345.05',
      'Paid and credited so far Date Kind Reference Amount (ZAR) Apr 5, 2027 Credit note CN7 -15.00',
      'Payment (pending) EFT 889 -50.00',
      'Balance due ZAR 280.05',
      'Notes Thank you for your business. Καλημέρα · Спасибо · 100 €',
      'Terms Payable within 30 days',
      'Bank details Bank of Example Account 123 456 789',
      'Page 1 of 1',
    ]
    let from = 0
    for (const part of order) {
      const found = text.indexOf(part, from)
      expect(found, `${part}\n${text}`).toBeGreaterThanOrEqual(0)
      from = found
    }
  })

  test('what was paid further than is listed is one sum, so that the balance due is explained', () => {
    const invoice = sampleInvoice({ appliedAfterMinor: 1_234_50n, balanceMinor: 100_00n })
    expect(said(textOfPdf(renderInvoice(invoice)))).toMatch(/Further payments and credits\s+-1[ ,]?234[.,]50/)
    expect(textOfPdf(renderInvoice(sampleInvoice()))).not.toContain('Further')
  })

  test('a document is tagged, has a title and one page where one is enough', () => {
    const info = infoOfPdf(renderInvoice(sampleInvoice()))
    expect(info).toMatchObject({ Tagged: 'yes', Pages: '1', 'PDF version': '1.7' })
    expect(info['Title']).toBe('Tax invoice 1042 – Kölner Datendienste (Pty) Ltd')
    expect(infoOfPdf(renderInvoice(sampleInvoice({ paper: 'LETTER' })))['Page size']).toContain('letter')
  })

  test('a screen reader finds a title, tables with heads of columns and rows, and passes over page numbers', () => {
    const tree = structureOfPdf(renderInvoice(sampleInvoice({ logo: PNG })))
    expect(tree).toMatch(/^Document/)
    expect(tree).toMatch(/H1[^\n]*\n\s+"Tax invoice 1042"/)
    expect(tree).toMatch(/Figure/)
    expect(tree).toMatch(/THead[\s\S]*TR[\s\S]*TH[^\n]*\n(\s+\/Scope \/Column\n)?\s+"Description"/)
    expect(tree).toMatch(/TH[^\n]*\n(\s+\/Scope \/Row\n)?\s+"Total"/)
    expect(tree).toContain('12 Long Street 3rd floor Cape Town 8001')
    expect(tree).not.toContain('Page 1 of 1')
  })

  test('without a tax number it is an invoice, in German it is one in German', () => {
    const { account } = sampleInvoice()
    const plain = sampleInvoice({ account: { ...account, vatNumber: null } })
    expect(textOfPdf(renderInvoice(plain))).toMatch(/^Invoice 1042/)
    const german = said(textOfPdf(renderInvoice(sampleInvoice({ locale: 'de', currency: 'EUR' }))))
    for (const part of [
      'Rechnung 1042',
      'Rechnungsdatum 3. April 2027',
      '1.250,5 0,08 100,04',
      'VAT 15 % auf 300,04 Steuernummer 4123456789 45,01',
      'Gesamtbetrag 345,05 €',
      'Offener Betrag 280,05 €',
      'Seite 1 von 1',
    ])
      expect(german).toContain(part)
  })

  test.each([
    ['JPY', 'Total ¥34,505'],
    ['KWD', 'Total KWD 34.505'],
  ])('amounts in %s have its decimals', (currency, total) => {
    expect(said(textOfPdf(renderInvoice(sampleInvoice({ locale: 'en', currency }))))).toContain(total)
  })

  test.each([
    ['draft', 'DRAFT', 'This is a draft and not an invoice'],
    ['cancelled', 'CANCELLED', 'This invoice is cancelled'],
  ] as const)('a %s says so across the page and in words, and asks for nothing', (state, mark, sentence) => {
    const pdf = renderInvoice(sampleInvoice({ state, lineCount: 60 }))
    const text = said(textOfPdf(pdf))
    // Letters that stand askew are read one by one.
    expect(text.replaceAll(' ', '').split(mark).length - 1).toBe(Number(infoOfPdf(pdf)['Pages']))
    expect(text).toContain(sentence)
    expect(text).not.toContain('Balance due')
    expect(structureOfPdf(pdf)).not.toContain(`"${mark}"`)
  })

  test('a thousand lines fill pages with the head of the table on each, and none is lost', () => {
    const pdf = renderInvoice(sampleInvoice({ lineCount: 1000 }))
    const pages = Number(infoOfPdf(pdf)['Pages'])
    const text = said(textOfPdf(pdf))
    expect(pages).toBeGreaterThan(20)
    expect(text).toContain(`Page ${pages} of ${pages}`)
    expect(text.split('Description Quantity').length - 1).toBeGreaterThanOrEqual(pages - 1)
    for (let line = 1; line <= 1000; line += 1)
      if (line % 3 !== 0) expect(text.includes(`Premium package ${line} `), `line ${line}`).toBe(true)
  })

  test('a line, a note or a reference longer than a page or a column is shown to its end', () => {
    const sample = sampleInvoice({ notes: `${'word '.repeat(4000)}end of the note`, reference: 'R'.repeat(255) })
    const [line] = sample.lines
    const lines = [{ ...line!, description: `${'long '.repeat(3000)}end of the line` }, ...sample.lines]
    const text = said(textOfPdf(renderInvoice({ ...sample, lines })))
    expect(text).toContain('end of the note')
    expect(text).toContain('end of the line')
    expect(text.match(/R{3,}/g)?.join('').length).toBe(255)
    expect(text).toContain('Krĩtũ storage, metered')
  })

  test('a character that the typeface lacks is shown as missing and disturbs nothing else', () => {
    expect(said(textOfPdf(renderInvoice(sampleInvoice({ notes: 'before 漢 after' }))))).toContain('before \ufffd after')
  })

  test('a credit note gives its invoice, net, taxes, total and reason', () => {
    const text = said(textOfPdf(renderCreditNote(sampleCreditNote({ locale: 'en' }))))
    for (const part of [
      'Credit note CN7',
      'For invoice 1042 of Apr 1, 2027',
      'Premium package 21 Apr 2027 to 30 Apr 2027, 10 of 30 days 33.33',
      'Subtotal 33.33 VAT 15% on 33.33 5.00 Amount credited ZAR 38.33',
      'Reason Cancelled on your wish.',
    ])
      expect(text).toContain(part)
    expect(text).not.toContain('provisional')
  })

  test('a credit note of a part names it for each invoice, and the part that corrects none', () => {
    const invoices = [
      { number: '7', date: '2027-04-01' as const, netMinor: 5_00n, grossMinor: 5_75n },
      { number: '8', date: '2027-04-02' as const, netMinor: 4_00n, grossMinor: 4_60n },
    ]
    const [tax] = sampleCreditNote().taxes
    const taxes = [{ ...tax!, baseMinor: 9_00n, amountMinor: 1_35n }]
    const wish = { locale: 'en', lines: [], taxes, invoices, totalMinor: 11_35n, unsettledMinor: 1_00n, isSent: false }
    const text = said(textOfPdf(renderCreditNote(sampleCreditNote(wish))))
    for (const part of [
      'This credit note is provisional',
      'ZAR 1.00 of it corrects no invoice',
      'Part of the total of invoice 7 of Apr 1, 2027 5.00',
      'Part of the total of invoice 8 of Apr 2, 2027 4.00',
      'Subtotal 9.00 VAT 15% on 9.00 1.35 Without an invoice 1.00 Amount credited ZAR 11.35',
    ])
      expect(text).toContain(part)
  })

  test('German titles tell a correction from a credit of the account', () => {
    const one = said(textOfPdf(renderCreditNote(sampleCreditNote({ locale: 'de' }))))
    expect(one).toContain('Rechnungskorrektur CN7')
    const none = { locale: 'de', invoices: [], lines: [], taxes: [], unsettledMinor: 38_33n }
    const text = said(textOfPdf(renderCreditNote(sampleCreditNote(none))))
    expect(text).toContain('Kontogutschrift CN7')
    expect(text).toContain('Diese Gutschrift berichtigt keine Rechnung')
    expect(text).not.toContain('Nettobetrag')
  })

  test('a tax of 0 % has its sentence in the language of the document: ours by category, else that of its rule', () => {
    const of = (locale: string, category: 'AE' | 'E') => {
      const reason = { en: 'Exempt by law.', de: 'Von Gesetzes wegen frei.' }
      const tax = {
        name: 'VAT',
        rate: decimal('0'),
        taxNumber: null,
        baseMinor: 1_770_00n,
        amountMinor: 0n,
        category,
        reason,
      }
      return said(textOfPdf(renderInvoice(sampleInvoice({ locale, taxes: [tax] }))))
    }
    expect(of('en', 'AE')).toContain('Reverse charge: the recipient of the supply owes the tax.')
    expect(of('de', 'AE')).toContain('Steuerschuldnerschaft des Leistungsempfängers.')
    expect(of('de', 'E')).toContain('Von Gesetzes wegen frei.')
  })

  test('descriptions have the width that quantities and amounts leave', () => {
    const name = 'Premium package with numbers, recordings and a care plan'
    const line = { name, description: null, quantity: decimal('1'), unitPrice: decimal('5'), netMinor: 5_00n }
    expect(textOfPdf(renderInvoice(sampleInvoice({ lines: [line] })))).toContain(name)
    const long = {
      ...line,
      name: `${name}, ${name}`,
      unitPrice: decimal('5.12345678901234567890'),
      netMinor: 5n ** 15n,
    }
    expect(textOfPdf(renderInvoice(sampleInvoice({ locale: 'en', lines: [long] })))).toContain('305,175,781.25')
  })

  test('an invoice has the day or the days of its supply, and what of it is written off', () => {
    const of = (wish: Parameters<typeof sampleInvoice>[0]) => said(textOfPdf(renderInvoice(sampleInvoice(wish))))
    expect(of({ locale: 'en' })).toContain('Supply date April 3, 2027')
    const days = { on: null, from: '2027-03-01', to: '2027-03-31' }
    expect(of({ locale: 'de', supply: days })).toContain('Leistungszeitraum 01.03.2027 bis 31.03.2027')
    expect(of({ locale: 'de', supply: { ...days, to: days.from } })).toContain('Leistungsdatum 1. März 2027')
    expect(of({ locale: 'en' })).not.toContain('written off')
    expect(of({ locale: 'en', writtenOffMinor: 5_00n })).toContain('ZAR 5.00 of this invoice has been written off.')
    expect(of({ locale: 'de', writtenOffMinor: 5_00n })).toContain('Von dieser Rechnung sind 5,00 ZAR abgeschrieben.')
  })

  test('a statement runs from the opening to the closing balance, with ageing, in each currency', () => {
    const [section] = sampleStatement().sections
    const sections = [section!, { ...section!, currency: 'KWD', lines: [] }]
    const text = said(textOfPdf(renderStatement(sampleStatement({ locale: 'en-GB', sections }))))
    for (const part of [
      'Statement of account (ZAR) Date Type Number Description Debit Credit Balance',
      '1 Apr 2027 Opening balance 65.00',
      '1 Apr 2027 Invoice 1042 115.00 180.00',
      '5 Apr 2027 Payment EFT 889 Bank transfer (pending) 10.00 170.00',
      '30 Apr 2027 Closing balance 115.00 10.00 170.00',
      '115.00 65.00 0.00 0.00 0.00 0.00 -10.00',
      'Statement of account (KWD)',
      'Nothing was invoiced, paid or credited in this period.',
      '11.500 6.500 0.000',
    ])
      expect(text).toContain(part)
  })
})
