import type { CustomerId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { type Gateway, listAllGateways } from '../gateways/queries.ts'
import { isChosen } from '../gateways/rules.ts'
import { fillOne } from './fill.ts'
import { listCustomerChoices, type MethodFacts } from './queries.ts'
import { isTried, isUsable } from './rules.ts'
import type { CollectionDetails } from './types.ts'

/** Gateway and method of a try. */
export interface Way {
  gateway: Gateway
  method: MethodFacts
}

/** Invoice as far as its way goes. */
type Collected = CollectionDetails & { customerId: CustomerId; currency: string }

/**
 * Returns the gateway and method that an invoice is tried with today; undefined where there is none. Rule: what a request named, else the
 * customer's primary ones of the day.
 */
export async function wayOf(tx: Transaction, invoice: Collected): Promise<Way | undefined> {
  if (!isTried(invoice.collectionMethod)) return undefined
  return (await waysOf(tx, invoice.customerId))(invoice)
}

/** Reads what the ways of a customer's invoices depend on, in one exchange, and returns the function that finds them as `wayOf` does. */
export async function waysOf(
  tx: Transaction,
  customerId: CustomerId,
): Promise<(invoice: Collected) => Promise<Way | undefined>> {
  const [gateways, choices] = await Promise.all([
    listAllGateways(tx, tx.account),
    listCustomerChoices(tx, [customerId]),
  ])
  return async (invoice) => {
    if (!isTried(invoice.collectionMethod)) return undefined
    const copy = { ...invoice, dueDate: '', totalMinor: 1n, nextTryDate: null }
    const method = await fillOne(tx, copy, gateways, choices.get(customerId))
    const gateway = gateways.find(({ id }) => id === copy.gatewayId)
    return method && gateway && isUsable(method, gateway) && isChosen(gateway) ? { gateway, method } : undefined
  }
}

/** Returns whether tries of a way are lines of batches. */
export const isDebit = ({ method }: Pick<Way, 'method'>): boolean => method.kind !== 'credit_card'
