import { LEFT_OUT } from '../../platform/wire/left-out.ts'
import { described } from '../../platform/wire/described.ts'
import { identifies } from '../../platform/wire/shared-sentences.ts'
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
import { orNull, outDay, outFlag, outId, outInteger, outObject, outText, outWord } from '../../platform/wire/write.ts'
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
    DebitMethod: orNull(outWord(Object.values(DEBIT_METHODS), 'The way in which the account is debited.')),
    AccountType: orNull(
      outWord(
        ['Current', 'Cheque', 'Checking', 'Savings', 'Transmission', 'Bond', 'Business'],
        'The kind of bank account, as the bank names it.',
      ),
    ),
    AccountHolder: orNull(outText('The name of the holder of the bank account.')),
    Bank: orNull(outText('The name of the bank.')),
    AccountNumber: orNull(outText('The number of the bank account.')),
    BranchCode: orNull(outText('The code of the branch of the bank.')),
    IBAN: orNull(outText('The international number of the bank account.')),
    BIC: orNull(outText('The international code of the bank.')),
    RoutingNumber: orNull(outText('The routing number of a bank in the United States.')),
    LastFourDigits: orNull(outText('The last four digits of the card or account.')),
    EMandateToken: orNull(outText('The token of the eMandate that allows the debits; null without one.')),
    MandateReference: orNull(outText('The reference of the mandate, which the holder of the account knows.')),
    MandateDate: orNull(outDay('The day on which the mandate was signed.')),
  },
  'BankAccount',
)

const CreditCardOut = outObject(
  {
    CardType: orNull(outWord(CARD_BRANDS, 'The brand of the card.')),
    NameOnCard: orNull(outText('The first name on the card.')),
    LastNameOnCard: orNull(outText('The last name on the card.')),
    ExpiryMonth: orNull(outInteger('The month in which the card expires, 1 to 12.')),
    ExpiryYear: orNull(outInteger('The year in which the card expires, in four digits.')),
    LastFourDigits: orNull(outText('The last four digits of the card or account.')),
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
  paymentMethodID: [outId(identifies('payment method')), ({ id }) => id],
  customerID: [outId(identifies('customer')), ({ customerId }) => customerId],
  PaymentMethodType: [
    outWord(['bank_account', 'credit_card'], 'Whether it is a card or a bank account.'),
    ({ kind }) => (kind === 'credit_card' ? kind : 'bank_account'),
  ],
  isPrimary: [outFlag('Whether it is the one that is used first.'), ({ isPrimary }) => isPrimary],
  isValid: [
    outFlag(
      'Whether the method can be charged: a bank account once it was validated, a card until its gateway refuses it for good.',
    ),
    (method, { today }) => isValidOn(method, today),
  ],
  gatewayID: [orNull(outId('The gateway that keeps the card')), ({ gatewayId }) => gatewayId],
  BankAccount: [
    described(orNull(BankAccountOut), 'The bank account; null where the method is a card.'),
    (method, { timeZone }) => bankAccountToWire(method, timeZone),
  ],
  CreditCard: [
    described(orNull(CreditCardOut), 'The card; null where the method is a bank account.'),
    creditCardToWire,
  ],
})

export const methodFilters = {
  isDetailed: optional(
    flag(),
    'With true the kind, the expiry, the bank and the mandate of each method are shown too, and an IBAN by its country and last four digits.',
    'Left out, false.',
  ),
}

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
    CardType: required(word(CARD_BRANDS, { anyCase: true }), 'The brand of the card.'),
    Number: required(cardNumber),
    NameOnCard: required(text({ max: NAME_MAX }), 'The first name on the card.'),
    LastNameOnCard: required(text({ max: NAME_MAX }), 'The last name on the card.'),
    ExpiryMonth: required(pastedWhole(whole(1, 12)), 'The month in which the card expires, 1 to 12.'),
    ExpiryYear: required(pastedWhole(whole(2000, YEAR_MAX)), 'The year in which the card expires, in four digits.'),
  },
  { name: 'CreditCardInput', ignored: ['LastFourDigits'] },
)

const NAMES_LEFT_OUT = 'Left out, it is that of the holder at the gateway, else that of the customer.'
const cardInputs = {
  customerID: required(requiredReference(), identifies('customer')),
  isPrimary: required(flag(), 'Whether it is the one that is used first.'),
  CreditCard: required(CreditCardIn, 'The card; null where the method is a bank account.'),
}
const COMPUTED = ['paymentMethodID', 'isValid', 'PaymentMethodType', 'gatewayID']
export const CardMethodIn = objectOf(cardInputs, { name: 'CardMethodInput', ignored: [...COMPUTED, 'BankAccount'] })
export type CardMethodBody = BodyOf<typeof cardInputs>

const TOKEN_MAX = 255
const broughtInputs = {
  customerID: required(requiredReference(), identifies('customer')),
  gatewayID: required(requiredReference(), identifies('gateway')),
  Token: required(
    { ...text({ max: TOKEN_MAX }), isSecret: true },
    'The token of the card at the gateway; of Stripe a pm_…, a card_…, or a cus_… that has one card or one that is its default.',
  ),
  isPrimary: optional(flag(), 'Whether it is the one that is used first.', LEFT_OUT.false),
  NameOnCard: optional(text({ max: NAME_MAX }), 'The first name on the card.', NAMES_LEFT_OUT),
  LastNameOnCard: optional(text({ max: NAME_MAX }), 'The last name on the card.', NAMES_LEFT_OUT),
}
export const GatewayTokenIn = objectOf(broughtInputs, { name: 'GatewayTokenInput', ignored: COMPUTED.slice(0, 3) })
export type GatewayTokenBody = BodyOf<typeof broughtInputs>

export const RemovalQuery = objectOf({
  isRemovedAtGateway: optional(
    flag(),
    'Whether a card that was brought by its token is removed at the gateway, too. Others always are.',
    LEFT_OUT.false,
  ),
})

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
  Method: required(
    bankKind,
    'The way in which the account is debited: by a debit order, in the United States (ach), or in the euro area (sepa).',
    ['DebitMethod'],
  ),
  AccountType: required(word(ACCOUNT_TYPES, { anyCase: true }), 'The kind of bank account, as the bank names it.'),
  AccountHolder: required(nameBesideNumber(NAME_MAX), 'The name of the holder of the bank account.'),
  Bank: required(nameBesideNumber(NAME_MAX), 'The name of the bank.'),
  AccountNumber: optional(
    bankNumber(50),
    'The number of the bank account.',
    'Left out only with `sepa`, which has an IBAN.',
  ),
  BranchCode: optional(
    numberAsText(text({ max: 20, takesNumbers: true }), 6),
    'The code of the branch of the bank.',
    'Left out with `sepa` and `ach`; else there is none then.',
  ),
  RoutingNumber: optional(
    numberAsText(text({ max: 20, takesNumbers: true }), 9),
    'The routing number of a bank in the United States.',
    'Left out but with `ach`, which requires it.',
  ),
  IBAN: optional(
    bankNumber(70),
    'The international number of the bank account.',
    'Left out but with `sepa`, which requires it.',
  ),
  BIC: optional(
    text({ max: 30 }),
    'The international code of the bank.',
    'Left out but with `sepa`, which requires it.',
  ),
  EMandateToken: optional(
    bankNumber(200),
    'The token of the eMandate that allows the debits; null without one.',
    'Left out, no eMandate is linked.',
  ),
  MandateReference: optional(
    text({ max: 35 }),
    'The reference of the mandate, which the holder of the account knows.',
    'Left out, the service makes one where the debit needs it.',
  ),
  MandateDate: optional(date(), 'The day on which the mandate was signed.', 'Left out, no mandate on paper is noted.'),
}
const BankAccountIn = objectOf(bankInputs, { name: 'BankAccountInput', ignored: ['LastFourDigits'] })
export type BankAccountBody = BodyOf<typeof bankInputs>

const bankMethodInputs = {
  customerID: required(requiredReference(), identifies('customer')),
  isPrimary: required(flag(), 'Whether it is the one that is used first.'),
  BankAccount: required(BankAccountIn, 'The bank account; null where the method is a card.'),
}
export const BankMethodIn = objectOf(bankMethodInputs, {
  name: 'BankMethodInput',
  ignored: [...COMPUTED, 'CreditCard'],
})
export type BankMethodBody = BodyOf<typeof bankMethodInputs>

const validationInputs = {
  BankAccount: required(BankAccountIn, 'The bank account; null where the method is a card.'),
  customerID: optional(requiredReference(), identifies('customer'), 'Left out, nothing is noted in a stored account.'),
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
