import { assert } from '../../kernel/assert.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { findCountry } from '../../kernel/countries.ts'
import { conflict, type Problems } from '../../kernel/fault.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import { languageOf } from '../../platform/locale/format.ts'
import { type Customer, findCustomer } from '../customers/queries.ts'
import { checkCustomerReference } from '../customers/record.ts'
import { isReturnUrl } from '../emandates/rules.ts'
import { askGateway, type GatewayDeps } from '../gateways/call.ts'
import type { MandateBegun, MandatePayer, NotSent, Unknown } from '../gateways/contract.ts'
import { gatewayFactsOf } from '../gateways/facts.ts'
import { findGateway, type Gateway, listAllGateways } from '../gateways/queries.ts'
import { referenceFor } from '../gateways/references.ts'
import { currenciesOf, isReady, refuseUnready } from '../gateways/rules.ts'
import { findSetup, insertSetup, type MandateSetup, noteSetupBegun } from './queries.ts'
import { recordSetup } from './record.ts'
import type { SetupBody } from './wire.ts'

/** Making set-ups, and beginning them at their gateways. */

/** References of a body that was checked. */
export interface CheckedSetup {
  customer: Customer
  gateway: Gateway | undefined
}

/** Finds what a body refers to, and notes what is wrong with it. */
export async function checkSetup(
  tx: Transaction,
  { account }: Pick<RequestContext, 'account'>,
  { customerID, gatewayID, ReturnUrl: url }: Partial<SetupBody>,
  problems: Problems,
): Promise<CheckedSetup | undefined> {
  const customer = await checkCustomerReference(tx, customerID, problems)
  const named = gatewayID == null ? undefined : await findGateway(tx, tx.account, gatewayID)
  if (gatewayID != null && !named)
    problems.add('gateway_unknown', 'gatewayID', `This account has no gateway ${gatewayID}.`)
  if (url != null && !isReturnUrl(url, account.mode))
    problems.add(
      'return_url_unfit',
      'ReturnUrl',
      `ReturnUrl must be an https address${account.mode === 'test' ? ', or one of localhost' : ''}, without a password.`,
    )
  if (!customer) return undefined
  return { customer, gateway: named ?? firstChoice(await listAllGateways(tx, tx.account), customer.currency) }
}

const keepsAccounts = ({ type }: Pick<Gateway, 'type'>): boolean => gatewayFactsOf(type).keepsAccounts === true

/** Returns the first choice among the gateways that keep accounts in a currency: the primary one, else the only one. */
function firstChoice(gateways: readonly Gateway[], currency: string): Gateway | undefined {
  const taking = gateways.filter(
    (gateway) => keepsAccounts(gateway) && isReady(gateway) && currenciesOf(gateway).includes(currency),
  )
  return taking.find(({ primaryKinds }) => primaryKinds.length > 0) ?? (taking.length === 1 ? taking[0] : undefined)
}

/** Makes a set-up. Throws a conflict where no gateway keeps accounts, or the customer is archived. */
export async function addSetup(
  tx: Transaction,
  context: RequestContext,
  { customer, gateway }: CheckedSetup,
  body: SetupBody,
): Promise<MandateSetup> {
  if (customer.archivedAt !== null)
    throw conflict('customer_archived', `Customer ${customer.id} is archived; reopen it first.`, 'customerID')
  if (!gateway)
    throw conflict(
      'gateway_missing',
      `No active gateway keeps accounts in ${customer.currency}; add one, or name one as gatewayID.`,
      'gatewayID',
    )
  refuseUnready(gateway)
  const [currency] = currenciesOf(gateway)
  if (!keepsAccounts(gateway) || currency === undefined)
    throw conflict('gateway_unfit', `The gateway ${gateway.id} keeps no accounts with their mandates.`, 'gatewayID')
  if (!currenciesOf(gateway).includes(customer.currency))
    throw conflict(
      'currency_unfit',
      `The gateway ${gateway.id} takes ${currency}, and customer ${customer.id} has ${customer.currency}.`,
      'gatewayID',
    )
  const id = await insertSetup(tx, {
    ...{ customerId: customer.id, gatewayId: gateway.id, currency, returnUrl: body.ReturnUrl ?? null },
    ...{ isPrimary: body.isPrimary ?? false, createdAt: context.moment.now },
  })
  const setup = await setupOf(tx, tx.account, id)
  await recordSetup(tx, context, 'mandate_setup.created', setup)
  return setup
}

export async function setupOf(tx: Transaction, account: AccountId, id: Id): Promise<MandateSetup> {
  const setup = await findSetup(tx, account, id)
  assert(setup, `set-up ${id} exists`)
  return setup
}

export interface SetupCallDeps extends GatewayDeps {
  db: Database
}

/** Begins a set-up at its gateway, or has it show a fresh page for it, and keeps its name. Returns the address of that page; undefined: there is none now. */
export async function beginSetup(
  deps: SetupCallDeps,
  context: RequestContext,
  setup: MandateSetup,
  { returnUrl, locale }: { returnUrl: string; locale: string },
): Promise<string | undefined> {
  const { id: account } = context.account
  const reader = deps.db.reader(account)
  const [gateway, customer] = await Promise.all([
    findGateway(reader, account, setup.gatewayId),
    findCustomer(reader, account, setup.customerId),
  ])
  assert(gateway && customer, `set-up ${setup.id} has its gateway and its customer`)
  const mandate = {
    ...{ reference: referenceFor(setup), gatewayReference: setup.gatewayReference, sentAt: setup.begunAt },
    ...{ currency: setup.currency, payer: payerOf(customer, locale), returnUrl },
  }
  const answer = await askGateway<MandateBegun | Unknown | NotSent>(
    deps,
    context,
    gateway,
    async (adapter, call) => (await adapter.beginMandate?.(call, mandate)) ?? { kind: 'unknown' },
    { isCustomerPresent: true },
  )
  if (answer.kind !== 'begun') return undefined
  await deps.db.transaction(account, (tx) => noteSetupBegun(tx, setup.id, answer.gatewayReference))
  return answer.url
}

const payerOf = (
  { isCompany, name, lastName, company, email, address1, city, zipCode, country }: Customer,
  locale: string,
): MandatePayer => ({
  company: isCompany ? name : company,
  firstName: isCompany ? null : name,
  lastName: isCompany ? null : lastName,
  email,
  street: address1,
  city,
  postalCode: zipCode,
  country: findCountry(country ?? '')?.code ?? null,
  language: languageOf(locale),
})
