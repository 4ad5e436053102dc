import { randomBytes } from 'node:crypto'
import { assert } from '../../kernel/assert.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import { askGateway, type GatewayDeps } from '../gateways/call.ts'
import type { AskedCharge, None, StoredCard, StoreOutcome } from '../gateways/contract.ts'
import type { ClientFacts, Payer } from '../gateways/storing.ts'
import type { Gateway } from '../gateways/queries.ts'
import { refuseStopped } from '../gateways/rules.ts'
import { noAnswer } from './add-card.ts'
import {
  type CardIntent,
  type FieldsFor,
  insertFieldsIntent,
  keepFieldsOpen,
  keepStoringName,
} from './intent-queries.ts'
import { abandonIntent } from './removal.ts'

/**
 * Cards that are entered into fields of their gateway's own: the browser hands the number to the gateway, and this service asks what was stored. One intent
 * is open for a session or an invoice, however often its page is loaded.
 */

export interface FieldsDeps extends GatewayDeps {
  db: Database
}

/** Takes up the open intent of a session or an invoice, or writes one. One at another gateway is ended. */
export async function takeUpFields(
  tx: Transaction,
  of: FieldsFor,
  gateway: Gateway,
  open: CardIntent | undefined,
): Promise<CardIntent> {
  if (open?.isOpen && open.gatewayId !== gateway.id) await abandonIntent(tx, open)
  else if (open?.isOpen) {
    await keepFieldsOpen(tx, open.id, of)
    return open
  }
  return insertFieldsIntent(tx, of, { gatewayId: gateway.id, reference: randomBytes(18).toString('base64url') })
}

/** Who a card is entered for, as far as that is known, and what it may be charged for. */
export interface FieldsPayer {
  payer: Payer | null
  besideToken: string | null
  isForLater: boolean
}

const storingOf = ({ reference, gatewayReference, begunAt: sentAt }: CardIntent) => ({
  reference,
  gatewayReference,
  sentAt,
})

/** Pages that may be faster, one after the other, before one gives up. */
const TURNS = 3

/**
 * Begins to have a card stored by the gateway's own fields, or takes it up, and returns the facts for the page's script; or the card that is stored already.
 * The gateway's name is kept before that. Throws 503 where the gateway gives no answer.
 */
export async function beginFields(
  deps: FieldsDeps,
  context: RequestContext,
  gateway: Gateway,
  intent: CardIntent,
  payer: FieldsPayer,
  turns = TURNS,
): Promise<{ kind: 'client'; client: ClientFacts } | ({ kind: 'stored' } & StoredCard)> {
  const begun = await askGateway(
    deps,
    context,
    gateway,
    async (adapter, call) => {
      assert(adapter.beginStore, `a gateway of type ${gateway.type} has card fields`)
      return adapter.beginStore(call, { ...storingOf(intent), ...payer })
    },
    { isCustomerPresent: true },
  )
  if (begun.kind === 'stored') return begun
  if (begun.kind !== 'begun') throw noAnswer()
  const { gatewayReference: name, client } = begun
  const kept = await deps.db.transaction(context.account.id, (tx) => keepStoringName(tx, intent, name))
  if (kept === name) return { kind: 'client', client }
  // Another page was faster, or ended the intent: nobody gets what was begun here.
  await askGateway(deps, context, gateway, async (adapter, call) =>
    adapter.endStore?.(call, { ...storingOf(intent), gatewayReference: name }),
  )
  if (kept === null || turns === 1) throw noAnswer()
  return beginFields(deps, context, gateway, { ...intent, gatewayReference: kept }, payer, turns - 1)
}

/** Asks what was stored by the gateway's own fields: only its answer counts, never that of the browser. */
export const findEntered = (
  deps: GatewayDeps,
  context: RequestContext,
  gateway: Gateway,
  intent: CardIntent,
): Promise<StoreOutcome | None> =>
  askGateway<StoreOutcome | None>(
    deps,
    context,
    gateway,
    async (adapter, call) => (await adapter.findStored?.(call, storingOf(intent))) ?? { kind: 'none' },
    { isCustomerPresent: true },
  )

/** Returns the names of whoever holds a card as the gateway has them, of a card that no form brought names for: before the last blank, and after it. */
export function holderNames({ holderName }: Pick<StoredCard, 'holderName'>): {
  nameOnCard: string
  lastNameOnCard: string
} {
  const name = (holderName ?? '').trim()
  const [, nameOnCard = '', lastNameOnCard = name] = /^(.*\S)\s+(\S+)$/.exec(name) ?? []
  return { nameOnCard, lastNameOnCard }
}

/** Returns the facts with which the script of a page has a charge confirmed; none: it waits for nobody any more. Throws 503 where the gateway gives no answer, 409 where it is held: what is confirmed moves money. */
export async function clientStep(
  deps: GatewayDeps,
  context: RequestContext,
  gateway: Gateway,
  charge: AskedCharge,
): Promise<{ client?: ClientFacts }> {
  refuseStopped(gateway)
  const step = await askGateway(
    deps,
    context,
    gateway,
    async (adapter, call) => (await adapter.clientStep?.(call, charge)) ?? { kind: 'none' as const },
    { isCustomerPresent: true },
  )
  if (step.kind === 'client') return { client: step.client }
  if (step.kind === 'none') return {}
  throw noAnswer()
}
