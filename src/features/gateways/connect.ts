import type { RequestContext } from '../../kernel/context.ts'
import { conflict, Fault } from '../../kernel/fault.ts'
import type { Database } from '../../platform/database/database.ts'
import { keepReportSecret } from './actions.ts'
import { askGateway, type GatewayDeps } from './call.ts'
import type { NotSent, Unknown } from './contract.ts'
import type { Gateway } from './queries.ts'
import { reasonOf } from './refusals.ts'
import { keyNotAccepted } from './rules.ts'

/** Addresses of this service that a gateway is given, so that it reports at once (§35). Without one it is asked every five minutes. */

type ConnectDeps = GatewayDeps & { db: Database }

/** Returns the address at which a gateway reports. Throws a conflict where the service has none that others reach over https. */
export function reportAddressOf(
  { publicUrl }: Pick<RequestContext, 'publicUrl'>,
  { token }: Pick<Gateway, 'token'>,
): string {
  if (publicUrl?.startsWith('https://') !== true)
    throw conflict(
      'public_url_missing',
      'A gateway reports to an address of https: set PUBLIC_URL to that of this service.',
    )
  return `${publicUrl.replace(/\/$/, '')}/gateways/${token}/events`
}

/** Throws a conflict for a gateway whose addresses only a person can name, and one whose key is not accepted. */
export function refuseConnecting({ adapters }: GatewayDeps, gateway: Gateway): void {
  if (!adapters.get(gateway.type)?.connect)
    throw conflict(
      'gateway_unfit',
      `The address to which a gateway of type ${gateway.type} reports is named in its console, if it has one.`,
    )
  if (gateway.keyState !== null) throw keyNotAccepted(gateway)
}

type Ended = { kind: 'done' } | Unknown | NotSent

/**
 * Has a gateway report to an address: it is made there, then its secret is kept, committed, before the one until then, and only then other addresses of this gateway
 * are deleted. Killed anywhere, it is sent again: an address whose secret nobody has kept is deleted then.
 */
export async function connectGateway(
  deps: ConnectDeps,
  context: RequestContext,
  gateway: Gateway,
  url: string,
): Promise<Ended> {
  const made = await askGateway(deps, context, gateway, async (adapter, call) =>
    adapter.connect ? adapter.connect(call, url) : NOTHING,
  )
  if (made.kind !== 'connected') return made
  await deps.db.transaction(context.account.id, (tx) =>
    keepReportSecret(tx, context, deps.envelope, gateway, made.secret),
  )
  return disconnectGateway(deps, context, gateway, made.name)
}

const NOTHING = { kind: 'unknown' } as const

/** Deletes the addresses to which a gateway reports but one; null: all. */
export async function disconnectGateway(
  deps: GatewayDeps,
  context: RequestContext,
  gateway: Gateway,
  but: string | null = null,
): Promise<Ended> {
  const ended = await askGateway(deps, context, gateway, async (adapter, call) =>
    adapter.disconnect ? adapter.disconnect(call, but) : NOTHING,
  )
  return ended.kind === 'disconnected' ? { kind: 'done' } : ended
}

/** Returns the refusal of what a gateway did not do; undefined where it has. */
export function refusalOfConnecting(gateway: Gateway, ended: Ended): Fault | undefined {
  if (ended.kind === 'done') return undefined
  if (ended.kind === 'not_sent' && ended.refused) {
    const { refused } = ended
    return refused.by === 'key'
      ? keyNotAccepted({ ...gateway, keyState: 'refused' })
      : conflict('gateway_refused', reasonOf(refused))
  }
  const message = 'The gateway gave no answer; send the request again.'
  return new Fault('unavailable', [{ code: 'gateway_no_answer', message, field: null }], 5)
}
