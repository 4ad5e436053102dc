import { decimal } from '../../kernel/decimal.ts'
import type { CreditNoteDocument, InvoiceDocument, StatementDocument } from './document.ts'

/** Documents to draw in tests and benchmarks. */

const common = {
  locale: 'en-ZA',
  paper: 'A4',
  logo: null,
  createdAt: '2027-04-20T09:00:00.000Z',
  account: {
    name: 'Kölner Datendienste (Pty) Ltd',
    address: ['12 Long Street', '3rd floor', 'Cape Town 8001', 'South Africa'],
    registrationNumber: null,
    vatNumber: '4123456789',
    tel: '+27 21 555 0100',
    email: 'billing@example.com',
    webPage: 'https://example.com',
  },
  customer: {
    name: 'Fabryka Łódź Sp. z o.o.',
    address: ['ul. Piotrkowska 1', '90-001 Łódź', 'Polska'],
    registrationNumber: 'KRS 0000123456',
    vatNumber: 'PL7251234567',
    tel: null,
    email: 'księgowość@example.pl',
    webPage: null,
  },
} as const

export const sampleInvoice = (wish: Partial<InvoiceDocument> & { lineCount?: number } = {}): InvoiceDocument => {
  const { lineCount = 3, ...rest } = wish
  const lines = Array.from({ length: lineCount }, (_one, index) => ({
    name: index % 3 === 2 ? 'Krĩtũ storage, metered' : `Premium package ${index + 1}`,
    description: '1 Apr 2027 to 30 Apr 2027',
    quantity: decimal(index % 3 === 2 ? '1250.5' : '1'),
    unitPrice: decimal(index % 3 === 2 ? '0.08' : '100'),
    netMinor: index % 3 === 2 ? 100_04n : 100_00n,
  }))
  const netMinor = lines.reduce((sum, line) => sum + line.netMinor, 0n)
  const taxMinor = (netMinor * 15n + 50n) / 100n
  return {
    ...common,
    state: 'issued',
    number: '1042',
    reference: 'I1042',
    poNumber: 'PO-7781',
    invoiceDate: '2027-04-03',
    dueDate: '2027-05-03',
    currency: 'ZAR',
    lines,
    taxes: [
      {
        name: 'VAT',
        rate: decimal('0.15'),
        taxNumber: '4123456789',
        baseMinor: netMinor,
        amountMinor: taxMinor,
        category: 'S',
        reason: null,
      },
    ],
    totalMinor: netMinor + taxMinor,
    applied: [
      {
        date: '2027-04-05',
        kind: 'credit_note',
        reference: 'CN7',
        method: null,
        isPending: false,
        amountMinor: 15_00n,
      },
      {
        date: '2027-04-10',
        kind: 'payment',
        reference: 'EFT 889',
        method: 'eft',
        isPending: true,
        amountMinor: 50_00n,
      },
    ],
    appliedAfterMinor: 0n,
    writtenOffMinor: 0n,
    supply: { on: '2027-04-03', from: null, to: null },
    balanceMinor: netMinor + taxMinor - 65_00n,
    notes: 'Thank you for your business.\nΚαλημέρα · Спасибо · 100 €',
    terms: 'Payable within 30 days without deduction.',
    bankDetails: 'Bank of Example\nAccount 123 456 789\nBranch 051001',
    ...rest,
  }
}

export const sampleCreditNote = (wish: Partial<CreditNoteDocument> = {}): CreditNoteDocument => ({
  ...common,
  number: 'CN7',
  date: '2027-04-05',
  currency: 'ZAR',
  isSent: true,
  invoices: [{ number: '1042', date: '2027-04-01', netMinor: 33_33n, grossMinor: 38_33n }],
  lines: [{ name: 'Premium package', description: '21 Apr 2027 to 30 Apr 2027, 10 of 30 days', netMinor: 33_33n }],
  taxes: [
    {
      name: 'VAT',
      rate: decimal('0.15'),
      taxNumber: null,
      baseMinor: 33_33n,
      amountMinor: 5_00n,
      category: 'S',
      reason: null,
    },
  ],
  unsettledMinor: 0n,
  totalMinor: 38_33n,
  reason: 'Cancelled on your wish.',
  ...wish,
})

export const sampleStatement = (wish: Partial<StatementDocument> = {}): StatementDocument => ({
  ...common,
  customerReference: 'C77',
  from: '2027-04-01',
  to: '2027-04-30',
  sections: [
    {
      currency: 'ZAR',
      openingMinor: 65_00n,
      from: '2027-04-01',
      to: '2027-04-30',
      lines: [
        {
          dated: '2027-04-01',
          type: 'invoice',
          id: 9n,
          number: '1042',
          method: null,
          isPending: false,
          debitMinor: 115_00n,
          creditMinor: 0n,
          balanceMinor: 180_00n,
        },
        {
          dated: '2027-04-05',
          type: 'payment',
          id: 4n,
          number: 'EFT 889',
          method: 'eft',
          isPending: true,
          debitMinor: 0n,
          creditMinor: 10_00n,
          balanceMinor: 170_00n,
        },
      ],
      debitsMinor: 115_00n,
      creditsMinor: 10_00n,
      closingMinor: 170_00n,
      laterMinor: 0n,
      ageing: {
        Current: 115_00n,
        Days1To30: 65_00n,
        Days31To60: 0n,
        Days61To90: 0n,
        Days91To120: 0n,
        DaysOver120: 0n,
      },
      unallocatedMinor: 10_00n,
      pendingPassedMinor: 0n,
    },
  ],
  bankDetails: 'Bank of Example\nAccount 123 456 789',
  ...wish,
})
