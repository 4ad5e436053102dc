import { CardNumber, holdsCardNumber } from '../../kernel/card-number.ts'
import { cardBrandOf } from '../../kernel/bank-numbers.ts'
import { pastedExpiry, pastedNumber, plainCharacters } from '../../kernel/pasted-numbers.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import { Problems } from '../../kernel/fault.ts'
import { isBlank } from '../../kernel/text.ts'
import type { BankKind } from '../../kernel/rails.ts'
import type { Values } from '../../platform/http/page-forms.ts'
import { checkBankAccount, checkCard, type CheckedAccount } from '../payment-methods/checks.ts'
import { ACCOUNT_TYPES, type BankAccountBody } from '../payment-methods/wire.ts'
import type { Holder } from './captured.ts'
import type { CardToCapture } from './submit.ts'

/** Reads the forms of the frame. What is wrong with a field is a word, for which the page has a sentence in each language. */

export const CARD_FIELDS = ['number', 'expiry', 'givenName', 'familyName'] as const
/** Names on a card, which this service asks for also where the gateway takes the rest. */
export const NAME_FIELDS = ['givenName', 'familyName'] as const
export const ACCOUNT_FIELDS = [
  'holder',
  'bank',
  'accountType',
  'iban',
  'bic',
  'accountNumber',
  'branchCode',
  'routingNumber',
] as const
export type FormField = (typeof CARD_FIELDS)[number] | (typeof ACCOUNT_FIELDS)[number]

export type Wrong = 'required' | 'mistyped' | 'expired' | 'too_long' | 'not_text' | 'number_misplaced' | 'not_sepa'
export type Wrongs = Partial<Record<FormField, Wrong>>

/** Fields of the numbers of accounts, by kind, in the order of the form. */
export const NUMBER_FIELDS = {
  sepa: ['iban', 'bic'],
  ach: ['routingNumber', 'accountNumber'],
  debit_order: ['accountNumber', 'branchCode'],
} as const satisfies Record<BankKind, readonly FormField[]>

const NAME_MAX = 70

function readName(values: Values, field: FormField, wrongs: Wrongs): string {
  const name = (values.get(field) ?? '').normalize('NFC').trim()
  if (isBlank(name)) wrongs[field] = 'required'
  else if ([...name].length > NAME_MAX) wrongs[field] = 'too_long'
  else if (/\p{Cc}|\p{Cs}/u.test(name)) wrongs[field] = 'not_text'
  else if (holdsCardNumber(name)) wrongs[field] = 'number_misplaced'
  return name
}

const WRONG_OF_CARD: Record<string, readonly [FormField, Wrong]> = {
  card_number_invalid: ['number', 'mistyped'],
  card_expired: ['expiry', 'expired'],
}

/** Reads the names on a card. */
export function readHolder(values: Values): { holder: Holder } | { wrongs: Wrongs } {
  const wrongs: Wrongs = {}
  const [nameOnCard, lastNameOnCard] = [readName(values, 'givenName', wrongs), readName(values, 'familyName', wrongs)]
  return Object.keys(wrongs).length === 0 ? { holder: { nameOnCard, lastNameOnCard } } : { wrongs }
}

/** Reads a card. */
export function readCard(values: Values, today: IsoDate): { card: CardToCapture } | { wrongs: Wrongs } {
  const wrongs: Wrongs = {}
  const sent = values.get('number') ?? ''
  const digits = pastedNumber(sent)
  if (digits === '') wrongs.number = 'required'
  else if (!/^\d{12,19}$/.test(digits)) wrongs.number = 'mistyped'
  const expiry = values.get('expiry') ?? ''
  const dated = pastedExpiry(expiry)
  if (plainCharacters(expiry).trim() === '') wrongs.expiry = 'required'
  else if (!dated) wrongs.expiry = 'mistyped'
  const card: CardToCapture = {
    CardType: cardBrandOf(digits),
    Number: new CardNumber(digits),
    NameOnCard: readName(values, 'givenName', wrongs),
    LastNameOnCard: readName(values, 'familyName', wrongs),
    ExpiryMonth: dated?.month ?? 1,
    ExpiryYear: dated?.year ?? 2999,
  }
  const problems = new Problems()
  checkCard(card, today, problems)
  for (const { code } of problems.found) {
    const [field, wrong] = WRONG_OF_CARD[code] ?? (['number', 'mistyped'] as const)
    wrongs[field] ??= wrong
  }
  return Object.keys(wrongs).length > 0 ? { wrongs } : { card }
}

const FIELD_OF: Record<string, FormField> = {
  IBAN: 'iban',
  BIC: 'bic',
  AccountNumber: 'accountNumber',
  BranchCode: 'branchCode',
  RoutingNumber: 'routingNumber',
}

/** Reads a bank account of a kind. */
export function readAccount(
  values: Values,
  kind: BankKind,
  today: IsoDate,
): { checked: CheckedAccount; body: BankAccountBody } | { wrongs: Wrongs } {
  const wrongs: Wrongs = {}
  const number = (field: FormField): string | null => {
    const text = values.get(field) ?? ''
    return pastedNumber(text) === '' || !NUMBER_FIELDS[kind].some((known) => known === field) ? null : text
  }
  const type = ACCOUNT_TYPES.find((known) => known === values.get('accountType'))
  if (type === undefined) wrongs.accountType = 'required'
  const body: BankAccountBody = {
    Method: kind,
    AccountType: type ?? 'Current',
    AccountHolder: readName(values, 'holder', wrongs),
    Bank: readName(values, 'bank', wrongs),
    AccountNumber: number('accountNumber'),
    BranchCode: number('branchCode'),
    RoutingNumber: number('routingNumber'),
    IBAN: number('iban'),
    BIC: number('bic'),
  }
  const problems = new Problems()
  const checked = checkBankAccount(body, today, problems)
  for (const { code, field } of problems.found)
    wrongs[FIELD_OF[field?.split('.').at(-1) ?? ''] ?? 'accountNumber'] ??=
      code === 'required' ? 'required' : code === 'iban_not_sepa' ? 'not_sepa' : 'mistyped'
  return checked && Object.keys(wrongs).length === 0 ? { checked, body } : { wrongs }
}
