import { LEFT_OUT } from '../../platform/wire/left-out.ts'
import { described, leftOut } from '../../platform/wire/described.ts'
import { SHARED, identifies } from '../../platform/wire/shared-sentences.ts'
import { COUNTRIES } from '../../kernel/countries.ts'
import { BANK_KINDS } from '../../kernel/rails.ts'
import { decimal, ZERO } from '../../kernel/decimal.ts'
import { INT32_MAX, date, decimalField, email, flag, reference, text, whole } from '../../platform/wire/fields.ts'
import { dayColumn, optionalDayColumn, recordShape } from '../../platform/wire/columns.ts'
import { type BodyOf, objectOf, optional, type Properties, required, word } from '../../platform/wire/read.ts'
import {
  decimalDigits,
  orNull,
  outDate,
  outFlag,
  outId,
  outInstant,
  outInteger,
  outNumber,
  outObject,
  outText,
  outWord,
} from '../../platform/wire/write.ts'
import { ACCOUNT_TYPES, bankKind, bankNumber, nameBesideNumber, numberAsText } from '../payment-methods/wire.ts'
import { MANDATE_STATES, type MandateState, mandateReference } from '../payment-methods/emandate.ts'
import { maskedNumber } from './rules.ts'
import { FREQUENCIES, type Mandate, type Signee } from './types.ts'

/** Mandate as an answer shows it: with its state, and the token by which it was asked for. */
export interface MandateView extends Mandate {
  state: MandateState
  token: string
}

const ofCompany = (mandate: MandateView, value: string | null) => (mandate.isCompanySignee ? value : null)

export const mandateShape = recordShape<MandateView>()('EMandate', {
  Token: [
    outText('The token by which requests name the mandate; unsigned, it is valid for 24 hours.'),
    ({ token }) => token,
  ],
  customerPaymentMethodID: [orNull(outId(identifies('payment method'))), ({ linkedMethodId }) => linkedMethodId],
  MandateState: [
    outWord(MANDATE_STATES, 'Whether the mandate waits for its signature, is signed, or has lapsed unsigned.'),
    ({ state }) => state,
  ],
  MandateReference: [outText('The reference that the bank is given'), mandateReference],
  Name: [outText('The first name of the signee.'), ({ signee }) => signee.name],
  LastName: [outText(SHARED.LastName), ({ signee }) => signee.lastName],
  Company: [
    orNull(outText('The name of the company, which documents are made out to.')),
    (row) => ofCompany(row, row.signee.company),
  ],
  TradingAs: [
    orNull(outText('The name under which the company trades.')),
    (row) => ofCompany(row, row.signee.tradingAs),
  ],
  Tel: [orNull(outText(SHARED.Tel)), ({ signee }) => signee.tel],
  Email: [orNull(outText(SHARED.Email)), ({ signee }) => signee.email],
  Address1: [orNull(outText(SHARED.Address1)), ({ signee }) => signee.address1],
  Address2: [orNull(outText(SHARED.Address2)), ({ signee }) => signee.address2],
  City: [orNull(outText(SHARED.City)), ({ signee }) => signee.city],
  State: [orNull(outText('The province of the signee')), ({ signee }) => signee.state],
  PostalCode: [orNull(outText(SHARED.ZipCode)), ({ signee }) => signee.postalCode],
  CountryISOCode: [
    orNull(outText('The country of the signee, in the three letters of ISO 3166-1.')),
    ({ signee }) => signee.country,
  ],
  bank_DebitMethod: [outWord(BANK_KINDS, 'The way in which the account is debited.'), ({ kind }) => kind],
  bank_Name: [outText('The name of the bank.'), ({ terms }) => terms.bank.name],
  bank_BranchCode: [orNull(outText('The code of the branch of the bank.')), ({ terms }) => terms.bank.branchCode],
  bank_AccHolder: [outText('The name of the holder of the account.'), ({ terms }) => terms.bank.accountHolder],
  bank_AccNumber: [outText('The last four digits'), ({ lastFour }) => maskedNumber(lastFour)],
  bank_AccountType: [
    outWord(ACCOUNT_TYPES, 'The kind of bank account, as the bank names it.'),
    ({ terms }) => terms.bank.accountType as (typeof ACCOUNT_TYPES)[number],
  ],
  debit_Frequency: [outWord(FREQUENCIES, 'How often the account is debited.'), ({ terms }) => terms.frequency],
  debit_NameOnStmt: [outText('The name that the statement of the holder shows.'), ({ terms }) => terms.nameOnStatement],
  debit_ContractRef: [
    outText('Your reference of the contract, which the bank shows.'),
    ({ terms }) => terms.contractRef,
  ],
  debit_StartDate: dayColumn(({ terms }) => terms.startDate, 'The day of the first debit.'),
  debit_ActionDay: [
    outInteger('The day of the debit: of the week from Monday (1) for Weekly, else of the month.'),
    ({ terms }) => terms.actionDay,
  ],
  debit_EndDate: optionalDayColumn(
    ({ terms }) => terms.endDate,
    'The day after which nothing is debited; null where the mandate has no end.',
  ),
  debit_Amt: [outNumber('The amount of each debit.'), ({ terms }) => decimalDigits(decimal(terms.amount))],
  debit_MaxAmt: [
    orNull(outNumber('The highest amount of one debit; null where the mandate names none.')),
    ({ terms }) => (terms.maxAmount === null ? null : decimalDigits(decimal(terms.maxAmount))),
  ],
  debit_Escalation: [
    orNull(outText('How the amount may rise, in words; null where it may not.')),
    ({ terms }) => terms.escalation,
  ],
  debit_VariableAmts: [
    orNull(outFlag('Whether the amount may differ from debit to debit.')),
    ({ terms }) => terms.isVariable,
  ],
  CurrencyCode: [outText('Of debit_Amt and debit_MaxAmt'), ({ terms }) => terms.currency],
  AuthDomain: [orNull(outText('The origin whose pages may show the frame')), ({ authOrigin }) => authOrigin],
  isCustomerEditable: [
    outFlag('Whether the signee may change his own details before he signs.'),
    ({ isCustomerEditable }) => isCustomerEditable,
  ],
  isCompanySignee: [
    outFlag('Whether a company signs; only then Company and TradingAs are shown.'),
    ({ isCompanySignee }) => isCompanySignee,
  ],
  DateCreated: [outInstant(SHARED.DateCreated), ({ createdAt }) => createdAt],
  DateSigned: [orNull(outDate('Instant; null until it is signed')), ({ signedAt }) => signedAt],
  BeneficiaryName: [outText('The name of the account that is paid.'), ({ terms }) => terms.beneficiary.name],
  BeneficiaryContactNumber: [
    orNull(outText('The telephone number of the account that is paid.')),
    ({ terms }) => terms.beneficiary.tel,
  ],
  BeneficiaryWebPage: [
    orNull(outText('The website of the account that is paid.')),
    ({ terms }) => terms.beneficiary.webPage,
  ],
  BeneficiaryEmail: [
    orNull(outText('The e-mail address of the account that is paid.')),
    ({ terms }) => terms.beneficiary.email,
  ],
})

/** Record of an event about a mandate: nothing of it is personal. */
export const mandateEventShape = recordShape<MandateView>()('EMandateEvent', {
  MandateReference: [outText('The reference of the mandate, which the holder of the account knows.'), mandateReference],
  customerPaymentMethodID: [orNull(outId(identifies('payment method'))), ({ linkedMethodId }) => linkedMethodId],
  MandateState: [
    outWord(MANDATE_STATES, 'Whether the mandate waits for its signature, is signed, or has lapsed unsigned.'),
    ({ state }) => state,
  ],
  bank_DebitMethod: [outWord(BANK_KINDS, 'The way in which the account is debited.'), ({ kind }) => kind],
  DateCreated: [outInstant(SHARED.DateCreated), ({ createdAt }) => createdAt],
  DateSigned: [orNull(outInstant('When it was signed; null until then.')), ({ signedAt }) => signedAt],
})

export const MandateCreatedOut = outObject(
  {
    Token: outText('Names the eMandate; a secret of the account and the signee'),
    Url: outText('The signing page; of a test account below the address of the request where PUBLIC_URL is not set'),
  },
  'EMandateCreated',
)

const NAME_MAX = 70
const URL_MAX = 2000
const ALPHA3 = new Set(COUNTRIES.map(({ alpha3 }) => alpha3))

const country = () =>
  text({
    max: 3,
    description: 'The country of the signee, in the three letters of ISO 3166-1, such as ZAF',
    check: (code) => (ALPHA3.has(code) ? undefined : 'must be a country of ISO 3166-1 in three letters, such as ZAF'),
  })

const UNLESS_STORED = 'Required unless customerPaymentMethodID names a stored account'
const amountField = () => decimalField({ decimalsMax: 4, min: ZERO, isMinOpen: true })

const signeeInputs = {
  Name: required(nameBesideNumber(NAME_MAX), 'The first name of the signee.'),
  Lastname: required(nameBesideNumber(NAME_MAX), 'The family name of the signee.', ['LastName']),
  Company: optional(nameBesideNumber(255), 'The name of the company, which documents are made out to.', LEFT_OUT.none),
  TradingAs: optional(nameBesideNumber(255), 'The name under which the company trades.', LEFT_OUT.none),
  Tel: optional(text(), SHARED.Tel, LEFT_OUT.none),
  Email: optional(email(), SHARED.Email, LEFT_OUT.none),
  Address1: optional(text(), SHARED.Address1, LEFT_OUT.none),
  Address2: optional(text(), SHARED.Address2, LEFT_OUT.none),
  City: optional(text(), SHARED.City, LEFT_OUT.none),
  State: optional(text(), 'The province of the signee.', LEFT_OUT.none),
  CountryISOCode: leftOut(optional(country()), LEFT_OUT.none),
  PostalCode: optional(text({ takesNumbers: true }), SHARED.ZipCode, LEFT_OUT.none),
} satisfies Properties

const inputs = {
  ...signeeInputs,
  customerPaymentMethodID: optional(
    reference(),
    identifies('payment method'),
    'Left out, the fields of the bank account are required.',
  ),
  bank_DebitMethod: optional(
    described(bankKind, 'How the account is debited; left out, as the stored account says, else by debit_order'),
  ),
  bank_Name: optional(described(nameBesideNumber(NAME_MAX), UNLESS_STORED), 'The name of the bank.'),
  bank_BranchCode: optional(
    described(
      numberAsText(text({ max: 30, takesNumbers: true }), 6),
      `The code of the branch of the bank, of sepa its BIC, of ach its routing number. ${UNLESS_STORED}`,
    ),
  ),
  bank_AccHolder: optional(
    described(nameBesideNumber(NAME_MAX), UNLESS_STORED),
    'The name of the holder of the account.',
  ),
  bank_AccNumber: optional(described(bankNumber(70), `The number of the account, of sepa its IBAN. ${UNLESS_STORED}`)),
  bank_AccountType: optional(
    described(word(ACCOUNT_TYPES, { anyCase: true }), UNLESS_STORED),
    'The kind of bank account, as the bank names it.',
  ),
  debit_ActionDay: required(
    described(
      whole(-INT32_MAX, INT32_MAX),
      'The day of the debit: of a month 1 to 31, of a week 1 (Monday) to 7; of Daily and Once ignored',
    ),
  ),
  debit_StartDate: required(date(), 'The day of the first debit.'),
  debit_EndDate: optional(
    date(),
    'The day after which nothing is debited; null where the mandate has no end.',
    'Left out, the mandate has no end.',
  ),
  debit_Frequency: required(word(FREQUENCIES, { anyCase: true }), 'How often the account is debited.'),
  debit_Escalation: optional(
    text({ max: 100, takesNumbers: true }),
    'How the amount may rise, in words; null where it may not.',
    'Left out, the amount may not rise.',
  ),
  debit_Amt: required(
    described(
      amountField(),
      'The amount of each debit: in EUR for sepa, in USD for ach, else in the currency of the account',
    ),
  ),
  debit_MaxAmt: optional(
    amountField(),
    'The highest amount of one debit; null where the mandate names none.',
    'Left out, the mandate names none.',
  ),
  debit_NameOnStmt: required(text({ max: NAME_MAX }), 'The name that the statement of the holder shows.'),
  debit_ContractRef: required(
    text({ max: NAME_MAX, takesNumbers: true }),
    'Your reference of the contract, which the bank shows.',
  ),
  debit_VariableAmts: optional(
    flag(),
    'Whether the amount may differ from debit to debit.',
    'Left out, the mandate does not say.',
  ),
  isCustomerEditable: optional(
    flag(),
    'Whether the signee may change his own details before he signs.',
    LEFT_OUT.false,
  ),
  isCompanySignee: optional(
    flag(),
    'Whether a company signs; only then Company and TradingAs are shown.',
    LEFT_OUT.false,
  ),
} satisfies Properties

const COMPUTED = [
  'Token',
  'MandateState',
  'MandateReference',
  'CurrencyCode',
  'DateCreated',
  'DateSigned',
  'BeneficiaryName',
  'BeneficiaryContactNumber',
  'BeneficiaryWebPage',
  'BeneficiaryEmail',
]
const AuthDomain = optional(
  text({
    description: 'The one host or origin whose pages may show the frame; left out, any https page with the Token',
  }),
)
const RedirectUrl = optional(
  text({ max: URL_MAX, description: 'Where the signee returns to: https, or localhost for a test account' }),
)
export const MandateIn = objectOf(
  { ...inputs, AuthDomain },
  { name: 'EMandateInput', ignored: [...COMPUTED, 'RedirectUrl'] },
)
export const RedirectMandateIn = objectOf(
  { ...inputs, RedirectUrl: leftOut(RedirectUrl, 'Left out, the signee stays on the page of the service.') },
  { name: 'RedirectEMandateInput', ignored: [...COMPUTED, 'AuthDomain'] },
)
/** Body of either flow. */
export type MandateBody = BodyOf<typeof inputs & { RedirectUrl: typeof RedirectUrl; AuthDomain: typeof AuthDomain }>

export const TokenQuery = objectOf({
  Token: required(text({ max: 200 }), 'The token of the mandate, as it was answered when it was made.'),
})

/** The basics of a mandate alone: a signee may correct them. */
export const SigneeIn = objectOf(signeeInputs)

export const signeeFromWire = (body: BodyOf<typeof signeeInputs>): Signee => ({
  name: body.Name,
  lastName: body.Lastname,
  company: body.Company ?? null,
  tradingAs: body.TradingAs ?? null,
  tel: body.Tel ?? null,
  email: body.Email ?? null,
  address1: body.Address1 ?? null,
  address2: body.Address2 ?? null,
  city: body.City ?? null,
  state: body.State ?? null,
  country: body.CountryISOCode ?? null,
  postalCode: body.PostalCode ?? null,
})
