import type pg from 'pg'
import { hasFunction } from '../database/is-there.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { minorText } from '../../kernel/money.ts'
import { doubtful, type Finding } from './finding.ts'

/** Batches of debits that nobody has submitted in time, of accounts on real time: what they were to pay is not paid. */

interface Forgotten {
  currency: string
  batches: number
  lines: number
  totalMinor: string
}

/** Counts the batches whose day has passed, with the sums of their lines by currency. */
export async function checkBatches(client: pg.Client, now: string): Promise<Finding[]> {
  if (!(await hasFunction(client, 'perennial.list_batches_day_passed(timestamptz)'))) return []
  const { rows } = await client.query<Forgotten>(
    `select currency, batches::int as "batches", lines::int as "lines", total_minor::text as "totalMinor"
       from perennial.list_batches_day_passed($1::timestamptz)`,
    [now],
  )
  return rows.length === 0 ? [] : [forgottenFinding(rows)]
}

/** Makes the finding about forgotten batches, of which there are some. */
export function forgottenFinding(rows: readonly Forgotten[]): Finding {
  const batches = rows.reduce((sum, row) => sum + row.batches, 0)
  const lines = rows.reduce((sum, row) => sum + row.lines, 0)
  const sums = rows.map(
    ({ currency, totalMinor }) => `${minorText(BigInt(totalMinor), digitsOf(currency))} ${currency}`,
  )
  return doubtful(
    'batches',
    `${batches === 1 ? '1 batch' : `${batches} batches`} with ${lines === 1 ? '1 debit' : `${lines} debits`} (${sums.join(', ')}) ${batches === 1 ? 'was' : 'were'} not submitted by the last moment`,
    'list them with GET /v1/batches?isDayPassed=true; give each a new ActionDate and submit it, or cancel it',
  )
}
