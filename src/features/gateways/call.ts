import { assert } from '../../kernel/assert.ts'
import type { BatchDays } from '../../kernel/batch-days.ts'
import type { Account, Moment } from '../../kernel/context.ts'
import { Fault } from '../../kernel/fault.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Database } from '../../platform/database/database.ts'
import type { Envelope } from '../../platform/envelope/envelope.ts'
import type { Adapters, ChargeToMake, GatewayAdapter, GatewayCall, Unknown } from './contract.ts'
import { batchDaysOf, type GatewayFields, gatewayFactsOf } from './facts.ts'
import type { Gateway } from './queries.ts'
import { openSettings, readSettings } from './settings.ts'

/** Calling a gateway: never inside of a transaction. */

/** A gateway that has not answered by then is asked again later. */
const ANSWER_MS = 60_000

export interface GatewayDeps {
  adapters: Adapters
  envelope: Envelope
}

/** Follows a charge whose card the gateway seems to keep no more. */
export type OnCardGone = (
  means: { db: Database; realNow: () => number },
  call: GatewayCall,
  charge: Pick<ChargeToMake, 'reference' | 'token'>,
) => Promise<void>

/** Returns the adapter of a gateway, and its Settings as the adapter gets them. */
export function adapterOf(
  { adapters, envelope }: GatewayDeps,
  account: AccountId,
  gateway: Pick<Gateway, 'id' | 'type' | 'settings'>,
): { adapter: GatewayAdapter; settings: GatewayCall['settings'] } {
  const adapter = adapters.get(gateway.type)
  assert(adapter, `there is an adapter of type ${gateway.type}`)
  return { adapter, settings: readSettings(adapter, openSettings(envelope, account, gateway)) }
}

/** Returns the Settings of a gateway, as calls of its type get them. */
export const settingsOf = (envelope: Envelope, account: AccountId, gateway: Gateway): GatewayCall['settings'] =>
  readSettings(gatewayFactsOf(gateway.type), openSettings(envelope, account, gateway))

/**
 * Returns the card fields of a gateway as pages of an account load them; undefined: it has none. Rule: a simulator in the place of a gateway serves test
 * accounts alone.
 */
export const fieldsOf = (
  { adapters }: Pick<GatewayDeps, 'adapters'>,
  { mode }: Pick<Account, 'mode'>,
  { type }: Pick<Gateway, 'type'>,
): GatewayFields | undefined => (mode === 'live' ? gatewayFactsOf(type) : adapters.get(type))?.fields

/** Returns the days of the batches of a gateway that takes some. */
export function daysOfBatches(deps: GatewayDeps, account: AccountId, gateway: Gateway): BatchDays {
  const { adapter, settings } = adapterOf(deps, account, gateway)
  const days = batchDaysOf(adapter, settings, gateway.currencies ?? [])
  assert(days, `gateway ${gateway.id} takes batches`)
  return days
}

/** Returns whose gateway it is, for calls and for reading reports. */
export const whoseOf = (
  account: Pick<Account, 'id' | 'mode'>,
  { id, token }: Pick<Gateway, 'id' | 'token'>,
): Pick<GatewayCall, 'accountId' | 'gatewayId' | 'scope' | 'isLive'> => ({
  accountId: account.id,
  gatewayId: id,
  scope: token,
  isLive: account.mode === 'live',
})

/** Makes the refusal of a form where too much waits for gateways. */
export const gatewaysBusy = (): Fault =>
  new Fault('unavailable', [{ code: 'busy', message: 'Too much is at gateways; try again.', field: null }], 5)

/**
 * Asks a gateway by its adapter, in the clock of its account; `unknown` where no answer comes in time. With `isCustomerPresent` somebody waits at
 * a page for the answer; `settings` are those of the call in place of those that are stored.
 */
export async function askGateway<Answer>(
  deps: GatewayDeps,
  { account, moment }: { account: Pick<Account, 'id' | 'mode' | 'timeZone'>; moment: Moment },
  gateway: Pick<Gateway, 'id' | 'token' | 'type' | 'settings'>,
  ask: (adapter: GatewayAdapter, call: GatewayCall) => Promise<Answer>,
  {
    isCustomerPresent = false,
    settings: wanted,
    patienceMs = ANSWER_MS,
  }: { isCustomerPresent?: boolean; settings?: GatewayCall['settings']; patienceMs?: number } = {},
): Promise<Answer | Unknown> {
  const { adapter, settings } = adapterOf(deps, account.id, gateway)
  const patience = new AbortController()
  const { signal } = patience
  // Not AbortSignal.timeout: that keeps the call in memory until its time is over, however soon it is answered.
  const timer = setTimeout(() => patience.abort(), patienceMs)
  const late = new Promise<Unknown>((resolve) =>
    signal.addEventListener('abort', () => resolve({ kind: 'unknown' }), { once: true }),
  )
  const call: GatewayCall = {
    ...whoseOf(account, gateway),
    settings: wanted ?? settings,
    timeZone: account.timeZone,
    isCustomerPresent,
    ...moment,
    signal,
  }
  try {
    return await Promise.race([ask(adapter, call), late])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Makes the `keep` of a call that charges. `write` commits a name in place of the one that is kept until then, and returns false where it may not;
 * `kept` returns the name that is kept by now.
 */
export function keepingName(given: string | null, write: (present: string | null, name: string) => Promise<boolean>) {
  let present = given
  return {
    kept: () => present,
    keep: async (name: string): Promise<boolean> => {
      const isKept = await write(present, name)
      if (isKept) present = name
      return isKept
    },
  }
}
