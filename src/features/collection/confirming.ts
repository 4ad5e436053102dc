import type { RequestContext } from '../../kernel/context.ts'
import type { Id } from '../../kernel/ids.ts'
import { factsOfCharge, findKnownCharge } from '../gateways/charge-queries.ts'
import type { Gateway } from '../gateways/queries.ts'
import type { ClientFacts } from '../gateways/storing.ts'
import { clientStep } from '../payment-methods/card-fields.ts'
import { type CallDeps, callTry, writeAnswer } from './calls.ts'
import { claimTry } from './try-queries.ts'

/** A charge of an invoice that its customer confirms to their bank by the script of the gateway. */

/** The charge that waits, and its gateway. */
export interface Confirming {
  gateway: Gateway
  paymentId: Id
}

/** Returns the facts with which the page's script has a charge confirmed; empty: there is nothing to confirm any more. Throws 503 without an answer. */
export async function stepOfTry(
  deps: CallDeps,
  context: RequestContext,
  { gateway, paymentId }: Confirming,
): Promise<{ client?: ClientFacts }> {
  const { id: account } = context.account
  const charge = await findKnownCharge(deps.db.reader(account), account, gateway.id, paymentId)
  return charge ? clientStep(deps, context, gateway, factsOfCharge(charge)) : {}
}

/**
 * Asks what became of a charge that waits, for whoever has come back from their bank, or ends it for whoever does not want to pay. One that somebody asks about
 * already is open.
 */
export async function answerTry(
  deps: CallDeps,
  context: RequestContext,
  { paymentId }: Confirming,
  answer: 'confirmed' | 'cancel',
): Promise<'succeeded' | 'failed' | 'open'> {
  const t = await deps.db.transaction(context.account.id, (tx) => claimTry(tx, paymentId, 'idle'))
  if (!t) return 'open'
  const isWoken = answer === 'confirmed'
  return writeAnswer(deps, context, t, await callTry(deps, context, t, undefined, { isWoken }))
}
