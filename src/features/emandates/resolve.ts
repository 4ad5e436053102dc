import { pastedNumber } from '../../kernel/pasted-numbers.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { conflict, Problems } from '../../kernel/fault.ts'
import { compare, type Decimal, decimalText } from '../../kernel/decimal.ts'
import type { BankKind } from '../../kernel/rails.ts'
import { amountIn } from '../../platform/wire/amounts.ts'
import { checkAuthDomain } from '../../platform/page/origin.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { Envelope } from '../../platform/envelope/envelope.ts'
import { numberHash, openNumber } from '../payment-methods/actions.ts'
import { checkBankAccount, type CheckedAccount } from '../payment-methods/checks.ts'
import { lockMethod, type StoredMethod } from '../payment-methods/queries.ts'
import type { BankAccountBody } from '../payment-methods/wire.ts'
import { actionDaysOf, isReturnUrl } from './rules.ts'
import type { Terms } from './types.ts'
import type { MandateBody } from './wire.ts'

/** Bodies of mandates, checked as a whole. */

type Body = Partial<MandateBody>

/** Account that a mandate is for, with the number in the open. */
export interface MandateAccount extends CheckedAccount {
  method: StoredMethod | null
  bank: Terms['bank']
}

/** Fields of a bank account by those of a mandate, which have one name for what the kinds have each of their own. */
const FIELDS: Record<string, keyof Body> = {
  'BankAccount.AccountNumber': 'bank_AccNumber',
  'BankAccount.IBAN': 'bank_AccNumber',
  'BankAccount.BranchCode': 'bank_BranchCode',
  'BankAccount.RoutingNumber': 'bank_BranchCode',
  'BankAccount.BIC': 'bank_BranchCode',
}

const BANK_FIELDS = ['bank_Name', 'bank_BranchCode', 'bank_AccHolder', 'bank_AccNumber', 'bank_AccountType'] as const

/** Numbers of routes have nine digits; sent as a JSON number one has lost its zeros. */
const routingNumber = (code: string): string => {
  const digits = pastedNumber(code)
  return /^\d{6,8}$/.test(digits) ? digits.padStart(9, '0') : code
}

/** Returns the account of a body in the fields of its kind. */
function asBankAccount(kind: BankKind, body: Body): Partial<BankAccountBody> {
  const { bank_AccNumber: number, bank_BranchCode: branch } = body
  if (kind === 'sepa') return { Method: kind, IBAN: number, BIC: branch }
  if (kind === 'ach') return { Method: kind, AccountNumber: number, RoutingNumber: branch && routingNumber(branch) }
  return { Method: kind, AccountNumber: number, BranchCode: branch }
}

/** Notes what is wrong with the account of a body, and returns it. */
function checkSentAccount(
  { moment }: RequestContext,
  kind: BankKind,
  body: Body,
  problems: Problems,
): CheckedAccount | undefined {
  const found = new Problems()
  const account = checkBankAccount(asBankAccount(kind, body), moment.today, found)
  for (const { code, field, message } of found.found) {
    const name = FIELDS[field ?? ''] ?? field
    problems.add(code, name, message.replace(field ?? '', name ?? ''))
  }
  return account
}

function newAccount(context: RequestContext, body: Body, problems: Problems): MandateAccount | undefined {
  for (const field of BANK_FIELDS)
    if (body[field] == null) problems.add('required', field, `${field} is required, or customerPaymentMethodID.`)
  // What fits a number is known by its kind.
  const hasKind = !problems.found.some(({ field }) => field === 'bank_DebitMethod')
  if (!hasKind || BANK_FIELDS.some((field) => body[field] == null)) return undefined
  const kind = body.bank_DebitMethod ?? 'debit_order'
  const account = checkSentAccount(context, kind, body, problems)
  const { bank_Name: name, bank_AccHolder: accountHolder, bank_AccountType: accountType } = body as MandateBody
  return (
    account && {
      ...account,
      method: null,
      bank: { name: name!, accountHolder: accountHolder!, accountType: accountType!, branchCode: codeOf(account) },
    }
  )
}

const codeOf = ({ branchCode, routingNumber: routing, bic }: CheckedAccount | StoredMethod): string | null =>
  branchCode ?? routing ?? bic

/** Notes what of a body contradicts a stored account. No message repeats a number. */
function checkFits(
  envelope: Envelope,
  context: RequestContext,
  account: MandateAccount,
  body: Body,
  problems: Problems,
): void {
  const unfit = (field: keyof Body) =>
    problems.add('not_of_stored_account', field, `${field} is not that of the stored account; leave it out.`)
  const { kind, bank, method } = account
  if (body.bank_DebitMethod != null && body.bank_DebitMethod !== kind) return unfit('bank_DebitMethod')
  const sent = { bank_Name: bank.name, bank_AccHolder: bank.accountHolder, bank_AccountType: bank.accountType } as const
  for (const [field, stored] of Object.entries(sent) as [keyof typeof sent, string][])
    if (body[field] != null && body[field] !== stored) unfit(field)
  if (body.bank_AccNumber == null && body.bank_BranchCode == null) return
  const whole = { bank_AccNumber: account.number, bank_BranchCode: bank.branchCode, ...given(body) }
  const checked = checkSentAccount(context, kind, whole, problems)
  if (!checked) return
  if (!method?.numberHash?.equals(numberHash(envelope, context.account.id, checked))) unfit('bank_AccNumber')
  if (codeOf(checked) !== bank.branchCode) unfit('bank_BranchCode')
}

const given = ({ bank_AccNumber: number, bank_BranchCode: branch }: Body): Body => ({
  ...(number == null ? {} : { bank_AccNumber: number }),
  ...(branch == null ? {} : { bank_BranchCode: branch }),
})

/** Finds the stored account that a mandate is asked for, and locks it. Throws a conflict where it cannot have one. */
async function storedAccount(
  tx: Transaction,
  envelope: Envelope,
  context: RequestContext,
  body: Body & { customerPaymentMethodID: bigint },
  problems: Problems,
): Promise<MandateAccount | undefined> {
  const { customerPaymentMethodID: id } = body
  const method = await lockMethod(tx, tx.account, id)
  const field = 'customerPaymentMethodID'
  if (!method) {
    problems.add('payment_method_unknown', field, `There is no payment method ${id}.`)
    return undefined
  }
  if (method.kind === 'credit_card')
    throw conflict('payment_method_is_card', `Payment method ${id} is a card, which no mandate debits.`, field)
  if (method.mandateReference !== null)
    throw conflict('payment_method_has_mandate', `Payment method ${id} has a mandate already.`, field)
  const account: MandateAccount = {
    kind: method.kind,
    number: openNumber(envelope, tx.account, method) ?? '',
    branchCode: method.branchCode,
    routingNumber: method.routingNumber,
    bic: method.bic,
    method,
    bank: {
      name: method.bank ?? '',
      accountHolder: method.accountHolder ?? '',
      accountType: method.accountType ?? '',
      branchCode: codeOf(method),
    },
  }
  checkFits(envelope, context, account, body, problems)
  return account
}

/** Notes what is wrong with a body beyond its single fields, and returns the account that it is for. */
export async function checkMandate(
  tx: Transaction,
  envelope: Envelope,
  context: RequestContext,
  body: Body,
  problems: Problems,
): Promise<MandateAccount | undefined> {
  checkDebit(body, problems)
  const { RedirectUrl: url, AuthDomain: domain, customerPaymentMethodID: id } = body
  if (url != null && !isReturnUrl(url, context.account.mode))
    problems.add(
      'return_url_unfit',
      'RedirectUrl',
      `RedirectUrl must be an https address${context.account.mode === 'test' ? ', or one of localhost' : ''}, without a password.`,
    )
  checkAuthDomain(problems, domain ?? undefined, context.account.mode === 'test')
  const account =
    id == null
      ? newAccount(context, body, problems)
      : await storedAccount(tx, envelope, context, { ...body, customerPaymentMethodID: id }, problems)
  if (account) {
    const currency = currencyOf(account.kind, context)
    amountIn(problems, 'debit_Amt', body.debit_Amt, currency)
    amountIn(problems, 'debit_MaxAmt', body.debit_MaxAmt ?? undefined, currency)
  }
  return account
}

function checkDebit(body: Body, problems: Problems): void {
  const { debit_Amt: amount, debit_MaxAmt: max, debit_StartDate: start, debit_EndDate: end } = body
  if (amount && max && compare(max, amount) < 0)
    problems.add('out_of_range', 'debit_MaxAmt', 'debit_MaxAmt must be at least debit_Amt.')
  if (start && end && end < start)
    problems.add('dates_reversed', 'debit_EndDate', `debit_EndDate ${end} is before debit_StartDate ${start}.`)
  const { debit_Frequency: frequency, debit_ActionDay: day } = body
  const days = frequency === undefined ? null : actionDaysOf(frequency)
  if (days !== null && day !== undefined && (day < 1 || day > days))
    problems.add('out_of_range', 'debit_ActionDay', `debit_ActionDay must be from 1 to ${days} for ${frequency}.`)
}

/** Returns the currency of the amounts of a mandate: that of its scheme, else the account's. */
export function currencyOf(kind: BankKind, { account }: Pick<RequestContext, 'account'>): string {
  if (kind === 'debit_order') return account.currency
  return kind === 'sepa' ? 'EUR' : 'USD'
}

const digits = (value: Decimal | null | undefined): string | null => (value == null ? null : decimalText(value))

export const termsFromWire = (
  body: MandateBody,
  { bank }: Pick<MandateAccount, 'bank'>,
  facts: Pick<Terms, 'currency' | 'beneficiary'>,
): Terms => ({
  bank,
  frequency: body.debit_Frequency,
  actionDay: body.debit_ActionDay,
  startDate: body.debit_StartDate,
  endDate: body.debit_EndDate ?? null,
  nameOnStatement: body.debit_NameOnStmt,
  contractRef: body.debit_ContractRef,
  amount: decimalText(body.debit_Amt),
  maxAmount: digits(body.debit_MaxAmt),
  escalation: body.debit_Escalation ?? null,
  isVariable: body.debit_VariableAmts ?? null,
  ...facts,
})
