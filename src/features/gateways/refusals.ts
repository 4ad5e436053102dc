import { backgroundContext } from '../../kernel/context.ts'
import type { Database } from '../../platform/database/database.ts'
import { getAccount } from '../accounts/queries.ts'
import { recordRefusal } from './actions.ts'
import type { GatewayAdapter, GatewayCall, GatewayRefusal } from './contract.ts'

/** Events by which the owner of a gateway learns that it takes nothing of what is sent: nobody who is charged can mend that. */

const REASONS: Readonly<Record<GatewayRefusal['by'], (code: string) => string>> = {
  key: (code) => `The gateway does not accept the key of its Settings (${code}).`,
  permission: (code) => `The key of the gateway's Settings lacks a right (${code}).`,
  request: (code) => `The gateway does not understand what this version sends (${code}).`,
}

const CODE_MAX = 100

/** Returns an adapter whose refused calls become events, each reason once a day. What the call answers is as before. */
export function recordingRefusals(db: Database, adapter: GatewayAdapter): GatewayAdapter {
  const note = async (call: GatewayCall, { by, code }: GatewayRefusal) => {
    const account = await getAccount(db.reader(call.accountId), call.accountId)
    const { now, today } = call
    const context = backgroundContext(account, { now, today }, { actor: `gateway ${call.gatewayId}` })
    const reason = REASONS[by](code.slice(0, CODE_MAX))
    await db.transaction(account.id, (tx) => recordRefusal(tx, context, call.gatewayId, reason))
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
