import { BANK_KINDS, METHOD_KINDS, type MethodKind } from '../../kernel/rails.ts'
import { gatewayFactsOf, type GatewayFacts } from './facts.ts'
import { conflict } from '../../kernel/fault.ts'
import type { Gateway } from './queries.ts'

/** Which gateway takes what, and which is the first choice. */

type Taking = Pick<Gateway, 'type' | 'debitMethods'>

/** Returns the kinds of methods that a gateway takes: those of its type, less the bank accounts that it was not made to take. */
export function kindsOf({ type, debitMethods }: Taking): MethodKind[] {
  const { takes } = gatewayFactsOf(type)
  const chosen: readonly string[] = debitMethods ?? BANK_KINDS
  return METHOD_KINDS.filter((kind) => takes.includes(kind) && (kind === 'credit_card' || chosen.includes(kind)))
}

export function currenciesOf({ type, currencies, accountCurrencies }: Gateway): readonly string[] {
  const { currencies: taken, currenciesNot = [] } = gatewayFactsOf(type)
  if (taken === 'of the account') return accountCurrencies
  const chosen = taken === 'chosen' ? (currencies ?? accountCurrencies) : taken
  return chosen.filter((code) => !currenciesNot.includes(code))
}

/** Returns whether everything that the type needs is set. What is set was accepted when it was written. */
export const isEnabled = (settingNames: readonly string[], { needed }: Pick<GatewayFacts, 'needed'>): boolean =>
  needed.every((name) => settingNames.includes(name))

export const isReady = (gateway: Gateway): boolean =>
  gateway.isActive && isEnabled(gateway.settingNames, gatewayFactsOf(gateway.type))

/** Throws a conflict where a gateway is held: no money moves through it. */
export function refuseHeld({ id, heldFor }: Pick<Gateway, 'id' | 'heldFor'>): void {
  if (heldFor === null) return
  throw conflict(
    'gateway_held',
    `The gateway ${id} is held (${heldFor}): no money moves through it until an operator has looked and released it (perennial gateway release ${id}).`,
  )
}

/**
 * Returns the account's first choice for a kind: the ready gateway that was made primary for it, else the only one that takes it. A default falls
 * on a gateway only when it takes the currency too; null: any.
 */
export function primaryGateway(
  gateways: readonly Gateway[],
  kind: MethodKind,
  currency: string | null,
): Gateway | undefined {
  const taking = gateways.filter((gateway) => isReady(gateway) && kindsOf(gateway).includes(kind))
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
