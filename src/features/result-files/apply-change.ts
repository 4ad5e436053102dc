import type { Transaction } from '../../platform/database/database.ts'
import { correctionOf } from '../../rails/nacha/codes.ts'
import { lockCustomers } from '../customers/queries.ts'
import { findLine, renameSentAccount } from '../batches/line-queries.ts'
import { correctBankAccount, isAccountOf } from '../payment-methods/renew.ts'
import { lockMethod } from '../payment-methods/queries.ts'
import type { Reading } from './deps.ts'
import { hashOf } from './known.ts'
import { lineHash } from './line-hash.ts'
import { sealTexts } from './list-lines.ts'
import type { ChangeLine } from './nacha.ts'
import { NOT_COMPARED } from './not-compared.ts'
import { getFileProgress, sendFileProgress } from './progress-queries.ts'
import { drawLineIds, sendListedLines } from './queries.ts'
import { listReadBookings, sendReadBookings } from './reference-queries.ts'

/**
 * Corrections of accounts by their banks. Rule: the method of the debit follows at once, so that its next entry is right; what names no debit of the
 * gateway, corrects no account, or is about an account that is another by now, waits for a person. Debits that went to the account as it was named
 * before count as debits of the corrected one: what comes back of them, and what is corrected of them later, is about it.
 */

/** Applies a correction, or lists it, in the transaction that notes it. One that another file had changes nothing. */
export async function applyChange(tx: Transaction, reading: Reading, line: ChangeLine): Promise<void> {
  const { deps, context, file } = reading
  const booking = hashOf(JSON.stringify(['change', String(file.gatewayId), line.bankReference, line.corrected]))
  const known = await listReadBookings(tx, file, [{ place: 0n, booking, isOfGateway: true }])
  const isKnown = known.length > 0
  const isApplied = !isKnown && (await follow(tx, reading, line))
  if (!isKnown) {
    const [id] = await drawLineIds(tx, 1)
    const texts = { reference: line.reference, name: line.name }
    const written = {
      id: id as bigint,
      kind: 'change' as const,
      dated: line.on,
      amountMinor: null,
      currency: null,
      code: line.code,
      sealedTexts: sealTexts(deps, tx.account, id as bigint, texts),
      isCredit: null,
      ...NOT_COMPARED,
      likeness: lineHash(deps.envelope, tx.account)(booking),
      hasBankReference: true,
      paymentId: line.paymentId,
      isApplied,
    }
    sendListedLines(tx, file.id, [written], context.moment.now)
  }
  sendReadBookings(tx, file, [booking], context.moment.now)
  const progress = await getFileProgress(tx, file.id)
  const one = (is: boolean): number => (is ? 1 : 0)
  sendFileProgress(tx, file.id, {
    linesDone: 1,
    counts: {
      matched: one(isApplied),
      applied: one(isApplied),
      alreadyKnown: one(isKnown),
      unmatched: one(!isKnown && !isApplied),
      payments: 0,
    },
    progress,
  })
}

/** Lets the method of a debit follow a correction. Returns whether it is as its bank has it. */
async function follow(tx: Transaction, { deps, context }: Reading, line: ChangeLine): Promise<boolean> {
  const correction = correctionOf(line.code, line.corrected)
  const found = line.paymentId === null ? undefined : await findLine(tx, tx.account, line.paymentId)
  if (!correction || !found) return false
  await lockCustomers(tx, [found.customerId], true)
  const method = await lockMethod(tx, tx.account, found.paymentMethodId)
  if (method?.kind !== 'ach') return false
  const isAsSent = found.sentNumberHash !== null && method.numberHash?.equals(found.sentNumberHash) === true
  if (!isAsSent && !isAccountOf(deps.envelope, tx.account, method, correction)) return false
  const after = await correctBankAccount(tx, context, deps.envelope, method, { ...correction, code: line.code })
  if (found.sentNumberHash && after) await renameSentAccount(tx, method.id, { from: found.sentNumberHash, to: after })
  return true
}
