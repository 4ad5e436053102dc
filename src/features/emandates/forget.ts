import type { RequestContext } from '../../kernel/context.ts'
import type { CustomerId, Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { unlinkMandate } from '../payment-methods/actions.ts'
import { deleteMandate, lockUnsignedMandatesOf } from './queries.ts'
import { recordMandate } from './record.ts'
import { lockBoth } from './sign.ts'
import type { Mandate, MandateDeps } from './types.ts'

/** Forgetting: the text of a mandate, its evidence and its PDF go together. That there was one stays, in its events. */

type Deps = Pick<MandateDeps, 'links' | 'realClock'>

async function forget(tx: Transaction, context: RequestContext, deps: Deps, mandate: Mandate): Promise<void> {
  await deleteMandate(tx, mandate.id)
  await recordMandate(tx, context, deps, 'emandate.deleted', mandate)
}

/** Forgets a mandate that was found to be kept no longer, unless a method has got it meanwhile. */
export async function forgetMandate(tx: Transaction, context: RequestContext, deps: Deps, id: Id): Promise<void> {
  const { method, mandate } = await lockBoth(tx, id)
  const isLinked = method?.emandateId === id
  if (!mandate || (mandate.signedAt !== null && isLinked)) return
  if (isLinked) await unlinkMandate(tx, context, method)
  await forget(tx, context, deps, mandate)
}

/**
 * Forgets what a customer was asked to sign and has not signed, before their methods go. Rule: a signed mandate is kept as it is, for its scheme asks for it.
 */
export async function forgetUnsignedMandates(
  tx: Transaction,
  context: RequestContext,
  deps: Deps,
  customer: CustomerId,
): Promise<void> {
  for (const mandate of await lockUnsignedMandatesOf(tx, customer)) await forget(tx, context, deps, mandate)
}
