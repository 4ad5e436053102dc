import { describe, expect, test } from 'vitest'
import { decimal } from '../../kernel/decimal.ts'
import type { InvoicedCharge } from './coverage.ts'
import { planCreditNotes, placeCredits, recomputeCredit } from './credits.ts'

const charge: InvoicedCharge = {
  chargeId: 1n,
  invoiceId: 10n,
  kind: 'package',
  itemId: 7n,
  name: 'Basic',
  stretch: 1,
  part: 0,
  from: '2027-01-01',
  until: '2027-02-01',
  wholeFrom: '2027-01-01',
  wholeUntil: '2027-02-01',
  price: decimal('31'),
  netMinor: 3100n,
  creditedMinor: 0n,
  creditedFrom: null,
  isInvoiceCancelled: false,
}
const back = (over: Partial<InvoicedCharge> = {}, from = '2027-01-21') => ({
  charge: { ...charge, ...over },
  from,
  until: '2027-02-01',
})
const vat = { name: 'VAT', rate: decimal('0.15'), taxNumber: null, amountMinor: 465n, settledMinor: 0n }
const invoice = { invoiceId: 10n, totalMinor: 3565n, settledMinor: 0n, taxes: [vat], leftMinor: 3565n }

describe('a credit note', () => {
  test('is one per invoice, with the taxes of that invoice on the sum of its lines', () => {
    const other = { chargeId: 2n, invoiceId: 11n }
    const notes = planCreditNotes(
      [back(), back({ chargeId: 3n }), back(other)],
      [invoice, { ...invoice, invoiceId: 11n }],
      2,
    )
    expect(notes.map(({ invoiceId, netMinor, totalMinor }) => [invoiceId, netMinor, totalMinor])).toEqual([
      [10n, 2200n, 2530n],
      [11n, 1100n, 1265n],
    ])
  })

  test('gives back at most what is left of a line, of a tax and of the invoice', () => {
    const [left] = planCreditNotes([back({ creditedMinor: 2500n })], [invoice], 2)
    expect(left).toMatchObject({ netMinor: 600n, lines: [{ creditedBeforeMinor: 2500n, mostMinor: 600n }] })
    const ahead = { ...invoice, settledMinor: 1000n, taxes: [{ ...vat, settledMinor: 365n }], leftMinor: 2565n }
    const [taxed] = planCreditNotes([back()], [ahead], 2)
    expect(taxed).toMatchObject({ netMinor: 1100n, totalMinor: 1200n })
    const [capped] = planCreditNotes([back(), back({ chargeId: 2n })], [{ ...invoice, leftMinor: 1500n }], 2)
    expect([capped!.totalMinor, capped!.taxes[0]!.amountMinor]).toEqual([1500n, 196n])
    expect(capped!.lines.map((line) => recomputeCredit(line, 2))).toEqual(capped!.lines.map(({ netMinor }) => netMinor))
    expect(capped!.lines.reduce((sum, { netMinor }) => sum + netMinor, 0n)).toBe(capped!.netMinor)
  })

  test('for more than can be credited is for that, by amount: 10.00 of 35.65 are settled with 1.30, and 22.30 + 3.35 are left', () => {
    const credited = { ...invoice, settledMinor: 1000n, taxes: [{ ...vat, settledMinor: 130n }], leftMinor: 2565n }
    expect(planCreditNotes([back({}, '2027-01-01')], [credited], 2)).toMatchObject([
      { netMinor: 2230n, totalMinor: 2565n, taxes: [{ amountMinor: 335n }], basis: 'amount' },
    ])
  })

  test('for what is left where most of the tax was taken before gives back no more net than was asked for', () => {
    const ahead = { ...invoice, settledMinor: 1000n, taxes: [{ ...vat, settledMinor: 300n }], leftMinor: 1150n }
    const [note] = planCreditNotes([back()], [ahead], 2)
    expect(note).toMatchObject({ netMinor: 1100n, totalMinor: 1100n })
  })

  test('is not made at 0, nor for what is on no invoice', () => {
    expect(planCreditNotes([back({ creditedMinor: 3100n })], [invoice], 2)).toEqual([])
    expect(planCreditNotes([back()], [{ ...invoice, leftMinor: 0n }], 2)).toEqual([])
    expect(planCreditNotes([back({ invoiceId: null })], [invoice], 2)).toEqual([])
  })

  test('for a negative line goes to the newest charge of its cycle first', () => {
    const late = { ...charge, chargeId: 5n, invoiceId: 11n, netMinor: 500n }
    const notes = planCreditNotes([], [invoice, { ...invoice, invoiceId: 11n }], 2, [
      { amountMinor: 800n, charges: [charge, late] },
    ])
    expect(notes.map(({ invoiceId, netMinor }) => [invoiceId, netMinor])).toEqual([
      [10n, 300n],
      [11n, 500n],
    ])
  })

  test('of one invoice is one, whatever an operation credits of it: taxes are rounded on the sum, and no charge is credited beyond itself', () => {
    const cents = Array.from({ length: 8 }, (_, index) => ({ ...charge, chargeId: BigInt(20 + index), netMinor: 20n }))
    const taxed = { ...invoice, taxes: [{ ...vat, amountMinor: 1500n }], totalMinor: 11_500n, leftMinor: 11_500n }
    const corrections = cents.map((one) => ({ amountMinor: 10n, charges: [one] }))
    const [note, ...others] = planCreditNotes([], [taxed], 2, corrections)
    expect([others.length, note!.netMinor, note!.totalMinor]).toEqual([0, 80n, 92n])
    const both = planCreditNotes([back()], [taxed], 2, [{ amountMinor: 10_000n, charges: [charge] }])
    expect(both).toHaveLength(1)
    expect(both[0]!.netMinor).toBe(charge.netMinor - charge.creditedMinor)
  })
})

describe('the money of a credit note goes', () => {
  const open = [
    { invoiceId: 3n, invoiceDate: '2027-01-05', openMinor: 100n },
    { invoiceId: 2n, invoiceDate: '2027-01-01', openMinor: 50n },
    { invoiceId: 1n, invoiceDate: '2027-01-05', openMinor: 70n },
  ]
  const made = [{ invoiceId: 9n, invoiceDate: '2027-01-20', openMinor: 30n }]

  test('to its own invoice, then to what the operation made, then to the oldest, and the rest stays', () => {
    const { placements, unallocatedMinor } = placeCredits([{ invoiceId: 3n, totalMinor: 260n }], open, made, true)
    expect(placements.map(({ invoiceId, amountMinor }) => [invoiceId, amountMinor])).toEqual([
      [3n, 100n],
      [9n, 30n],
      [2n, 50n],
      [1n, 70n],
    ])
    expect(unallocatedMinor).toEqual([10n])
  })

  test('only to its own invoice where unallocated money waits to be applied by hand', () => {
    const { placements, unallocatedMinor } = placeCredits(
      [
        { invoiceId: 3n, totalMinor: 120n },
        { invoiceId: 5n, totalMinor: 40n },
      ],
      open,
      made,
      false,
    )
    expect(placements).toEqual([{ note: 0, invoiceId: 3n, amountMinor: 100n }])
    expect(unallocatedMinor).toEqual([20n, 40n])
  })
})
