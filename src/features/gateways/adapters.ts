import type { Database } from '../../platform/database/database.ts'
import type { Envelope } from '../../platform/envelope/envelope.ts'
import { underWay } from '../../platform/failover/under-way.ts'
import { achFile } from './ach-file.ts'
import type { OnCardGone } from './call.ts'
import type { Calling } from './calling.ts'
import type { Adapters, BatchToBuild, GatewayAdapter, GatewayCall, Held } from './contract.ts'
import { gocardlessAdapter } from './gocardless.ts'
import { manual } from './manual.ts'
import { isHeldNow } from './queries.ts'
import { recordingRefusals } from './refusals.ts'
import { sandboxAdapter } from './sandbox.ts'
import { sepaFile } from './sepa-file.ts'
import { stripeAdapter } from './stripe.ts'

/** Answers after which no money has moved. */
const MOVED_NOTHING: ReadonlySet<string> = new Set(['declined', 'not_sent', 'held'])

/**
 * Returns an adapter that moves no money while its gateway is held or its key is not accepted, whatever the caller has looked at before: the database is asked right before
 * each call, so that nothing leaves after a failover on the word of the server before it.
 */
function heldBack(db: Database, adapter: GatewayAdapter): GatewayAdapter {
  // By a reader: after a failover its connections wait until what was lost is settled, and the hold with it.
  const isHeld = ({ accountId, gatewayId }: GatewayCall) => isHeldNow(db.reader(accountId), accountId, gatewayId)
  const unlessHeld =
    <Call extends GatewayCall, Asked, Answer>(ask: (call: Call, asked: Asked) => Promise<Answer>) =>
    async (call: Call, asked: Asked): Promise<Answer | Held> =>
      (await isHeld(call)) ? { kind: 'held' } : ask(call, asked)
  // Whatever may move money is remembered by its reference.
  const moving = <Call extends GatewayCall, Asked, Answer extends { kind: string }>(
    operation: string,
    ask: (call: Call, asked: Asked) => Promise<Answer>,
    referenceOf: (asked: Asked) => string,
  ) =>
    unlessHeld((call: Call, asked: Asked) => {
      const { accountId: account, gatewayId } = call
      const effect = db.remember({ account, operation, gatewayId, reference: referenceOf(asked) })
      return underWay(
        effect,
        () => ask(call, asked),
        ({ kind }) => !MOVED_NOTHING.has(kind),
      )
    })
  // Without a name a gateway answers that there is nothing, and a restore or a failover may have lost just that name: a report gives it back (§32).
  const namedUnlessHeld =
    <Asked extends { gatewayReference: string | null }, Answer>(
      ask: (call: GatewayCall, asked: Asked) => Promise<Answer>,
    ) =>
    async (call: GatewayCall, asked: Asked): Promise<Answer | Held> =>
      asked.gatewayReference === null && (await isHeld(call)) ? { kind: 'held' } : ask(call, asked)
  const { charge, refund, buildBatch, submitBatch, submitLines, askCharge, askRefund } = adapter
  return {
    ...adapter,
    ...(charge && { charge: moving('charge', charge, ({ reference }) => reference) }),
    ...(refund && { refund: moving('refund', refund, ({ reference }) => reference) }),
    ...(askCharge && { askCharge: namedUnlessHeld(askCharge) }),
    ...(askRefund && { askRefund: namedUnlessHeld(askRefund) }),
    ...(buildBatch && { buildBatch: unlessHeld(buildBatch) }),
    ...(submitLines && { submitLines: moving('lines', submitLines, referenceOfLines) }),
    ...(submitBatch && { submitBatch: moving('batch', submitBatch, ({ token }) => token) }),
  }
}

/** Names a portion of lines by its batch and its first line. */
const referenceOfLines = ({ token, lines: [first] }: BatchToBuild): string => `${token} ${first?.chargeReference ?? ''}`

/** Returns an adapter whose charges by cards that are gone are followed. What was answered stands, whatever becomes of that. */
function noticingLostCards(
  means: Parameters<OnCardGone>[0],
  onCardGone: OnCardGone,
  adapter: GatewayAdapter,
): GatewayAdapter {
  const { charge } = adapter
  if (!charge) return adapter
  return {
    ...adapter,
    charge: async (call, asked) => {
      const outcome = await charge(call, asked)
      if (outcome.kind === 'declined' && outcome.isCardGone) await onCardGone(means, call, asked).catch(() => {})
      return outcome
    },
  }
}

/** Makes the table of the gateways of this version, by their type; others stand in the place of those of their type. */
export const makeAdapters = (
  { db, envelope, calling, onCardGone }: { db: Database; envelope: Envelope; calling: Calling; onCardGone: OnCardGone },
  ...others: readonly GatewayAdapter[]
): Adapters =>
  new Map(
    [
      manual,
      sepaFile,
      achFile,
      sandboxAdapter(db, envelope.keyedHash('sandbox')),
      stripeAdapter(calling),
      gocardlessAdapter(calling),
      ...others,
    ].map((adapter) => [
      adapter.type,
      heldBack(
        db,
        noticingLostCards({ db, realNow: calling.realNow }, onCardGone, recordingRefusals({ db, envelope }, adapter)),
      ),
    ]),
  )
