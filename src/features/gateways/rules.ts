import { BANK_KINDS, METHOD_KINDS, type MethodKind } from '../../kernel/rails.ts'
import { gatewayFactsOf, type GatewayFacts } from './facts.ts'
import { conflict, type Fault } from '../../kernel/fault.ts'
import type { Gateway } from './queries.ts'

/** Which gateway takes what, and which is the first choice. */

type Taking = Pick<Gateway, 'type' | 'debitMethods' | 'currencies'>

/** Returns the kinds of methods that a gateway takes: those of its type, less the bank accounts that it was not made to take. */
export function kindsOf({ type, debitMethods, currencies }: Taking): MethodKind[] {
  const { takes: all, schemes } = gatewayFactsOf(type)
  const chosen: readonly string[] = debitMethods ?? BANK_KINDS
  const takes = schemes ? (currencies ?? []).flatMap((code) => schemes[code]?.method ?? []) : all
  return METHOD_KINDS.filter((kind) => takes.includes(kind) && (kind === 'credit_card' || chosen.includes(kind)))
}

export function currenciesOf({ type, currencies, accountCurrencies }: Gateway): readonly string[] {
  const { currencies: taken, currenciesNot = [] } = gatewayFactsOf(type)
  if (taken === 'of the account') return accountCurrencies
  const chosen = taken === 'chosen' ? (currencies ?? accountCurrencies) : taken
  return chosen.filter((code) => !currenciesNot.includes(code))
}

/** Returns whether everything that the type needs is set. */
const isComplete = (settingNames: readonly string[], { needed }: Pick<GatewayFacts, 'needed'>): boolean =>
  needed.every((name) => settingNames.includes(name))

/** Returns whether everything that the type needs is set, and the secret key is accepted, as far as is known. */
export const isEnabled = ({ keyState, settingNames, type }: Pick<Gateway, 'keyState' | 'settingNames' | 'type'>) =>
  keyState === null && isComplete(settingNames, gatewayFactsOf(type))

export const isReady = (gateway: Gateway): boolean => gateway.isActive && isEnabled(gateway)

/** Returns whether a gateway is chosen for what is to be collected: what is wanted of one that has stopped waits, and does not go by another. */
export const isChosen = ({ isActive, settingNames, type }: Gateway): boolean =>
  isActive && isComplete(settingNames, gatewayFactsOf(type))

/** Returns whether no money moves through a gateway for now, and what is wanted waits: it is held, or its key is not accepted. */
export const isStopped = ({ heldFor, keyState }: Pick<Gateway, 'heldFor' | 'keyState'>): boolean =>
  heldFor !== null || keyState !== null

/** Makes the refusal of what needs a secret key that is not accepted. */
export const keyNotAccepted = ({ id, keyState }: Pick<Gateway, 'id' | 'keyState'>): Fault =>
  keyState === 'unanswered'
    ? conflict(
        'key_unanswered',
        `The gateway ${id} has not answered yet whether it accepts its secret key; try again later.`,
      )
    : conflict(
        'key_refused',
        `The gateway ${id} does not accept its secret key; send another one (PUT /v1/gateways/${id}). It is asked again every hour.`,
      )

/** Throws a conflict where a gateway is not in use: its key is not accepted, it is not active, or it lacks Settings. */
export function refuseUnready(gateway: Gateway, field = 'gatewayID'): void {
  if (gateway.isActive && gateway.keyState !== null) throw keyNotAccepted(gateway)
  if (!isReady(gateway)) throw conflict('gateway_inactive', `The gateway ${gateway.id} is not active.`, field)
}

/** Throws a conflict where a gateway is stopped: no money moves through it. */
export function refuseStopped(gateway: Pick<Gateway, 'id' | 'heldFor' | 'keyState'>): void {
  const { id, heldFor, keyState } = gateway
  if (heldFor === null && keyState !== null) throw keyNotAccepted(gateway)
  if (heldFor === null) return
  throw conflict(
    'gateway_held',
    `The gateway ${id} is held (${heldFor}): no money moves through it until an operator has looked and released it (perennial gateway release ${id}).`,
  )
}

/**
 * Returns the account's first choice for a kind: the gateway in use that was made primary for it, else the only one that takes it. A default falls
 * on a gateway only when it takes the currency too; null: any.
 */
export function primaryGateway(
  gateways: readonly Gateway[],
  kind: MethodKind,
  currency: string | null,
): Gateway | undefined {
  const taking = gateways.filter((gateway) => isChosen(gateway) && kindsOf(gateway).includes(kind))
  const chosen = taking.find(({ primaryKinds }) => primaryKinds.includes(kind))
  const found = chosen ?? (taking.length === 1 ? taking[0] : undefined)
  return found && (currency === null || currenciesOf(found).includes(currency)) ? found : undefined
}

/**
 * Returns the kinds for which an edited gateway is the first choice: all that it takes when it becomes primary, none when it stops, and as
 * before, as far as it still takes them, when nothing is asked.
 */
export function primaryKindsAfter(edited: Taking, present: readonly MethodKind[], wish: boolean | null): MethodKind[] {
  const kinds = kindsOf(edited)
  if (wish === false) return []
  // Sent back as it was read, it takes nothing from another.
  return wish === true && present.length === 0 ? kinds : kinds.filter((kind) => present.includes(kind))
}
