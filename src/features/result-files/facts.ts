import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { ResultLine } from '../../platform/iso20022/result-lines.ts'
import { lockCustomers } from '../customers/queries.ts'
import type { SentPayment } from './bookings.ts'
import { listCollected, listCustomersOfPayments, listSentBatches, listSentPayments } from './match-queries.ts'
import { batchTokenOf, isAboutBatch, paymentIdOf } from './references.ts'
import type { NamedByLine, SentBatch } from './rules.ts'

/** Facts about what the lines of a portion name. What is changed in the portion is changed here too, so that the next line sees it. */
export interface NamedFacts {
  account: AccountId
  gatewayId: Id
  payments: Map<Id, SentPayment>
  batches: ReadonlyMap<string, SentBatch>
}

/** Locks the customers of the payments that lines name, and reads these and the batches that are named. */
export async function factsOfNamed(tx: Transaction, gatewayId: Id, lines: readonly ResultLine[]): Promise<NamedFacts> {
  const ids = new Set<Id>()
  const tokens = new Map<string, boolean>()
  for (const line of lines) {
    if (line.kind === 'over') continue
    const id = paymentIdOf(tx.account, line.references)
    const token = batchTokenOf(line.references)
    if (id !== null) ids.add(id)
    // What a payment has from its block or file counts for the line of that.
    const isOfBatch = id === null || (line.kind === 'status' && line.isInherited)
    if (isOfBatch && token !== null) tokens.set(token, tokens.get(token) === true || isAboutBatch(tx.account, line))
  }
  if (ids.size > 0) {
    const customers = await listCustomersOfPayments(tx, [...ids])
    if (customers.length > 0) await lockCustomers(tx, customers, true)
  }
  const [payments, batches] = await Promise.all([
    ids.size === 0 ? [] : listSentPayments(tx, [...ids]),
    tokens.size === 0 ? [] : listSentBatches(tx, [...tokens.keys()]),
  ])
  const whole = await Promise.all(
    batches.map(async (batch): Promise<SentBatch> => ({
      ...batch,
      payments:
        batch.gatewayId === gatewayId && tokens.get(batch.token) === true ? await listCollected(tx, batch.id) : [],
    })),
  )
  return {
    account: tx.account,
    gatewayId,
    payments: new Map(payments.map((payment) => [payment.id, payment])),
    batches: new Map(whole.map((batch) => [batch.token, batch])),
  }
}

const NONE: NamedByLine = { payment: undefined, batch: undefined, otherPayment: undefined, isOtherBatch: false }

/** Returns what a line names. Rule: a payment goes before a batch; those of other gateways are theirs to settle. */
export function namedIn({ account, gatewayId, payments, batches }: NamedFacts, line: ResultLine): NamedByLine {
  if (line.kind === 'over') return NONE
  const id = paymentIdOf(account, line.references)
  if (id !== null) {
    const payment = payments.get(id)
    return payment?.gatewayId === gatewayId ? { ...NONE, payment } : { ...NONE, otherPayment: payment }
  }
  const token = batchTokenOf(line.references)
  const batch = token === null ? undefined : batches.get(token)
  if (!batch) return NONE
  return batch.gatewayId === gatewayId ? { ...NONE, batch } : { ...NONE, isOtherBatch: true }
}
