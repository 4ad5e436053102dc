import type { Account, Moment, RealClock } from '../../kernel/context.ts'
import { addDays, type IsoDate, later } from '../../kernel/calendar.ts'
import type { Id } from '../../kernel/ids.ts'
import { instantOf } from '../../kernel/zone.ts'
import { groupBy } from '../../kernel/grouping.ts'
import type { Database, Queryable } from '../../platform/database/database.ts'
import type { Adapters } from '../gateways/contract.ts'
import { referenceFor } from '../gateways/references.ts'
import { announceReport, insertGatewayReports, listOpenDebits } from './queries.ts'

/**
 * Debits that were handed over one by one are asked about every day from their own on, until their result is known (§38). Each question is kept as a report
 * of this service's own, so that it is worked as those of the gateway are.
 */

const calledByLine = (adapters: Adapters): string[] =>
  [...adapters.values()].filter(({ submitLines }) => submitLines).map(({ type }) => type)

/** Keeps the questions of a day, each once; of one gateway, or of all. */
export async function askAboutDebits(
  { db, adapters, realClock }: { db: Database; adapters: Adapters; realClock: RealClock },
  account: Account,
  { today }: Moment,
  gatewayId: Id | null = null,
): Promise<void> {
  const open = await listOpenDebits(db.reader(account.id), account.id, calledByLine(adapters), today)
  const wanted = open.filter((debit) => gatewayId === null || debit.gatewayId === gatewayId)
  if (wanted.length === 0) return
  await db.transaction(account.id, async (tx) => {
    let isAny = false
    for (const [id, debits] of groupBy(wanted, (debit) => debit.gatewayId)) {
      const questions = debits.map((debit) => ({
        externalId: `asked ${debit.id} ${today}`,
        about: 'charge' as const,
        reference: referenceFor(debit),
        name: null,
      }))
      isAny = (await insertGatewayReports(tx, id, questions, instantOf(realClock()))) || isAny
    }
    if (isAny) await announceReport(tx)
  })
}

/** Finds the first day after another on which a debit is to be asked about; null: none is open. */
export async function nextDebitDay(
  adapters: Adapters,
  db: Queryable,
  account: Account['id'],
  day: IsoDate,
): Promise<IsoDate | null> {
  const open = await listOpenDebits(db, account, calledByLine(adapters), null)
  const [first] = open.map(({ actionDate }) => actionDate).toSorted()
  return first === undefined ? null : later(first, addDays(day, 1))
}
