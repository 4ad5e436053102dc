import type { Database } from '../../platform/database/database.ts'
import type { Envelope } from '../../platform/envelope/envelope.ts'
import type { Adapters, GatewayAdapter, GatewayCall, Held } from './contract.ts'
import { manual } from './manual.ts'
import { isHeldNow } from './queries.ts'
import { sandboxAdapter } from './sandbox.ts'
import { sepaFile } from './sepa-file.ts'

/**
 * Returns an adapter that moves no money while its gateway is held, whatever the caller has looked at before: the database is asked right before
 * each call, so that nothing leaves after a failover on the word of the server before it.
 */
function heldBack(db: Database, adapter: GatewayAdapter): GatewayAdapter {
  const unlessHeld =
    <Asked, Answer>(ask: (call: GatewayCall, asked: Asked) => Promise<Answer>) =>
    async (call: GatewayCall, asked: Asked): Promise<Answer | Held> =>
      (await isHeldNow(db.lookup(call.accountId), call.accountId, call.gatewayId)) ? { kind: 'held' } : ask(call, asked)
  const { charge, refund, buildBatch, submitBatch } = adapter
  return {
    ...adapter,
    ...(charge && { charge: unlessHeld(charge) }),
    ...(refund && { refund: unlessHeld(refund) }),
    ...(buildBatch && { buildBatch: unlessHeld(buildBatch) }),
    ...(submitBatch && { submitBatch: unlessHeld(submitBatch) }),
  }
}

/** Makes the table of the gateways of this version, by their type; others stand in the place of those of their type. */
export const makeAdapters = (
  { db, envelope }: { db: Database; envelope: Envelope },
  ...others: readonly GatewayAdapter[]
): Adapters =>
  new Map(
    [manual, sepaFile, sandboxAdapter(db, envelope.keyedHash('sandbox')), ...others].map((adapter) => [
      adapter.type,
      heldBack(db, adapter),
    ]),
  )
