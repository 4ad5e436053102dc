import type { Id } from '../../kernel/ids.ts'
import { dayColumn, recordShape } from '../../platform/wire/columns.ts'
import { outId, outInteger, outList, outNumber, outObject, outWord } from '../../platform/wire/write.ts'
import { RATE_KINDS, type RateKind } from '../../rails/nacha/codes.ts'
import { RATE_LIMITS, type ReturnRates } from './return-rates.ts'

/** Rates of returns as they are answered, and recorded in events. */

/** Returns a share in per cent with two places, half up. */
const percentOf = (count: number, debits: number): string =>
  debits === 0 ? '0' : String(Math.floor((count * 20_000 + debits) / (debits * 2)) / 100)

const rateFields = {
  Kind: outWord(
    RATE_KINDS,
    'unauthorised: R05, R07, R10, R11, R29 and R51; administrative: R02, R03 and R04; all: any code.',
  ),
  Count: outInteger('How many debits came back.'),
  Percent: outNumber('Their share of the debits, with two places.'),
  Limit: outNumber('The share that Nacha allows, in per cent.'),
}
const rateShape = outObject(rateFields, 'ReturnRate')

const returnRateOf = ({ counts, debits }: Pick<ReturnRates, 'counts' | 'debits'>, kind: RateKind) => ({
  Kind: kind,
  Count: counts[kind],
  Percent: percentOf(counts[kind], debits),
  Limit: String(RATE_LIMITS[kind] / 100),
})

export const returnRatesShape = recordShape<ReturnRates>()('ReturnRates', {
  From: dayColumn(({ from }) => from, 'The first ActionDate that counts.'),
  To: dayColumn(({ to }) => to, 'The last ActionDate that counts: today.'),
  Debits: [outInteger('The debits that left in files for these days.'), ({ debits }) => debits],
  Rates: [
    outList(rateShape, 'The shares of debits that came back.'),
    (rates) => RATE_KINDS.map((kind) => returnRateOf(rates, kind)),
  ],
})

const rateReportedShape = outObject({ gatewayID: outId(), Debits: outInteger(), ...rateFields })

/** Writes a rate that has reached a bound, with how many of which debits came back. */
export const rateReportedToWire = (gatewayId: Id, rates: ReturnRates, kind: RateKind) =>
  rateReportedShape.write({ gatewayID: gatewayId, Debits: rates.debits, ...returnRateOf(rates, kind) })
