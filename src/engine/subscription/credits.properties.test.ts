import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addDays, daysBetween } from '../../kernel/calendar.ts'
import { decimal, type Decimal, ZERO } from '../../kernel/decimal.ts'
import { amountOf, rateOf } from '../../kernel/money.ts'
import type { InvoicedCharge } from './coverage.ts'
import { type CreditableInvoice, placeCredits, planCreditNotes, recomputeCredit } from './credits.ts'
import { nextTotal } from './usage.ts'

const price = fc.record({ coefficient: fc.bigInt({ min: 0n, max: 10n ** 8n }), scale: fc.integer({ min: 0, max: 6 }) })
const digitsOf = fc.constantFrom(0, 2, 3)

const chargeOf = (
  chargeId: bigint,
  invoiceId: bigint,
  exact: Decimal,
  days: number,
  digits: number,
): InvoicedCharge => ({
  chargeId,
  invoiceId,
  kind: 'package',
  itemId: 1n,
  name: 'Basic',
  stretch: 1,
  part: 0,
  from: '2027-01-01',
  until: addDays('2027-01-01', days),
  wholeFrom: '2027-01-01',
  wholeUntil: addDays('2027-01-01', days),
  price: exact,
  netMinor: amountOf(exact, { coefficient: 1n, scale: 0 }, 1n, 1n, digits),
  creditedMinor: 0n,
  creditedFrom: null,
  isInvoiceCancelled: false,
})

test('what is given back and what the used days cost differ from the charge by at most one minor unit', () => {
  fc.assert(
    fc.property(price, digitsOf, fc.integer({ min: 1, max: 366 }), fc.nat(), (exact, digits, days, cut) => {
      const charge = chargeOf(1n, 1n, exact, days, digits)
      const used = cut % days
      const from = addDays('2027-01-01', used)
      const backMinor = recomputeCredit({ ...charge, from, mostMinor: charge.netMinor }, digits)
      const usedMinor = amountOf(exact, { coefficient: 1n, scale: 0 }, BigInt(used), BigInt(days), digits)
      const difference = charge.netMinor - backMinor - usedMinor
      expect(difference >= -1n && difference <= 1n).toBe(true)
      expect(backMinor <= charge.netMinor && backMinor >= 0n).toBe(true)
      expect(daysBetween(from, charge.until!)).toBe(days - used)
    }),
  )
})

test('notes never give back more than their lines, taxes and invoice have left, and give as much as that allows', () => {
  const rate = fc.bigInt({ min: 0n, max: 4_000n }).map((coefficient): Decimal => ({ coefficient, scale: 4 }))
  fc.assert(
    fc.property(
      fc.array(price, { minLength: 1, maxLength: 4 }),
      fc.array(rate, { maxLength: 3 }),
      fc.integer({ min: 0, max: 100 }),
      fc.nat({ max: 30 }),
      (prices, rates, leftPercent, used) => {
        const charges = prices.map((exact, index) => chargeOf(BigInt(index + 1), 1n, exact, 31, 2))
        const net = charges.reduce((sum, { netMinor }) => sum + netMinor, 0n)
        const taxes = rates.map((one, index) => ({
          name: `T${index}`,
          rate: one,
          taxNumber: null,
          amountMinor: rateOf(net, one),
          settledMinor: 0n,
        }))
        const total = taxes.reduce((sum, { amountMinor }) => sum + amountMinor, net)
        // What is not left has gone to bad debt.
        const leftMinor = (total * BigInt(leftPercent)) / 100n
        const invoice: CreditableInvoice = { invoiceId: 1n, totalMinor: total, settledMinor: 0n, taxes, leftMinor }
        const back = charges.map((charge) => ({ charge, from: addDays('2027-01-01', used), until: charge.until }))
        const wanted = charges.reduce(
          (sum, charge) =>
            sum + recomputeCredit({ ...charge, from: addDays('2027-01-01', used), mostMinor: charge.netMinor }, 2),
          0n,
        )
        const [note] = planCreditNotes(back, [invoice], 2)
        if (note === undefined) return
        expect(note.totalMinor <= invoice.leftMinor).toBe(true)
        expect(note.netMinor <= wanted).toBe(true)
        note.taxes.forEach(({ amountMinor }, index) => expect(amountMinor <= taxes[index]!.amountMinor).toBe(true))
        expect(note.lines.reduce((sum, { netMinor }) => sum + netMinor, 0n)).toBe(note.netMinor)
        for (const line of note.lines) expect(recomputeCredit(line, 2)).toBe(line.netMinor)
        const isCapped = note.netMinor < wanted
        // A unit of each tax may be what keeps more net from being given back than was asked for.
        if (isCapped) expect(invoice.leftMinor - note.totalMinor <= BigInt(rates.length + 1)).toBe(true)
      },
    ),
  )
})

test('no invoice is paid beyond what is open, no credit is placed beyond its amount, and nothing gets lost', () => {
  const amounts = fc.array(fc.bigInt({ min: 0n, max: 1_000n }), { maxLength: 5 })
  fc.assert(
    fc.property(amounts, amounts, amounts, fc.boolean(), (totals, opens, mades, isAutoApply) => {
      const notes = totals.map((totalMinor, index) => ({ invoiceId: BigInt(index + 1), totalMinor }))
      const open = opens.map((openMinor, index) => ({
        invoiceId: BigInt(index + 1),
        invoiceDate: '2027-01-01',
        openMinor,
      }))
      const made = mades.map((openMinor, index) => ({
        invoiceId: BigInt(index + 90),
        invoiceDate: '2027-01-02',
        openMinor,
      }))
      const { placements, unallocatedMinor } = placeCredits(notes, open, made, isAutoApply)
      for (const invoice of [...open, ...made]) {
        const placed = placements.filter(({ invoiceId }) => invoiceId === invoice.invoiceId)
        expect(placed.reduce((sum, { amountMinor }) => sum + amountMinor, 0n) <= invoice.openMinor).toBe(true)
      }
      notes.forEach(({ totalMinor }, note) => {
        const placed = placements.filter((placement) => placement.note === note)
        expect(placed.reduce((sum, { amountMinor }) => sum + amountMinor, unallocatedMinor[note]!)).toBe(totalMinor)
        if (!isAutoApply) expect(placed.every(({ invoiceId }) => invoiceId === notes[note]!.invoiceId)).toBe(true)
      })
    }),
  )
})

test('the order of reports that add does not change the total of a cycle', () => {
  const reports = fc.array(fc.integer({ min: 0, max: 10_000 }), { minLength: 1, maxLength: 8 })
  const totalOf = (units: readonly number[]): Decimal =>
    units.reduce((total, one) => nextTotal(total, decimal(one / 4), false), ZERO)
  fc.assert(
    fc.property(reports, fc.infiniteStream(fc.nat()), (units, keys) => {
      const shuffled = units
        .map((one) => ({ one, key: keys.next().value }))
        .toSorted((a, b) => a.key - b.key)
        .map(({ one }) => one)
      expect(totalOf(shuffled)).toEqual(totalOf(units))
    }),
  )
})
