import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decimal } from '../../kernel/decimal.ts'
import {
  netSettled,
  settleAmount,
  settleGivenBack,
  settleLines,
  type Settling,
  type SettlingInvoice,
} from './settle.ts'

const taxOf = (rate: string, amountMinor: bigint, name = 'VAT') => ({
  name,
  rate: decimal(rate),
  taxNumber: null,
  amountMinor,
  settledMinor: 0n,
})

const invoiceOf = (netMinor: bigint, ...taxes: ReturnType<typeof taxOf>[]): SettlingInvoice => ({
  totalMinor: taxes.reduce((sum, { amountMinor }) => sum + amountMinor, netMinor),
  settledMinor: 0n,
  taxes,
})

const after = (invoice: SettlingInvoice, { grossMinor, taxes }: Settling): SettlingInvoice => ({
  ...invoice,
  settledMinor: invoice.settledMinor + grossMinor,
  taxes: invoice.taxes.map((tax, place) => ({
    ...tax,
    settledMinor: tax.settledMinor + taxes[place]!.amountMinor,
  })),
})

type Step = (invoice: SettlingInvoice) => Settling
const byAmount =
  (gross: bigint): Step =>
  (invoice) =>
    settleAmount(invoice, gross)
const byLines =
  (net: bigint): Step =>
  (invoice) =>
    settleLines(invoice, net)
const whole: Step = (invoice) => settleAmount(invoice, invoice.totalMinor - invoice.settledMinor)

/** Gross amount and taxes of each step, in minor units. */
function settled(invoice: SettlingInvoice, ...steps: Step[]): bigint[][] {
  let now = invoice
  return steps.map((step) => {
    const one = step(now)
    now = after(now, one)
    return [one.grossMinor, ...one.taxes.map(({ amountMinor }) => amountMinor)]
  })
}

/** 149.00 + 23 % = 183.27. */
const K = invoiceOf(14_900n, taxOf('0.23', 3427n))
/** 9.99 + 15 % = 11.49. */
const SMALL = invoiceOf(999n, taxOf('0.15', 150n))

describe('the tax of a settlement is what it adds to the tax of all before', () => {
  test.each<[string, SettlingInvoice, Step[], bigint[][]]>([
    [
      '183.27 by a line of 10.00, by an amount of 50.00, then whole',
      K,
      [byLines(1000n), byAmount(5000n), whole],
      [
        [1230n, 230n],
        [5000n, 935n],
        [12_097n, 2262n],
      ],
    ],
    ['a note of 7.00 on 183.27', K, [byAmount(700n)], [[700n, 131n]]],
    ['a note of 60.00 on 183.27', K, [byAmount(6000n)], [[6000n, 1122n]]],
    [
      '10.00 of 35.65, then all that is left',
      invoiceOf(3100n, taxOf('0.15', 465n)),
      [byAmount(1000n), whole],
      [
        [1000n, 130n],
        [2565n, 335n],
      ],
    ],
    [
      '11.49 by eleven notes of 1.00 and one of 0.49',
      SMALL,
      [...Array.from({ length: 11 }, () => byAmount(100n)), byAmount(49n)],
      [...[13n, 13n, 13n, 13n, 13n, 13n, 13n, 13n, 13n, 14n, 13n].map((tax) => [100n, tax]), [49n, 6n]],
    ],
    [
      '1.20 by three amounts of 0.40',
      invoiceOf(101n, taxOf('0.19', 19n)),
      [byAmount(40n), byAmount(40n), byAmount(40n)],
      [
        [40n, 6n],
        [40n, 7n],
        [40n, 6n],
      ],
    ],
    [
      'a whole invoice of two taxes',
      invoiceOf(1000n, taxOf('0.05', 50n, 'GST'), taxOf('0.07', 70n, 'PST')),
      [whole],
      [[1120n, 50n, 70n]],
    ],
    [
      'JPY 1,000 + 10 % by 333',
      invoiceOf(1000n, taxOf('0.1', 100n)),
      [byAmount(333n), byAmount(333n), byAmount(434n)],
      [
        [333n, 30n],
        [333n, 31n],
        [434n, 39n],
      ],
    ],
    [
      'KWD 1.005 + 5 % by a line of 0.505',
      invoiceOf(1005n, taxOf('0.05', 50n)),
      [byLines(505n), whole],
      [
        [530n, 25n],
        [525n, 25n],
      ],
    ],
    ['an invoice without taxes', invoiceOf(500n), [byLines(200n), whole], [[200n], [300n]]],
  ])('%s', (_, invoice, steps, expected) => {
    expect(settled(invoice, ...steps)).toEqual(expected)
  })

  test('by lines one by one: 600 of 1,000 lines of 0.04 + 15 % give back 3.60 of 6.00', () => {
    const lines = Array.from({ length: 600 }, () => byLines(4n))
    const taxes = settled(invoiceOf(4000n, taxOf('0.15', 600n)), ...lines).map(([, tax]) => tax as bigint)
    expect(taxes.reduce((sum, tax) => sum + tax, 0n)).toBe(360n)
  })

  test('of what the service gives back it is rounded by itself: 22.00 net twice of 46.00 takes 3.30 each', () => {
    const invoice = invoiceOf(4400n, taxOf('0.15', 660n))
    const first = settleGivenBack(invoice, 2200n)
    expect([first.grossMinor, settleGivenBack(after(invoice, first), 2200n).grossMinor]).toEqual([2530n, 2530n])
  })
})

describe('the bounds of a settlement', () => {
  test('a line after an amount takes no more tax than is left', () => {
    expect(settled(K, byAmount(18_000n), byLines(10_000n))[1]).toEqual([10_061n, 61n])
  })

  test('raise the first tax where more tax than gross would be left', () => {
    const wasLines: SettlingInvoice = {
      totalMinor: 110n,
      settledMinor: 98n,
      taxes: [
        { ...taxOf('0.05', 5n, 'GST'), settledMinor: 0n },
        { ...taxOf('0.05', 5n, 'PST'), settledMinor: 0n },
      ],
    }
    expect(settleAmount(wasLines, 9n).taxes.map(({ amountMinor }) => amountMinor)).toEqual([5n, 4n])
  })

  test('cut the last tax where the taxes would be over the gross', () => {
    const isBehind: SettlingInvoice = {
      totalMinor: 110n,
      settledMinor: 60n,
      taxes: [
        { ...taxOf('0.05', 5n, 'GST'), settledMinor: 0n },
        { ...taxOf('0.05', 5n, 'PST'), settledMinor: 0n },
      ],
    }
    expect(settleAmount(isBehind, 4n).taxes.map(({ amountMinor }) => amountMinor)).toEqual([3n, 1n])
  })

  test('lines of more net than is left take all of the tax, so that their gross is over what is left', () => {
    // 0.04 and two taxes of 0.01, whose net is settled: of what is left, 0.02, all is tax.
    const isNetDone: SettlingInvoice = {
      ...invoiceOf(4n, taxOf('0.15', 1n, 'GST'), taxOf('0.19', 1n, 'PST')),
      settledMinor: 4n,
    }
    for (const settle of [settleLines, settleGivenBack])
      expect(settle(isNetDone, 1n)).toMatchObject({ grossMinor: 3n, taxes: [{ amountMinor: 1n }, { amountMinor: 1n }] })
    expect(settled(isNetDone, byAmount(2n))).toEqual([[2n, 1n, 1n]])
  })

  test('an amount after much tax takes none, and never gives some back', () => {
    const isAhead = { ...SMALL, settledMinor: 200n, taxes: [{ ...SMALL.taxes[0]!, settledMinor: 100n }] }
    expect(settleAmount(isAhead, 100n)).toMatchObject({ netMinor: 100n, taxes: [{ amountMinor: 0n }] })
  })
})

const rates = fc.array(fc.constantFrom('0.05', '0.07', '0.15', '0.19', '0.25', '1', '0'), { maxLength: 3 })
const steps = fc.array(
  fc.record({
    kind: fc.constantFrom('amount', 'lines', 'givenBack' as const),
    percent: fc.integer({ min: 1, max: 120 }),
  }),
  { maxLength: 25 },
)

test('in any order of amounts and lines every tax stays inside its bounds, and all of it comes back when all is credited', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 30_000n }), rates, steps, (net, some, asked) => {
      const taxes = some.map((rate, place) => {
        const { coefficient, scale } = decimal(rate)
        const unit = 10n ** BigInt(scale)
        return taxOf(rate, (2n * net * coefficient + unit) / (2n * unit), `T${place}`)
      })
      let invoice = invoiceOf(net, ...taxes)
      const take = (one: Settling): void => {
        if (one.grossMinor <= 0n || one.grossMinor > invoice.totalMinor - invoice.settledMinor) return
        expect(one.taxes.reduce((sum, { amountMinor }) => sum + amountMinor, one.netMinor)).toBe(one.grossMinor)
        expect(one.netMinor >= 0n && one.taxes.every(({ amountMinor }) => amountMinor >= 0n)).toBe(true)
        invoice = after(invoice, one)
        const left = invoice.taxes.map(({ amountMinor, settledMinor }) => amountMinor - settledMinor)
        expect(left.every((tax) => tax >= 0n)).toBe(true)
        expect(left.reduce((sum, tax) => sum + tax, 0n) <= invoice.totalMinor - invoice.settledMinor).toBe(true)
        expect(netSettled(invoice) <= net).toBe(true)
      }
      for (const { kind, percent } of asked) {
        const leftMinor = invoice.totalMinor - invoice.settledMinor
        const part = ((kind === 'amount' ? leftMinor : net) * BigInt(percent)) / (kind === 'amount' ? 120n : 400n)
        take(
          kind === 'amount'
            ? settleAmount(invoice, part)
            : (kind === 'lines' ? settleLines : settleGivenBack)(invoice, part),
        )
      }
      take(whole(invoice))
      expect(invoice.settledMinor).toBe(invoice.totalMinor)
      expect(invoice.taxes.map(({ settledMinor }) => settledMinor)).toEqual(taxes.map(({ amountMinor }) => amountMinor))
    }),
    { numRuns: 2000 },
  )
})
