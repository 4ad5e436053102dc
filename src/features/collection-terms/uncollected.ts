import type { CustomerId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { gatewayFactsOf } from '../gateways/facts.ts'
import { listAllGateways } from '../gateways/queries.ts'
import { isChosen } from '../gateways/rules.ts'
import { mandateProblem } from '../payment-methods/mandates.ts'
import { findMethodFacts, listCustomerChoices } from './queries.ts'
import { fitsWay, takes } from './rules.ts'
import type { CollectionDetails } from './types.ts'

/** Returns, as the end of a sentence, why an invoice has no way by which it could be tried today: for a person who has to mend it. */
export async function reasonUntried(
  tx: Transaction,
  invoice: CollectionDetails & { customerId: CustomerId; currency: string },
): Promise<string> {
  const { collectionMethod: way, currency } = invoice
  if (way !== 'credit_card' && way !== 'debit_order') return 'which is never tried'
  const choice = (await listCustomerChoices(tx, [invoice.customerId])).get(invoice.customerId)
  const namedId = invoice.isMethodRequested ? invoice.paymentMethodId : null
  const named = namedId === null ? undefined : await findMethodFacts(tx, tx.account, namedId)
  const method = named ?? choice?.primary
  if (!method || !fitsWay(way, method.kind)) return 'and the customer has no primary payment method for that'
  if (method.isRejected) return `and payment method ${method.id} was rejected`
  const gateways = await listAllGateways(tx, tx.account)
  const taking = gateways.filter((gateway) => takes(gateway, method.kind, currency))
  const wantedId = method.kind === 'credit_card' ? method.gatewayId : (namedGatewayId(invoice) ?? choice?.gatewayId)
  const wanted = gateways.find(({ id }) => id === wantedId)
  if (wanted && !isChosen(wanted)) return `and gateway ${wanted.id} is not active and enabled`
  if (taking.length === 0) return `and no gateway that is active and enabled takes ${method.kind} in ${currency}`
  const [rule] = taking.flatMap(({ type }) => gatewayFactsOf(type).needsMandates ?? [])
  const problem = rule ? mandateProblem(rule, method, null, method.mandateDate ?? '') : null
  if (problem) return `and payment method ${method.id} cannot be debited: ${problem.message.replace(/\.$/, '')}`
  return `and none of the gateways that take ${method.kind} in ${currency} is the first choice: make one primary (isPrimary)`
}

const namedGatewayId = ({ isMethodRequested, gatewayId }: CollectionDetails) => (isMethodRequested ? gatewayId : null)
