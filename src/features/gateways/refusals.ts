import { backgroundContext } from '../../kernel/context.ts'
import type { Database } from '../../platform/database/database.ts'
import type { Envelope } from '../../platform/envelope/envelope.ts'
import { getAccount } from '../accounts/queries.ts'
import { recordKeyRefused, recordRefusal } from './actions.ts'
import type { GatewayAdapter, GatewayCall, GatewayRefusal } from './contract.ts'
import { findGateway } from './queries.ts'

/** Events by which the owner of a gateway learns that it takes nothing of what is sent: nobody who is charged can mend that. */

const REASONS: Readonly<Record<GatewayRefusal['by'], (code: string) => string>> = {
  key: (code) => `The gateway does not accept the key of its Settings (${code}).`,
  permission: (code) => `The key of the gateway's Settings lacks a right (${code}).`,
  request: (code) => `The gateway does not understand what this version sends (${code}).`,
}

const CODE_MAX = 100

/** Writes the reason for which a gateway takes nothing. */
export const reasonOf = ({ by, code }: GatewayRefusal): string => REASONS[by](code.slice(0, CODE_MAX))

/**
 * Returns an adapter whose refused calls become events: each reason once a day, that of a secret key once until it is accepted again. What the call answers is as
 * before.
 */
export function recordingRefusals(
  { db, envelope }: { db: Database; envelope: Envelope },
  adapter: GatewayAdapter,
): GatewayAdapter {
  const note = async (call: GatewayCall, refused: GatewayRefusal) => {
    const { accountId, gatewayId: id, now, settings, today } = call
    const reader = db.reader(accountId)
    // Most of what a stopped gateway is asked is refused, too.
    const isKnown = refused.by === 'key' && (await findGateway(reader, accountId, id))?.keyState === 'refused'
    if (isKnown) return
    const account = await getAccount(reader, accountId)
    const context = backgroundContext(account, { now, today }, { actor: `gateway ${id}` })
    const reason = reasonOf(refused)
    await db.transaction(account.id, (tx) =>
      refused.by === 'key' && adapter.secretKey !== undefined
        ? recordKeyRefused(tx, context, envelope, { id, settings }, reason)
        : recordRefusal(tx, context, id, reason),
    )
  }
  const watched =
    (ask: (call: GatewayCall, ...asked: unknown[]) => Promise<unknown>) =>
    async (call: GatewayCall, ...asked: unknown[]) => {
      const answer = await ask(call, ...asked)
      const { refused } = answer as { refused?: GatewayRefusal }
      // What was answered stands, whatever becomes of the event.
      if (refused) await note(call, refused).catch(() => {})
      return answer
    }
  const calls = Object.entries(adapter).filter(([name, ask]) => typeof ask === 'function' && name !== 'readReport')
  return { ...adapter, ...Object.fromEntries(calls.map(([name, ask]) => [name, watched(ask as never)])) }
}
