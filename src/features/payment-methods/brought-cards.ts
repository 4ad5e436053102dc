import type { RequestContext } from '../../kernel/context.ts'
import { conflict, Fault, invalid, type Problems } from '../../kernel/fault.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { Answer } from '../../platform/http/answer.ts'
import { type Customer, lockCustomer } from '../customers/queries.ts'
import { checkCustomerReference } from '../customers/record.ts'
import { askGateway, type GatewayDeps } from '../gateways/call.ts'
import type { GatewayAdapter, StoredCard } from '../gateways/contract.ts'
import { findGateway, type Gateway } from '../gateways/queries.ts'
import { currenciesOf, keyNotAccepted, kindsOf, refuseUnready } from '../gateways/rules.ts'
import { addMethod, keptAccountFields, NO_ACCOUNT, type OnMethodChanged } from './actions.ts'
import { noAnswer } from './add-card.ts'
import { lockToken } from './intent-queries.ts'
import { drawMethodId, findMethod, listCardsByToken } from './queries.ts'
import { methodKind } from './record.ts'
import { fullView, type GatewayTokenBody, type MethodView } from './wire.ts'

/** Cards that others stored at a gateway, brought by their tokens (§36): nothing is charged or changed there. */

export type FoundCard = Awaited<ReturnType<NonNullable<GatewayAdapter['findToken']>>>

/** Finds the gateway of a body, and notes what it refers to in vain. */
export async function checkBroughtCard(
  tx: Transaction,
  { customerID, gatewayID }: Partial<GatewayTokenBody>,
  problems: Problems,
): Promise<Gateway | undefined> {
  await checkCustomerReference(tx, customerID, problems)
  if (gatewayID == null) return undefined
  const gateway = await findGateway(tx, tx.account, gatewayID)
  if (!gateway) problems.add('gateway_unknown', 'gatewayID', `This account has no gateway ${gatewayID}.`)
  return gateway
}

/** Throws a conflict where a gateway keeps no cards of others, or is not in use. */
export function refuseTokensAt({ adapters }: GatewayDeps, gateway: Gateway): void {
  refuseUnready(gateway)
  if (!adapters.get(gateway.type)?.findToken)
    throw conflict('gateway_unfit', `The gateway ${gateway.id} keeps no cards by token.`, 'gatewayID')
}

export const findBrought = (
  deps: GatewayDeps,
  context: RequestContext,
  gateway: Gateway,
  { Token }: GatewayTokenBody,
): Promise<FoundCard> =>
  askGateway<FoundCard>(deps, context, gateway, async (adapter, call) =>
    adapter.findToken ? adapter.findToken(call, Token) : { kind: 'none' },
  )

/** Answers the method that a token stands for. */
export async function finishBrought(...args: Parameters<typeof bringCard>): Promise<Answer | Fault> {
  const [, context] = args
  const brought = await bringCard(...args)
  return brought instanceof Fault ? brought : methodKind.answer(brought.method, context)
}

/** A method that a token stands for, and whether it was made for that. */
interface Brought {
  method: MethodView
  isNew: boolean
}

/** Writes the method that a token stands for. The same card of the customer is the method that there is. */
export async function bringCard(
  tx: Transaction,
  context: RequestContext,
  body: GatewayTokenBody,
  gateway: Gateway,
  found: FoundCard,
  { envelope, onMethodChanged }: Pick<GatewayDeps, 'envelope'> & { onMethodChanged: OnMethodChanged },
): Promise<Brought | Fault> {
  switch (found.kind) {
    case 'stored':
      return keepBrought(
        tx,
        context,
        body,
        gateway,
        found.token,
        async (customer, id) => addMethod(tx, context, id, cardOf(found, body, gateway, customer)),
        onMethodChanged,
      )
    case 'account': {
      if (!kindsOf(gateway).includes(found.method) || !currenciesOf(gateway).includes(found.currency))
        return invalid(
          'token_unfit',
          `The mandate of this token is for ${found.currency}, which the gateway ${gateway.id} does not debit.`,
          'Token',
        )
      return keepBrought(
        tx,
        context,
        body,
        gateway,
        found.token,
        async (customer, id) =>
          addMethod(tx, context, id, {
            ...keptAccountFields(envelope, tx.account, id, found),
            customerId: customer.id,
            gatewayId: gateway.id,
            isPrimary: body.isPrimary ?? false,
            state: 'verified',
            isBrought: true,
          }),
        onMethodChanged,
      )
    }
    case 'none':
      return invalid('token_unknown', 'The gateway has nothing of a customer under this token.', 'Token')
    case 'ambiguous':
      return invalid(
        'token_ambiguous',
        'This customer of the gateway has several cards: send the token of one.',
        'Token',
      )
    case 'not_sent':
      return found.refused?.by === 'key' ? keyNotAccepted({ ...gateway, keyState: 'refused' }) : noAnswer()
    default:
      return noAnswer()
  }
}

async function keepBrought(
  tx: Transaction,
  context: RequestContext,
  body: GatewayTokenBody,
  gateway: Gateway,
  gatewayToken: string,
  add: (customer: Customer, id: Id) => Promise<MethodView>,
  onMethodChanged: OnMethodChanged,
): Promise<Brought | Fault> {
  const customer = await lockCustomer(tx, tx.account, body.customerID)
  if (!customer) return invalid('customer_unknown', `This account has no customer ${body.customerID}.`, 'customerID')
  await lockToken(tx, { gatewayId: gateway.id, gatewayToken })
  const kept = await listCardsByToken(tx, tx.account, gateway.id, [gatewayToken])
  const own = kept.find(({ customerId }) => customerId === customer.id)
  const present = own && (await findMethod(tx, tx.account, own.id))
  if (present) return { method: fullView(present), isNew: false }
  if (kept.length > 0) return tokenOfAnother()
  const method = await add(customer, await drawMethodId(tx))
  await onMethodChanged(tx, context, method)
  return { method, isNew: true }
}

export const tokenOfAnother = (): Fault =>
  conflict('token_taken', 'Another customer of this account has the payment method of this token.', 'Token')

/** Returns a card that others stored as a new method of a customer. */
const cardOf = (card: StoredCard, body: GatewayTokenBody, gateway: Gateway, customer: Customer) => ({
  ...NO_ACCOUNT,
  customerId: customer.id,
  kind: 'credit_card' as const,
  isPrimary: body.isPrimary ?? false,
  state: 'verified' as const,
  lastFour: card.lastFour,
  gatewayId: gateway.id,
  gatewayToken: card.token,
  fingerprint: card.fingerprint,
  cardBrand: card.cardType,
  ...namesOf(body, card, customer),
  expiryMonth: card.expiryMonth,
  expiryYear: card.expiryYear,
  isBrought: true as const,
})

/** Returns the names on a card: those sent, else those of its holder at the gateway, before the last blank and after it, else the customer's. */
function namesOf(body: GatewayTokenBody, { holderName }: StoredCard, customer: Pick<Customer, 'name' | 'lastName'>) {
  const [, first, last] = /^(.*\S)\s+(\S+)$/.exec(holderName?.trim() ?? '') ?? []
  return {
    nameOnCard: body.NameOnCard ?? first ?? customer.name,
    lastNameOnCard: body.LastNameOnCard ?? last ?? customer.lastName,
  }
}
