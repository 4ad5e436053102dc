import type { IsoDate } from '../../kernel/calendar.ts'
import { YEAR_MAX } from '../../kernel/calendar.ts'
import { CARD_BRANDS } from '../../kernel/bank-numbers.ts'
import { CardNumber, holdsCardNumber } from '../../kernel/card-number.ts'
import { pastedNumber, plainCharacters } from '../../kernel/pasted-numbers.ts'
import { BANK_KINDS, type BankKind } from '../../kernel/rails.ts'
import { dateWithOffset } from '../../kernel/zone.ts'
import { etagOf } from '../../platform/http/etag.ts'
import { recordShape } from '../../platform/wire/columns.ts'
import { date, flag, requiredReference, text, whole } from '../../platform/wire/fields.ts'
import { canonicalJson, isJsonNumber, JsonNumber } from '../../platform/wire/json.ts'
import { type BodyOf, type Field, objectOf, optional, REFUSED, required, word } from '../../platform/wire/read.ts'
import { orNull, outDate, outFlag, outId, outInteger, outObject, outText, outWord } from '../../platform/wire/write.ts'
import type { StoredMethod } from './queries.ts'
import { isValidOn } from './rules.ts'

/** Amount of a method that an answer shows: lists are short, only the single read to a full key holds the number. */
export interface MethodView extends StoredMethod {
  isShort: boolean
  /** The whole AccountNumber or IBAN, or a masked IBAN; null where it is not shown. */
  shownNumber: string | null
  /** The token of the mandate; null where it is not shown. */
  shownMandate: string | null
}

/** Returns a method as events and answers to changes show it: in full, without number and token. */
export const fullView = (method: StoredMethod): MethodView => ({
  ...method,
  isShort: false,
  shownNumber: null,
  shownMandate: null,
})

export const shortView = (method: StoredMethod, shownMandate: string | null): MethodView => ({
  ...method,
  isShort: true,
  shownNumber: null,
  shownMandate,
})

/** Returns a method as a detailed list shows it: all but numbers, of which it shows the country of an IBAN and last digits. */
export const detailedView = (
  method: StoredMethod,
  { shownMandate, number }: { shownMandate: string | null; number: string | null },
): MethodView => ({
  ...method,
  isShort: false,
  shownNumber: method.kind === 'sepa' && number !== null ? `${number.slice(0, 2)} ·· ${method.lastFour}` : null,
  branchCode: null,
  routingNumber: null,
  shownMandate,
})

const DEBIT_METHODS: Readonly<Record<BankKind, string>> = { debit_order: 'Debit Order', ach: 'ACH', sepa: 'SEPA' }

const BankAccountOut = outObject(
  {
    DebitMethod: orNull(outWord(Object.values(DEBIT_METHODS))),
    AccountType: orNull(outWord(['Current', 'Cheque', 'Checking', 'Savings', 'Transmission', 'Bond', 'Business'])),
    AccountHolder: orNull(outText()),
    Bank: orNull(outText()),
    AccountNumber: orNull(outText()),
    BranchCode: orNull(outText()),
    IBAN: orNull(outText()),
    BIC: orNull(outText()),
    RoutingNumber: orNull(outText()),
    LastFourDigits: orNull(outText()),
    EMandateToken: orNull(outText()),
    MandateReference: orNull(outText()),
    MandateDate: orNull(outDate('Calendar date')),
  },
  'BankAccount',
)

const CreditCardOut = outObject(
  {
    CardType: orNull(outWord(CARD_BRANDS)),
    NameOnCard: orNull(outText()),
    LastNameOnCard: orNull(outText()),
    ExpiryMonth: orNull(outInteger()),
    ExpiryYear: orNull(outInteger()),
    LastFourDigits: orNull(outText()),
  },
  'CreditCard',
)

const NO_BANK_ACCOUNT = {
  DebitMethod: null,
  AccountType: null,
  Bank: null,
  AccountNumber: null,
  BranchCode: null,
  IBAN: null,
  BIC: null,
  RoutingNumber: null,
  MandateReference: null,
  MandateDate: null,
}

function bankAccountToWire(m: MethodView, timeZone: string) {
  if (m.kind === 'credit_card') return null
  const shown = { AccountHolder: m.accountHolder, LastFourDigits: m.lastFour, EMandateToken: m.shownMandate }
  if (m.isShort) return { ...NO_BANK_ACCOUNT, ...shown }
  return {
    ...shown,
    DebitMethod: DEBIT_METHODS[m.kind],
    AccountType: m.accountType as (typeof ACCOUNT_TYPES)[number],
    Bank: m.bank,
    AccountNumber: m.kind === 'sepa' ? null : m.shownNumber,
    BranchCode: m.branchCode,
    IBAN: m.kind === 'sepa' ? m.shownNumber : null,
    BIC: m.bic,
    RoutingNumber: m.routingNumber,
    MandateReference: m.mandateReference,
    MandateDate: m.mandateDate === null ? null : dateWithOffset(m.mandateDate, timeZone),
  }
}

function creditCardToWire(m: MethodView) {
  if (m.kind !== 'credit_card') return null
  const shown = { NameOnCard: m.nameOnCard, LastFourDigits: m.lastFour }
  if (m.isShort) return { CardType: null, LastNameOnCard: null, ExpiryMonth: null, ExpiryYear: null, ...shown }
  const { cardBrand, lastNameOnCard, expiryMonth, expiryYear } = m
  return {
    ...shown,
    CardType: cardBrand,
    LastNameOnCard: lastNameOnCard,
    ExpiryMonth: expiryMonth,
    ExpiryYear: expiryYear,
  }
}

export const methodShape = recordShape<MethodView>()('PaymentMethod', {
  paymentMethodID: [outId(), ({ id }) => id],
  customerID: [outId(), ({ customerId }) => customerId],
  PaymentMethodType: [
    outWord(['bank_account', 'credit_card']),
    ({ kind }) => (kind === 'credit_card' ? kind : 'bank_account'),
  ],
  isPrimary: [outFlag(), ({ isPrimary }) => isPrimary],
  isValid: [outFlag(), (method, { today }) => isValidOn(method, today)],
  gatewayID: [orNull(outId('The gateway that keeps the card')), ({ gatewayId }) => gatewayId],
  BankAccount: [orNull(BankAccountOut), (method, { timeZone }) => bankAccountToWire(method, timeZone)],
  CreditCard: [orNull(CreditCardOut), creditCardToWire],
})

export const methodFilters = { isDetailed: optional(flag()) }

/** Changes with whatever a PUT would replace; the hash stands for the number. */
export const methodEtag = ({ id, version }: Pick<StoredMethod, 'id' | 'version'>): string => etagOf(id, version)

const NAME_MAX = 70

/** Reads a name beside a number: one that could itself be the number of a card is refused, and not repeated. */
export const nameBesideNumber = (max: number): Field<string> => {
  const plain = text({ max })
  return {
    ...plain,
    read(value, path, context) {
      const read = plain.read(value, path, context)
      if (typeof read !== 'string' || !holdsCardNumber(read)) return read
      context.problems.add('card_number_misplaced', path, `${path} must not hold what could be a card number.`)
      return REFUSED
    },
  }
}

/**
 * Reads a JSON number as the text that it stands for, with zeros in front up to `width`. Rule: one above 2^53 - 1, which not every program holds
 * exactly, is to be sent as text.
 */
export const numberAsText = <Value>(field: Field<Value>, width = 0): Field<Value> => ({
  ...field,
  read(value, path, context) {
    if (!isJsonNumber(value)) return field.read(value, path, context)
    const digits = canonicalJson(value)
    if (Math.abs(Number(digits)) <= Number.MAX_SAFE_INTEGER)
      return field.read(digits.padStart(width, '0'), path, context)
    context.problems.add('number_too_large', path, `${path} is too large for a number; send it as text.`)
    return REFUSED
  },
})

/** The number of a card: digits alone, kept from every message. What its digits must be is checked with the brand. */
const cardNumber: Field<CardNumber> = numberAsText({
  isBlankNull: true,
  isSecret: true,
  schema: {
    type: 'string',
    minLength: 12,
    description: '12 to 19 digits, with or without blanks, dots and dashes. Handed to the gateway and never kept',
  },
  read(value, path, context) {
    const digits = typeof value === 'string' ? pastedNumber(value) : ''
    if (/^[0-9]{12,19}$/.test(digits)) return new CardNumber(digits)
    context.problems.add('card_number_invalid', path, `${path} must be 12 to 19 digits.`)
    return REFUSED
  },
})

/** Reads a whole number also where its digits are pasted as a text. */
const pastedWhole = (field: Field<number>): Field<number> => ({
  ...field,
  read(value, path, context) {
    const digits = typeof value === 'string' ? plainCharacters(value).trim() : ''
    return field.read(/^[0-9]{1,4}$/.test(digits) ? new JsonNumber(digits) : value, path, context)
  },
})

const CreditCardIn = objectOf(
  {
    CardType: required(word(CARD_BRANDS, { anyCase: true })),
    Number: required(cardNumber),
    NameOnCard: required(text({ max: NAME_MAX })),
    LastNameOnCard: required(text({ max: NAME_MAX })),
    ExpiryMonth: required(pastedWhole(whole(1, 12))),
    ExpiryYear: required(pastedWhole(whole(2000, YEAR_MAX))),
  },
  { name: 'CreditCardInput', ignored: ['LastFourDigits'] },
)

const cardInputs = {
  customerID: required(requiredReference()),
  isPrimary: required(flag()),
  CreditCard: required(CreditCardIn),
}
const COMPUTED = ['paymentMethodID', 'isValid', 'PaymentMethodType', 'gatewayID']
export const CardMethodIn = objectOf(cardInputs, { name: 'CardMethodInput', ignored: [...COMPUTED, 'BankAccount'] })
export type CardMethodBody = BodyOf<typeof cardInputs>

export const ACCOUNT_TYPES = ['Current', 'Cheque', 'Checking', 'Savings', 'Transmission', 'Bond', 'Business'] as const

/** The kind of a bank account, as callers write it or as it is answered: debit_order and "Debit Order". */
export const bankKind: Field<BankKind> = {
  ...word(BANK_KINDS, { anyCase: true }),
  read: (value, path, context) =>
    word(BANK_KINDS, { anyCase: true }).read(
      typeof value === 'string' ? value.trim().replace(' ', '_') : value,
      path,
      context,
    ),
}

/** Reads a number, or the name of a mandate, that no message repeats. */
export const bankNumber = (max: number): Field<string> => ({
  ...numberAsText(text({ max, takesNumbers: true })),
  isSecret: true,
})

const bankInputs = {
  Method: required(bankKind, 'DebitMethod'),
  AccountType: required(word(ACCOUNT_TYPES, { anyCase: true })),
  AccountHolder: required(nameBesideNumber(NAME_MAX)),
  Bank: required(nameBesideNumber(NAME_MAX)),
  AccountNumber: optional(bankNumber(50)),
  BranchCode: optional(numberAsText(text({ max: 20, takesNumbers: true }), 6)),
  RoutingNumber: optional(numberAsText(text({ max: 20, takesNumbers: true }), 9)),
  IBAN: optional(bankNumber(70)),
  BIC: optional(text({ max: 30 })),
  EMandateToken: optional(bankNumber(200)),
  MandateReference: optional(text({ max: 35 })),
  MandateDate: optional(date()),
}
const BankAccountIn = objectOf(bankInputs, { name: 'BankAccountInput', ignored: ['LastFourDigits'] })
export type BankAccountBody = BodyOf<typeof bankInputs>

const bankMethodInputs = {
  customerID: required(requiredReference()),
  isPrimary: required(flag()),
  BankAccount: required(BankAccountIn),
}
export const BankMethodIn = objectOf(bankMethodInputs, {
  name: 'BankMethodInput',
  ignored: [...COMPUTED, 'CreditCard'],
})
export type BankMethodBody = BodyOf<typeof bankMethodInputs>

const validationInputs = {
  BankAccount: required(BankAccountIn),
  customerID: optional(requiredReference()),
}
export const ValidationIn = objectOf(validationInputs, {
  name: 'BankAccountValidation',
  ignored: ['paymentMethodID', 'PaymentMethodType', 'isPrimary', 'isValid', 'gatewayID', 'CreditCard'],
})
export type ValidationBody = BodyOf<typeof validationInputs>

/** Returns a mandate's fields as a body has them. */
export const mandateFromWire = (
  body: Pick<BankAccountBody, 'MandateReference' | 'MandateDate'>,
): { mandateReference: string | null | undefined; mandateDate: IsoDate | null | undefined } => ({
  mandateReference: body.MandateReference,
  mandateDate: body.MandateDate,
})
