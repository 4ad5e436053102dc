import { assert } from '../../kernel/assert.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { lockCustomer } from '../customers/queries.ts'
import { askGateway } from '../gateways/call.ts'
import type { MandateFound, StoredAccount } from '../gateways/contract.ts'
import { findGateway } from '../gateways/queries.ts'
import { readReference, referenceFor } from '../gateways/references.ts'
import { addMethod, keptAccountFields, type OnMethodChanged } from '../payment-methods/actions.ts'
import { lockToken } from '../payment-methods/intent-queries.ts'
import { drawMethodId } from '../payment-methods/queries.ts'
import { removeAtGateway } from '../payment-methods/removal.ts'
import { type SetupCallDeps, setupOf } from './actions.ts'
import {
  claimLook,
  closeSetup,
  findSetup,
  isOverdue,
  lockSetup,
  type MandateSetup,
  noteSigned,
  planLook,
  wantLook,
} from './queries.ts'
import { recordSetup } from './record.ts'

/** Looks at set-ups: their gateway is asked what has become of them, and that is written once. */

export interface LookDeps extends SetupCallDeps {
  onMethodChanged: OnMethodChanged
}

/** Looks at a set-up, unless somebody did within ten seconds. */
export async function lookAt(deps: LookDeps, context: RequestContext, id: Id): Promise<void> {
  const { account } = context
  if (!(await deps.db.transaction(account.id, (tx) => claimLook(tx, id)))) return
  const setup = await findSetup(deps.db.reader(account.id), account.id, id)
  if (!setup || setup.outcome !== null) return
  const found = await ask(deps, context, setup)
  await deps.db.transaction(account.id, (tx) => write(tx, context, deps, setup, found))
}

async function ask(deps: LookDeps, context: RequestContext, setup: MandateSetup): Promise<MandateFound> {
  const { id, gatewayId, gatewayReference, begunAt: sentAt } = setup
  if (gatewayReference === null) return { kind: 'open' }
  const gateway = await findGateway(deps.db.reader(context.account.id), context.account.id, gatewayId)
  assert(gateway, `set-up ${id} has its gateway`)
  return askGateway<MandateFound>(
    deps,
    context,
    gateway,
    async (adapter, call) =>
      (await adapter.findMandate?.(call, { reference: referenceFor(setup), gatewayReference, sentAt })) ?? {
        kind: 'unknown',
      },
  )
}

async function write(
  tx: Transaction,
  context: RequestContext,
  deps: LookDeps,
  { id, customerId }: MandateSetup,
  found: MandateFound,
): Promise<void> {
  const customer = await lockCustomer(tx, tx.account, customerId)
  const setup = await lockSetup(tx, id)
  if (!customer || !setup || setup.outcome !== null) return
  switch (found.kind) {
    case 'account':
      return customer.archivedAt === null
        ? keep(tx, context, deps, setup, found)
        : giveUp(tx, context, setup, found.token)
    case 'declined':
      return close(tx, context, setup, { outcome: 'failed', reason: found.message, paymentMethodId: null })
    case 'signed':
      await noteSigned(tx, id)
      await planLook(tx, id, 10)
      break
    case 'unknown':
    case 'not_sent':
      await planLook(tx, id, 1)
      break
    case 'open':
    case 'none':
      break
  }
  const isGivenUp = found.kind === 'open' || found.kind === 'none' || found.kind === 'signed'
  if (isGivenUp && (await isOverdue(tx, id)))
    await close(tx, context, setup, { outcome: 'expired', reason: null, paymentMethodId: null })
}

/** Writes the method that a mandate is for. */
async function keep(
  tx: Transaction,
  context: RequestContext,
  { envelope, onMethodChanged }: LookDeps,
  { id, customerId, gatewayId, isPrimary }: MandateSetup,
  account: StoredAccount,
): Promise<void> {
  await lockToken(tx, { gatewayId, gatewayToken: account.token })
  const methodId = await drawMethodId(tx)
  const method = await addMethod(tx, context, methodId, {
    ...keptAccountFields(envelope, tx.account, methodId, account),
    ...{ customerId, gatewayId, isPrimary, state: 'verified' },
  })
  const setup = await setupOf(tx, tx.account, id)
  await close(tx, context, setup, { outcome: 'done', reason: null, paymentMethodId: method.id })
  await onMethodChanged(tx, context, method)
}

/** Has the mandate of an archived customer cancelled at its gateway. */
async function giveUp(tx: Transaction, context: RequestContext, setup: MandateSetup, gatewayToken: string) {
  await removeAtGateway(tx, { gatewayId: setup.gatewayId, gatewayToken })
  const reason = 'The customer was archived before the mandate was given.'
  await close(tx, context, setup, { outcome: 'failed', reason, paymentMethodId: null })
}

const TYPES = {
  done: 'mandate_setup.done',
  failed: 'mandate_setup.failed',
  expired: 'mandate_setup.expired',
} as const

async function close(
  tx: Transaction,
  context: RequestContext,
  { id }: MandateSetup,
  end: { outcome: keyof typeof TYPES; reason: string | null; paymentMethodId: Id | null },
): Promise<void> {
  await closeSetup(tx, id, end)
  await recordSetup(tx, context, TYPES[end.outcome], await setupOf(tx, tx.account, id))
}

/** Has a set-up looked at whose storing its gateway reports; `not_here` where none has that reference. */
export async function setupReported(
  deps: Pick<SetupCallDeps, 'db'>,
  { account }: Pick<RequestContext, 'account'>,
  gatewayId: Id,
  reference: string,
): Promise<'applied' | 'not_here'> {
  const named = readReference(reference)
  const setup = named && (await findSetup(deps.db.reader(account.id), account.id, named.id))
  if (!setup || setup.nonce !== named.nonce || setup.gatewayId !== gatewayId) return 'not_here'
  if (setup.outcome === null) await deps.db.transaction(account.id, (tx) => wantLook(tx, setup.id))
  return 'applied'
}
