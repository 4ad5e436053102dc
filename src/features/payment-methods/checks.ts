import {
  cardBrandOf,
  compactNumber,
  ibanProblem,
  isBic,
  isInSepa,
  isRoutingNumber,
  passesLuhn,
} from '../../kernel/bank-numbers.ts'
import { pastedNumber, pastedWithHyphens } from '../../kernel/pasted-numbers.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { Problems } from '../../kernel/fault.ts'
import type { BankKind } from '../../kernel/rails.ts'
import { isAchLegible } from '../../rails/nacha/characters.ts'
import { HOLDER_MAX } from '../../rails/nacha/write.ts'
import { isSepaLegible } from '../../rails/sepa/characters.ts'
import { lastDayOf } from './rules.ts'
import type { BankAccountBody, CardMethodBody } from './wire.ts'

/** Notes what is wrong with the numbers of cards and bank accounts. No message repeats a number. */

type Card = Partial<CardMethodBody['CreditCard']>

export function checkCard(card: Card, today: IsoDate, problems: Problems): void {
  const { Number: number, CardType, ExpiryMonth: month, ExpiryYear: year } = card
  if (number !== undefined) {
    const digits = number.reveal()
    const brand = cardBrandOf(digits)
    if (!passesLuhn(digits))
      problems.add(
        'card_number_invalid',
        'CreditCard.Number',
        'CreditCard.Number is mistyped: its check digit is wrong.',
      )
    else if (CardType !== undefined && CardType !== 'Unknown' && CardType !== brand)
      problems.add(
        'card_type_unfit',
        'CreditCard.CardType',
        brand === 'Unknown'
          ? `CreditCard.Number is no number of ${CardType}.`
          : `CreditCard.Number is a number of ${brand}, not of ${CardType}.`,
      )
  }
  if (month !== undefined && year !== undefined && lastDayOf(year, month) < today)
    problems.add('card_expired', 'CreditCard.ExpiryYear', 'The card has expired.')
}

/** A bank account as its kind has it: what the kind does not take is null. */
export interface CheckedAccount {
  kind: BankKind
  /** AccountNumber, of sepa the IBAN. */
  number: string
  branchCode: string | null
  routingNumber: string | null
  bic: string | null
}

type Body = Partial<BankAccountBody>
type Note = (field: keyof BankAccountBody, code: string, message: string) => void

const ACCOUNT_NUMBER = {
  debit_order: [/^[0-9]{5,16}$/, 'must be 5 to 16 digits'],
  ach: [/^[A-Za-z0-9-]{1,17}$/, 'must be 1 to 17 letters, digits or hyphens'],
} as const

/**
 * Notes what is wrong with a bank account for its kind, and returns it with the numbers as they are stored; undefined where something is wrong with
 * it. `today` decides which countries are in SEPA.
 */
export function checkBankAccount(body: Body, today: IsoDate, problems: Problems): CheckedAccount | undefined {
  const before = problems.found.length
  const note: Note = (field, code, message) =>
    problems.add(code, `BankAccount.${field}`, `BankAccount.${field} ${message}`)
  const { Method: kind } = body
  if (kind === undefined) return undefined
  checkForbidden(kind, body, note)
  const account = kind === 'sepa' ? sepaAccount(body, today, note) : plainAccount(kind, body, note)
  return problems.found.length === before ? account : undefined
}

function checkForbidden(kind: BankKind, body: Body, note: Note): void {
  const forbidden = {
    BranchCode: kind !== 'debit_order',
    RoutingNumber: kind !== 'ach',
    IBAN: kind !== 'sepa',
    BIC: kind !== 'sepa',
  }
  for (const field of ['BranchCode', 'RoutingNumber', 'IBAN', 'BIC'] as const)
    if (forbidden[field] && body[field] != null)
      note(field, 'not_of_method', `is not part of ${kind === 'ach' ? 'an' : 'a'} ${kind} account.`)
}

function plainAccount(kind: 'debit_order' | 'ach', body: Body, note: Note): CheckedAccount {
  const read = (text: string | null | undefined) => (text == null ? text : pastedNumber(text))
  const number =
    kind === 'ach' && body.AccountNumber != null ? pastedWithHyphens(body.AccountNumber) : read(body.AccountNumber)
  const [routing, branch] = [read(body.RoutingNumber), read(body.BranchCode)]
  const [shape, rule] = ACCOUNT_NUMBER[kind]
  if (number == null) note('AccountNumber', 'required', `is required for ${kind}.`)
  else if (!shape.test(number)) note('AccountNumber', 'account_number_invalid', `${rule}.`)
  if (kind === 'ach' && body.AccountHolder !== undefined && !isAchLegible(body.AccountHolder, HOLDER_MAX))
    note('AccountHolder', 'holder_unreadable', 'must have letters or digits that ACH carries.')
  if (kind === 'ach' && routing == null) note('RoutingNumber', 'required', 'is required for ach.')
  if (kind === 'ach' && routing != null && !isRoutingNumber(routing))
    note(
      'RoutingNumber',
      'routing_number_invalid',
      'must be an ABA routing number: nine digits with a right check sum.',
    )
  if (kind === 'debit_order' && branch != null && !/^[0-9]{6}$/.test(branch))
    note('BranchCode', 'branch_code_invalid', 'must be 6 digits.')
  return { kind, number: number ?? '', branchCode: branch ?? null, routingNumber: routing ?? null, bic: null }
}

const IBAN_PROBLEMS = {
  country: 'begins with a country that has no IBANs',
  length: 'has not the length of IBANs of its country',
  characters: 'has characters that IBANs of its country do not have there',
  checksum: 'is mistyped: its check digits are wrong',
} as const

function sepaAccount(body: Body, today: IsoDate, note: Note): CheckedAccount {
  const iban = compactNumber(body.IBAN ?? '')
  const bic = compactNumber(body.BIC ?? '')
  if (iban === '') note('IBAN', 'required', 'is required for sepa.')
  else {
    const problem = ibanProblem(iban)
    if (problem) note('IBAN', 'iban_invalid', `${IBAN_PROBLEMS[problem]}.`)
    else if (!isInSepa(iban.slice(0, 2), today)) note('IBAN', 'iban_not_sepa', 'is of a country that is not in SEPA.')
  }
  if (bic === '') note('BIC', 'required', 'is required for sepa.')
  else if (!isBic(bic)) note('BIC', 'bic_invalid', 'must be a BIC: 8 or 11 letters and digits.')
  return { kind: 'sepa', number: iban, branchCode: null, routingNumber: null, bic }
}

/** Returns what a caller is to know of the holder of an account, as texts of the header Perennial-Warning: a bank file of SEPA would have signs in the place of the name. */
export const warningsOfHolder = (kind: BankKind, accountHolder: string): string[] =>
  kind === 'sepa' && !isSepaLegible(accountHolder) ? ['holder_unreadable'] : []
