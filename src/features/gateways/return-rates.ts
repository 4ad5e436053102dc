import { addDays, type IsoDate } from '../../kernel/calendar.ts'
import { conflict } from '../../kernel/fault.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { outList, outInteger, outNumber, outObject, outWord } from '../../platform/wire/write.ts'
import { dayColumn, recordShape } from '../../platform/wire/columns.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { RATE_KINDS, type RateKind, rateKindsOf } from '../../rails/nacha/codes.ts'
import { gatewayFactsOf } from './facts.ts'
import { type Gateway, listReturnCodes } from './queries.ts'

/** Rates at which debits of ACH come back, beside the limits of Nacha: over a limit the bank asks questions, and may end the agreement. */

/** Days of ActionDate that count, today included. */
const DAYS = 60

/** The limits of Nacha in per cent. */
const LIMITS: Readonly<Record<RateKind, string>> = { unauthorised: '0.5', administrative: '3', all: '15' }

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

const rateShape = outObject(
  {
    Kind: outWord(
      RATE_KINDS,
      'unauthorised: R05, R07, R10, R11, R29 and R51; administrative: R02, R03 and R04; all: any code.',
    ),
    Count: outInteger('How many debits came back.'),
    Percent: outNumber('Their share of the debits, with two places.'),
    Limit: outNumber('The share that Nacha allows, in per cent.'),
  },
  'ReturnRate',
)

export const returnRatesShape = recordShape<ReturnRates>()('ReturnRates', {
  From: dayColumn(({ from }) => from, 'The first ActionDate that counts.'),
  To: dayColumn(({ to }) => to, 'The last ActionDate that counts: today.'),
  Debits: [outInteger('The debits that left in files for these days.'), ({ debits }) => debits],
  Rates: [
    outList(rateShape, 'The shares of debits that came back.'),
    ({ counts, debits }) =>
      RATE_KINDS.map((kind) => ({
        Kind: kind,
        Count: counts[kind],
        Percent: percentOf(counts[kind], debits),
        Limit: LIMITS[kind],
      })),
  ],
})
