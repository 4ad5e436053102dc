import { introduced } from '../../platform/http/tags.ts'
import { withWarnings } from '../../platform/http/warnings.ts'
import { assert } from '../../kernel/assert.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { Problems } from '../../kernel/fault.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import { listOperation } from '../../platform/http/list.ts'
import {
  type Operation,
  outwardOperation,
  type PathParams,
  readOperation,
  type Representation,
  writeOperation,
} from '../../platform/http/operation.ts'
import type { Envelope } from '../../platform/envelope/envelope.ts'
import type { Links } from '../../platform/page/links.ts'
import type { AccountAnswer } from '../gateways/contract.ts'
import { checkCustomerReference, ofCustomerInPath } from '../customers/record.ts'
import type { GatewayDeps } from '../gateways/call.ts'
import { gatewayKind } from '../gateways/record.ts'
import {
  type AccountAndMandate,
  addBankAccount,
  editBankAccount,
  makePrimary,
  type OnMethodChanged,
  type OnMethodRemoved,
  openNumber,
  removeMethod,
} from './actions.ts'
import { beginCard, finishCard, storeCard } from './add-card.ts'
import { checkBroughtCard, findBrought, finishBrought, refuseTokensAt } from './brought-cards.ts'
import { checkBankAccount, checkCard, type CheckedAccount, warningsOfHolder } from './checks.ts'
import { mandateToken } from './emandate.ts'
import { fittingMandate, type LinkDeps } from './link.ts'
import { countMethods, listMethods, type StoredMethod } from './queries.ts'
import { methodKind, recordMethod } from './record.ts'
import { isOtherAccount } from './rules.ts'
import { finishValidation, askAboutAccount, refuseGateway } from './validate.ts'
import {
  type BankMethodBody,
  BankMethodIn,
  CardMethodIn,
  detailedView,
  GatewayTokenIn,
  methodEtag,
  methodFilters,
  methodShape,
  type MethodView,
  RemovalQuery,
  shortView,
  ValidationIn,
} from './wire.ts'
import { noContent } from '../../platform/http/answer.ts'

const tag = introduced(
  'Payment methods',
  'Cards and bank accounts of customers, kept with a gateway; numbers are answered only by their last digits.',
)

interface Deps extends GatewayDeps, LinkDeps {
  db: Database
  links: Links
  onMethodChanged: OnMethodChanged
  onMethodRemoved: OnMethodRemoved
}

const shownMandate = (links: Links, account: AccountId, { emandateId }: Pick<StoredMethod, 'emandateId'>) =>
  emandateId === null ? null : mandateToken(links, account, emandateId)

const list = {
  tag,
  out: methodShape,
  filters: methodFilters,
  rows: listMethods,
  count: countMethods,
}

const lists = ({ links, envelope }: Deps): Operation[] => [
  listOperation({
    ...list,
    id: 'listPaymentMethodsOfCustomer',
    path: '/v1/customers/{customerID}/paymentmethods',
    summary: 'List the payment methods of a customer',
    parent: ofCustomerInPath,
    complete: async (_db, { account }, rows, query) =>
      rows.map((row) => listedView(envelope, account.id, row, { shownMandate: null, ...query })),
  }),
  listOperation({
    ...list,
    id: 'listPaymentMethods',
    path: '/v1/paymentmethods',
    summary: 'List the payment methods of all customers',
    complete: async (_db, { account, caller }, rows, query) =>
      rows.map((row) => {
        const mandate = caller.permission === 'full' ? shownMandate(links, account.id, row) : null
        return listedView(envelope, account.id, row, { shownMandate: mandate, ...query })
      }),
  }),
]

/** Shows a method of a list: with its names alone, or, where it was asked for, masked in detail. */
const listedView = (
  envelope: Envelope,
  account: AccountId,
  method: StoredMethod,
  { shownMandate, isDetailed }: { shownMandate: string | null; isDetailed?: boolean | null },
): MethodView =>
  isDetailed
    ? detailedView(method, {
        shownMandate,
        number: method.kind === 'sepa' ? openNumber(envelope, account, method) : null,
      })
    : shortView(method, shownMandate)

/** Answers a bank account with its whole number, for a key with full permission: each such answer is an event. */
async function answerRevealed(tx: Transaction, context: RequestContext, deps: Deps, params: PathParams) {
  const { envelope, links } = deps
  const method = await methodKind.found(tx, context, params)
  if (method.kind === 'credit_card') return methodKind.answer(method, context)
  await recordMethod(tx, context, 'payment_method.revealed', method.id)
  const shownNumber = openNumber(envelope, context.account.id, method)
  const mandate = shownMandate(links, context.account.id, method)
  return { ...methodKind.answer({ ...method, shownNumber, shownMandate: mandate }, context), isSecret: true }
}

/** Declares what a change of a method answers to a request that prefers return=representation; such a request has full permission. */
const shown = (deps: Deps): Representation => ({
  ...methodKind.representation,
  read: (tx, context, { params }) => answerRevealed(tx, context, deps, params),
})

/** Reads one method. Whole numbers are for keys with full permission. */
const reading = (deps: Deps): Operation =>
  readOperation({
    id: 'getPaymentMethod',
    path: '/v1/paymentmethods/{paymentMethodID}',
    tag,
    summary: 'Read a payment method; a bank account with its number, for a key with full permission',
    success: { status: 200, schema: methodShape.schema, headers: ['ETag'] },
    read: async (db, context, { params }) => {
      const method = await methodKind.found(db, context, params)
      if (method.kind === 'credit_card' || context.caller.permission !== 'full')
        return methodKind.answer(method, context)
      // Read once more beside its event: it may have changed or gone since.
      return deps.db.transaction(context.account.id, (tx) => answerRevealed(tx, context, deps, params), {
        isShared: true,
      })
    },
  })

const cards = (deps: Deps): Operation =>
  outwardOperation({
    id: 'addCreditCard',
    method: 'POST',
    path: '/v1/paymentmethods/creditcard',
    tag,
    summary: 'Add a credit card: its number goes to the gateway and is never kept',
    body: CardMethodIn,
    cardNumberAt: 'CreditCard.Number',
    success: { status: 200, schema: methodShape.schema, headers: ['ETag'] },
    refusals: { 409: 'The account has no gateway that takes card numbers' },
    references: async (tx, { moment }, { body }, problems) => {
      if (body.CreditCard) checkCard(body.CreditCard, moment.today, problems)
      return checkCustomerReference(tx, body.customerID, problems)
    },
    begin: async (tx, _context, _input, _record, customer, asked) => {
      assert(customer, 'a customer that was checked is there')
      return beginCard(tx, customer, asked)
    },
    call: (context, { body }, call) => storeCard(deps, context, body, call),
    finish: (tx, context, { body }, call, outcome) =>
      finishCard(tx, context, body, call, outcome, deps.onMethodChanged),
  })

const broughtCards = (deps: Deps): Operation =>
  outwardOperation({
    id: 'addGatewayToken',
    method: 'POST',
    path: '/v1/paymentmethods/gatewaytoken',
    tag,
    summary: 'Add a card that is stored at a gateway already, by its token there, which is never answered',
    body: GatewayTokenIn,
    cardNumberAt: null,
    success: { status: 200, schema: methodShape.schema, headers: ['ETag'] },
    refusals: { 409: 'The gateway takes no tokens, is not active, or another customer has the card' },
    references: (tx, _context, { body }, problems) => checkBroughtCard(tx, body, problems),
    begin: async (_tx, _context, _input, _record, gateway) => {
      assert(gateway, 'a gateway that was checked is there')
      refuseTokensAt(deps, gateway)
      // Asking changes nothing at the gateway: there is no intent to go on with.
      return { intent: gateway.id, call: gateway }
    },
    call: (context, { body }, gateway) => findBrought(deps, context, gateway, body),
    finish: (tx, context, { body }, gateway, found) => finishBrought(tx, context, body, gateway, found, deps),
  })

const checkAccountBody = async (
  tx: Transaction,
  { moment }: RequestContext,
  body: Partial<Pick<BankMethodBody, 'BankAccount'>> & { customerID?: bigint | null },
  problems: Problems,
): Promise<CheckedAccount | undefined> => {
  await checkCustomerReference(tx, body.customerID, problems)
  return body.BankAccount && checkBankAccount(body.BankAccount, moment.today, problems)
}

/** Checks an account and the eMandate that its body names; `methodId` is null for a method to be. */
async function checkLinkedAccount(
  tx: Transaction,
  deps: Deps,
  context: RequestContext,
  body: Partial<BankMethodBody>,
  methodId: Id | null,
  problems: Problems,
): Promise<AccountAndMandate | undefined> {
  const account = await checkAccountBody(tx, context, body, problems)
  const token = body.BankAccount?.EMandateToken
  if (!account || token == null) return account && { account, mandate: null }
  const mandate = await fittingMandate(tx, deps, context, token, account, methodId, problems)
  return mandate && { account, mandate }
}

const warningsOf = ({ account }: AccountAndMandate, { BankAccount }: BankMethodBody): string[] =>
  warningsOfHolder(account.kind, BankAccount.AccountHolder)

const bankAccounts = (deps: Deps): Operation[] => [
  writeOperation({
    id: 'addBankAccount',
    method: 'POST',
    path: '/v1/paymentmethods/bankaccount',
    tag,
    summary: 'Add a bank account',
    body: BankMethodIn,
    success: { status: 200, schema: methodShape.schema, headers: ['ETag', 'Perennial-Warning'] },
    references: (tx, context, { body }, problems) => checkLinkedAccount(tx, deps, context, body, null, problems),
    write: async (tx, context, { body }, _record, checked) => {
      assert(checked, 'a bank account that was checked is whole')
      const about = { customerId: body.customerID, isPrimary: body.isPrimary }
      const method = await addBankAccount(tx, context, deps.envelope, about, checked, body.BankAccount)
      await deps.onMethodChanged(tx, context, method)
      return withWarnings(methodKind.answer(method, context), warningsOf(checked, body))
    },
  }),
  writeOperation({
    ...methodKind.editing,
    success: { ...methodKind.editing.success, headers: ['Perennial-Warning'] },
    path: '/v1/paymentmethods/bankaccount/{paymentMethodID}',
    id: 'editBankAccount',
    tag,
    summary: 'Replace a bank account',
    body: BankMethodIn,
    representation: shown(deps),
    refusals: { 409: 'The payment method is a card, or of another customer' },
    references: (tx, context, { body }, problems, present) =>
      checkLinkedAccount(tx, deps, context, body, present.id, problems),
    write: async (tx, context, { body }, present, checked) => {
      assert(checked, 'a bank account that was checked is whole')
      const about = { customerId: body.customerID, isPrimary: body.isPrimary }
      const edited = await editBankAccount(tx, context, deps.envelope, present, about, checked, body.BankAccount)
      await deps.onMethodChanged(tx, context, edited, isOtherAccount(edited, present))
      return withWarnings(noContent(methodEtag(edited)), warningsOf(checked, body))
    },
  }),
]

const changes = (deps: Deps): Operation[] => [
  writeOperation({
    id: 'setPrimaryPaymentMethod',
    method: 'PUT',
    path: '/v1/paymentmethods/{paymentMethodID}/setprimary',
    tag,
    summary: 'Make a payment method the primary one of its customer',
    representation: shown(deps),
    record: methodKind.editing.record,
    write: async (tx, context, _input, method) => {
      if (await makePrimary(tx, context, method)) await deps.onMethodChanged(tx, context, method)
      return noContent()
    },
  }),
  writeOperation({
    ...methodKind.deleting,
    id: 'deletePaymentMethod',
    tag,
    summary: 'Delete a payment method that is not primary and not named by anything open',
    query: RemovalQuery,
    refusals: { 409: 'The payment method is primary, or is named by something open' },
    write: async (tx, context, { query }, method) => {
      const { onMethodRemoved } = deps
      await removeMethod(tx, context, method, {
        onMethodRemoved,
        isRemovedAtGateway: query.isRemovedAtGateway ?? false,
      })
      return noContent()
    },
  }),
]

const validation = (deps: Deps, method: 'POST' | 'PUT', id: string): Operation =>
  outwardOperation({
    id,
    method,
    path: '/v1/ValidateBankAccount/{gatewayID}',
    tag,
    summary: 'Ask a gateway about a bank account, and note the answer in the stored one of the customer',
    body: ValidationIn,
    success: { status: 204 },
    refusals: { 409: 'The gateway takes no such accounts, or is not active' },
    // What it notes is the gateway's answer, not a wish of the caller.
    changesNothing: true,
    record: (tx, context, { params }) => gatewayKind.found(tx, context, params),
    references: (tx, context, { body }, problems) => checkAccountBody(tx, context, body, problems),
    begin: async (_tx, _context, _input, gateway, checked) => {
      assert(checked, 'a bank account that was checked is whole')
      refuseGateway(gateway, checked)
      // Asking changes nothing at the gateway: there is no intent to go on with.
      return { intent: gateway.id, call: { gateway, checked } }
    },
    call: (context, { body }, { gateway, checked }) => askAboutAccount(deps, context, gateway, checked, body),
    finish: (tx, context, { body }, { checked }, outcome: AccountAnswer | { kind: 'not_checked' }) =>
      finishValidation(tx, context, deps, body, checked, outcome),
  })

export const paymentMethodOperations = (deps: Deps): Operation[] => [
  ...lists(deps),
  reading(deps),
  cards(deps),
  broughtCards(deps),
  ...bankAccounts(deps),
  ...changes(deps),
  validation(deps, 'POST', 'validateBankAccount'),
  validation(deps, 'PUT', 'validateBankAccountByPut'),
]
