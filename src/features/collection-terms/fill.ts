import type { IsoDate } from '../../kernel/calendar.ts'
import { later } from '../../kernel/calendar.ts'
import type { CustomerId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { type Gateway, listAllGateways } from '../gateways/queries.ts'
import { type CustomerChoice, findMethodFacts, listCustomerChoices, type MethodFacts } from './queries.ts'
import { fitsWay, gatewayFor, isTried, isUsable, isWithCard, takes } from './rules.ts'
import type { CollectionDetails, CollectionMethod } from './types.ts'

/** Returns the default of gateway and method, both or neither. Rule: the customer's primary ones, when they fit. */
function defaultOf(
  way: CollectionMethod,
  currency: string,
  gateways: readonly Gateway[],
  { gatewayId, primary }: CustomerChoice,
): { gateway: Gateway; method: MethodFacts } | undefined {
  if (primary === null || primary.isRejected || !fitsWay(way, primary.kind)) return undefined
  const gateway = gatewayFor(primary, gateways, gatewayId, currency)
  return gateway && { gateway, method: primary }
}

/** An invoice about to be issued, or kept as a draft, as far as its collection goes. */
export interface ToCollect extends CollectionDetails {
  customerId: CustomerId
  currency: string
  dueDate: IsoDate
  totalMinor: bigint
  nextTryDate: IsoDate | null
}

/** Fills in the default gateway and method of invoices that name none, and the day of the first try, in two statements for any number. */
export async function fillCollection(tx: Transaction, invoices: readonly ToCollect[], today: IsoDate): Promise<void> {
  const tried = invoices.filter(({ collectionMethod }) => isTried(collectionMethod))
  if (tried.length === 0) return
  const gateways = await listAllGateways(tx, tx.account)
  const choices = await listCustomerChoices(tx, [...new Set(tried.map(({ customerId }) => customerId))])
  for (const invoice of tried) {
    const choice = choices.get(invoice.customerId)
    const method = invoice.isMethodRequested
      ? await fillOne(tx, invoice, gateways, choice)
      : fillDefault(invoice, gateways, choice)
    const gateway = gateways.find(({ id }) => id === invoice.gatewayId)
    const isPlanned = method && gateway && isUsable(method, gateway) && invoice.totalMinor > 0n
    invoice.nextTryDate = isPlanned ? later(invoice.dueDate, today) : null
  }
}

/** Fills in one invoice, and returns the method that it can be tried with; undefined where there is none. */
export async function fillOne(
  tx: Transaction,
  invoice: ToCollect,
  gateways: readonly Gateway[],
  choice: CustomerChoice | undefined,
): Promise<MethodFacts | undefined> {
  const { collectionMethod, currency } = invoice
  if (invoice.isMethodRequested) {
    const named =
      invoice.paymentMethodId === null ? undefined : await findMethodFacts(tx, tx.account, invoice.paymentMethodId)
    const method = named ?? choice?.primary ?? undefined
    if (!method || !fitsWay(collectionMethod, method.kind)) return undefined
    const gateway =
      gateways.find(({ id }) => id === invoice.gatewayId) ??
      gatewayFor(method, gateways, choice?.gatewayId ?? null, currency)
    invoice.paymentMethodId = method.id
    invoice.gatewayId = gateway?.id ?? null
    invoice.isMethodRequested = named !== undefined || !isWithCard(method)
    return gateway && takes(gateway, method.kind, currency) ? method : undefined
  }
  return fillDefault(invoice, gateways, choice)
}

/** Fills in one invoice that names neither gateway nor method. */
function fillDefault(
  invoice: ToCollect,
  gateways: readonly Gateway[],
  choice: CustomerChoice | undefined,
): MethodFacts | undefined {
  const found = choice && defaultOf(invoice.collectionMethod, invoice.currency, gateways, choice)
  invoice.gatewayId = found?.gateway.id ?? null
  invoice.paymentMethodId = found?.method.id ?? null
  return found?.method
}
