import type { Transaction } from '../../platform/database/database.ts'
import type { Check, Report } from '../../platform/checks/difference.ts'
import {
  getCounters,
  getNumberEnds,
  listCreditGaps,
  listInvoiceGaps,
  listNotesBeyond,
  listNumberRaises,
  listNumbersGivenTwice,
  listNumbersGivenUp,
  type NumberGap,
  type NumberRaise,
} from './numbers-queries.ts'

/**
 * Number sequences. Rule: invoice numbers are without gaps, except for those that a raise of the account's next number left, which has an
 * event; credit notes of the service take every number of theirs, unless an event shows that one was deleted or renumbered.
 */

/** More gaps than this in one account are one catastrophe, of which only the first is reported. */
const GAPS_MAX = 1000

export const invoiceNumbers: Check = {
  name: 'invoice numbers',
  isAtOnce: true,
  async run(tx, report, reading) {
    reading.goOn()
    const { account } = tx
    const { nextInvoiceNumber } = await getCounters(tx, account)
    const { last, count } = await getNumberEnds(tx, account)
    const gaps = await listInvoiceGaps(tx, account, GAPS_MAX)
    if (nextInvoiceNumber <= last)
      report({
        recordType: 'account',
        recordId: account,
        what: 'next invoice number',
        stored: String(nextInvoiceNumber),
        expected: `${last + 1n} or more, for ${last} is given`,
      })
    else if (nextInvoiceNumber > last + 1n)
      gaps.push({ from: last + 1n, until: nextInvoiceNumber, recordId: null, customerId: null })
    if (gaps.length > 0) await reportUnexplained(tx, gaps, report)
    return Number(count)
  },
}

// Events of one type are found only by reading all of them, so they are read when there is something to explain.
async function reportUnexplained(tx: Transaction, gaps: readonly NumberGap[], report: Report): Promise<void> {
  const raises = await listNumberRaises(tx, tx.account, 'invoice')
  for (const gap of gaps) {
    const { from, until } = unexplainedOf(gap, raises) ?? {}
    if (from === undefined || until === undefined) continue
    const missing = until - from === 1n ? String(from) : `${from} to ${until - 1n}`
    report({
      customerId: gap.customerId,
      recordType: gap.recordId === null ? 'account' : 'invoice',
      recordId: gap.recordId ?? tx.account,
      what: gap.recordId === null ? 'next invoice number' : 'number',
      stored: String(gap.until),
      expected: `${from}, for ${missing} is missing and no event tells that the number was raised`,
    })
  }
}

/** Returns the part of a gap that the raises beginning with it do not explain; undefined when they explain all of it. */
export function unexplainedOf(
  gap: Pick<NumberGap, 'from' | 'until'>,
  raises: readonly NumberRaise[],
): { from: bigint; until: bigint } | undefined {
  let { from } = gap
  for (;;) {
    if (from === gap.until) return undefined
    const raise = raises.find((candidate) => candidate.from === from && candidate.to > from)
    if (!raise || raise.to > gap.until) return { from, until: gap.until }
    from = raise.to
  }
}

export const creditNumbers: Check = {
  name: 'credit note numbers',
  isAtOnce: true,
  async run(tx, report, reading) {
    reading.goOn()
    const { account } = tx
    const { nextCreditNumber } = await getCounters(tx, account)
    const gaps = await listCreditGaps(tx, account, nextCreditNumber, GAPS_MAX)
    // As with raises: events are read when there is something to explain.
    const givenUp = gaps.length === 0 ? [] : await listNumbersGivenUp(tx, account)
    const raised = gaps.length === 0 ? [] : await listNumberRaises(tx, account, 'credit')
    const raises = [...raised, ...givenUp.map(({ number }) => ({ from: number, to: number + 1n }))]
    for (const { from, until } of gaps.flatMap((gap) => unexplainedOf(gap, raises) ?? []))
      report({
        recordType: 'account',
        recordId: account,
        what: 'numbers of credit notes',
        stored: until - from === 1n ? `no CN-${from}` : `no CN-${from} to CN-${until - 1n}`,
        expected: `every number below CN-${nextCreditNumber}`,
      })
    for (const { id, customerId, number } of await listNotesBeyond(tx, account, nextCreditNumber, GAPS_MAX))
      report({
        customerId,
        recordType: 'credit_note',
        recordId: id,
        what: 'number',
        stored: number,
        expected: `CN- and a number below the account's next, ${nextCreditNumber}`,
      })
    for (const { id, customerId, number, firstId } of await listNumbersGivenTwice(tx, account, GAPS_MAX))
      report({
        customerId,
        recordType: 'credit_note',
        recordId: id,
        what: 'number',
        stored: number,
        expected: `another, for credit note ${firstId} has it`,
      })
    return Number(nextCreditNumber - 1n)
  },
}
