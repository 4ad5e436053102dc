import { addDays, type IsoDate } from '../../kernel/calendar.ts'
import { conflict } from '../../kernel/fault.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { outId, outList, outInteger, outNumber, outObject, outWord } from '../../platform/wire/write.ts'
import { dayColumn, recordShape } from '../../platform/wire/columns.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { RATE_KINDS, type RateKind, rateKindsOf } from '../../rails/nacha/codes.ts'
import { gatewayFactsOf } from './facts.ts'
import { type Gateway, listReturnCodes, type RatesReported } from './queries.ts'

/** Rates at which debits of ACH come back, beside the limits of Nacha: over a limit the bank asks questions, and may end the agreement. */

/** Days of ActionDate that count, today included. */
const DAYS = 60

/** The limits of Nacha in hundredths of a per cent. */
const LIMITS: Readonly<Record<RateKind, number>> = { unauthorised: 50, administrative: 300, all: 1_500 }

/** Returns of a kind below which its rate means nothing: one of a hundred debits would be over a limit. */
const REPORTED_FROM = 5

/** Days for which a bound that was reported is not reported again. */
const REPORTED_DAYS = 30

export interface ReturnRates {
  from: IsoDate
  to: IsoDate
  debits: number
  counts: Readonly<Record<RateKind, number>>
}

/** Counts the debits that left through a gateway in the last days, and how many of them came back. Throws a conflict for one of another kind. */
export async function returnRatesOf(
  db: Queryable,
  account: AccountId,
  gateway: Pick<Gateway, 'id' | 'type'>,
  today: IsoDate,
): Promise<ReturnRates> {
  if (!gatewayFactsOf(gateway.type).nachaCompany)
    throw conflict('gateway_unfit', `The gateway ${gateway.id} makes no NACHA files, whose returns have limits.`)
  const from = addDays(today, 1 - DAYS)
  const found = await listReturnCodes(db, account, gateway.id, { from, to: today })
  const counts = { unauthorised: 0, administrative: 0, all: 0 }
  let debits = 0
  for (const { code, count } of found) {
    debits += count
    for (const kind of rateKindsOf(code)) counts[kind] += count
  }
  return { from, to: today, debits, counts }
}

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

export const returnRateOf = ({ counts, debits }: Pick<ReturnRates, 'counts' | 'debits'>, kind: RateKind) => ({
  Kind: kind,
  Count: counts[kind],
  Percent: percentOf(counts[kind], debits),
  Limit: String(LIMITS[kind] / 100),
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

/** The kind of a rate that has reached a bound, with how many of which debits came back. */
export const rateReportedShape = outObject({ gatewayID: outId(), Debits: outInteger(), ...rateFields })

/** Returns the bound that a rate has reached: the limit, or half of it. */
function reachedBy(kind: RateKind, { counts, debits }: Pick<ReturnRates, 'counts' | 'debits'>) {
  const count = counts[kind]
  if (count < REPORTED_FROM) return null
  if (count * 10_000 >= LIMITS[kind] * debits) return 'limit' as const
  return count * 20_000 >= LIMITS[kind] * debits ? ('half' as const) : null
}

/** Returns the bounds that rates have reached and that were not reported lately. Rule: a limit that was reported covers its half. */
export function boundsToReport(
  rates: ReturnRates,
  reported: RatesReported,
): { kind: RateKind; bound: 'half' | 'limit' }[] {
  return RATE_KINDS.flatMap((kind) => {
    const bound = reachedBy(kind, rates)
    const last = reported[kind]
    if (bound === null) return []
    const isReported =
      last && rates.to < addDays(last.on, REPORTED_DAYS) && (last.bound === 'limit' || bound === 'half')
    return isReported ? [] : [{ kind, bound }]
  })
}
