import { COUNTRIES } from '../../kernel/countries.ts'
import { BANK_KINDS } from '../../kernel/rails.ts'
import { decimal, ZERO } from '../../kernel/decimal.ts'
import { INT32_MAX, date, decimalField, email, flag, reference, text, whole } from '../../platform/wire/fields.ts'
import { dayColumn, optionalDayColumn, recordShape } from '../../platform/wire/columns.ts'
import {
  type BodyOf,
  described,
  objectOf,
  optional,
  type Properties,
  required,
  word,
} from '../../platform/wire/read.ts'
import {
  decimalDigits,
  orNull,
  outDate,
  outFlag,
  outId,
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
  Token: [outText(), ({ token }) => token],
  customerPaymentMethodID: [orNull(outId()), ({ linkedMethodId }) => linkedMethodId],
  MandateState: [outWord(MANDATE_STATES), ({ state }) => state],
  MandateReference: [outText({ description: 'The reference that the bank is given' }), mandateReference],
  Name: [outText(), ({ signee }) => signee.name],
  LastName: [outText(), ({ signee }) => signee.lastName],
  Company: [orNull(outText()), (row) => ofCompany(row, row.signee.company)],
  TradingAs: [orNull(outText()), (row) => ofCompany(row, row.signee.tradingAs)],
  Tel: [orNull(outText()), ({ signee }) => signee.tel],
  Email: [orNull(outText()), ({ signee }) => signee.email],
  Address1: [orNull(outText()), ({ signee }) => signee.address1],
  Address2: [orNull(outText()), ({ signee }) => signee.address2],
  City: [orNull(outText()), ({ signee }) => signee.city],
  State: [orNull(outText({ description: 'The province of the signee' })), ({ signee }) => signee.state],
  PostalCode: [orNull(outText()), ({ signee }) => signee.postalCode],
  CountryISOCode: [orNull(outText()), ({ signee }) => signee.country],
  bank_DebitMethod: [outWord(BANK_KINDS), ({ kind }) => kind],
  bank_Name: [outText(), ({ terms }) => terms.bank.name],
  bank_BranchCode: [orNull(outText()), ({ terms }) => terms.bank.branchCode],
  bank_AccHolder: [outText(), ({ terms }) => terms.bank.accountHolder],
  bank_AccNumber: [outText({ description: 'The last four digits' }), ({ lastFour }) => maskedNumber(lastFour)],
  bank_AccountType: [outWord(ACCOUNT_TYPES), ({ terms }) => terms.bank.accountType as (typeof ACCOUNT_TYPES)[number]],
  debit_Frequency: [outWord(FREQUENCIES), ({ terms }) => terms.frequency],
  debit_NameOnStmt: [outText(), ({ terms }) => terms.nameOnStatement],
  debit_ContractRef: [outText(), ({ terms }) => terms.contractRef],
  debit_StartDate: dayColumn(({ terms }) => terms.startDate),
  debit_ActionDay: [outInteger(), ({ terms }) => terms.actionDay],
  debit_EndDate: optionalDayColumn(({ terms }) => terms.endDate),
  debit_Amt: [outNumber(), ({ terms }) => decimalDigits(decimal(terms.amount))],
  debit_MaxAmt: [
    orNull(outNumber()),
    ({ terms }) => (terms.maxAmount === null ? null : decimalDigits(decimal(terms.maxAmount))),
  ],
  debit_Escalation: [orNull(outText()), ({ terms }) => terms.escalation],
  debit_VariableAmts: [orNull(outFlag()), ({ terms }) => terms.isVariable],
  CurrencyCode: [outText({ description: 'Of debit_Amt and debit_MaxAmt' }), ({ terms }) => terms.currency],
  AuthDomain: [
    orNull(outText({ description: 'The origin whose pages may show the frame' })),
    ({ authOrigin }) => authOrigin,
  ],
  isCustomerEditable: [outFlag(), ({ isCustomerEditable }) => isCustomerEditable],
  isCompanySignee: [outFlag(), ({ isCompanySignee }) => isCompanySignee],
  DateCreated: [outDate('Instant'), ({ createdAt }) => createdAt],
  DateSigned: [orNull(outDate('Instant; null until it is signed')), ({ signedAt }) => signedAt],
  BeneficiaryName: [outText(), ({ terms }) => terms.beneficiary.name],
  BeneficiaryContactNumber: [orNull(outText()), ({ terms }) => terms.beneficiary.tel],
  BeneficiaryWebPage: [orNull(outText()), ({ terms }) => terms.beneficiary.webPage],
  BeneficiaryEmail: [orNull(outText()), ({ terms }) => terms.beneficiary.email],
})

/** Record of an event about a mandate: nothing of it is personal. */
export const mandateEventShape = recordShape<MandateView>()('EMandateEvent', {
  MandateReference: [outText(), mandateReference],
  customerPaymentMethodID: [orNull(outId()), ({ linkedMethodId }) => linkedMethodId],
  MandateState: [outWord(MANDATE_STATES), ({ state }) => state],
  bank_DebitMethod: [outWord(BANK_KINDS), ({ kind }) => kind],
  DateCreated: [outDate('Instant'), ({ createdAt }) => createdAt],
  DateSigned: [orNull(outDate('Instant')), ({ signedAt }) => signedAt],
})

export const MandateCreatedOut = outObject(
  {
    Token: outText({ description: 'Names the eMandate; a secret of the account and the signee' }),
    Url: outText({
      description: 'The signing page; of a test account below the address of the request where PUBLIC_URL is not set',
    }),
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
  Name: required(nameBesideNumber(NAME_MAX)),
  Lastname: required(nameBesideNumber(NAME_MAX), 'LastName'),
  Company: optional(nameBesideNumber(255)),
  TradingAs: optional(nameBesideNumber(255)),
  Tel: optional(text()),
  Email: optional(email()),
  Address1: optional(text()),
  Address2: optional(text()),
  City: optional(text()),
  State: optional(text()),
  CountryISOCode: optional(country()),
  PostalCode: optional(text({ takesNumbers: true })),
} satisfies Properties

const inputs = {
  ...signeeInputs,
  customerPaymentMethodID: optional(reference()),
  bank_DebitMethod: optional(
    described(bankKind, 'How the account is debited; left out, as the stored account says, else by debit_order'),
  ),
  bank_Name: optional(described(nameBesideNumber(NAME_MAX), UNLESS_STORED)),
  bank_BranchCode: optional(
    described(
      numberAsText(text({ max: 30, takesNumbers: true }), 6),
      `The code of the branch of the bank, of sepa its BIC, of ach its routing number. ${UNLESS_STORED}`,
    ),
  ),
  bank_AccHolder: optional(described(nameBesideNumber(NAME_MAX), UNLESS_STORED)),
  bank_AccNumber: optional(described(bankNumber(70), `The number of the account, of sepa its IBAN. ${UNLESS_STORED}`)),
  bank_AccountType: optional(described(word(ACCOUNT_TYPES, { anyCase: true }), UNLESS_STORED)),
  debit_ActionDay: required(
    described(
      whole(-INT32_MAX, INT32_MAX),
      'The day of the debit: of a month 1 to 31, of a week 1 (Monday) to 7; of Daily and Once ignored',
    ),
  ),
  debit_StartDate: required(date()),
  debit_EndDate: optional(date()),
  debit_Frequency: required(word(FREQUENCIES, { anyCase: true })),
  debit_Escalation: optional(text({ max: 100, takesNumbers: true })),
  debit_Amt: required(
    described(
      amountField(),
      'The amount of each debit: in EUR for sepa, in USD for ach, else in the currency of the account',
    ),
  ),
  debit_MaxAmt: optional(amountField()),
  debit_NameOnStmt: required(text({ max: NAME_MAX })),
  debit_ContractRef: required(text({ max: NAME_MAX, takesNumbers: true })),
  debit_VariableAmts: optional(flag()),
  isCustomerEditable: optional(flag()),
  isCompanySignee: optional(flag()),
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
  { ...inputs, RedirectUrl },
  { name: 'RedirectEMandateInput', ignored: [...COMPUTED, 'AuthDomain'] },
)
/** Body of either flow. */
export type MandateBody = BodyOf<typeof inputs & { RedirectUrl: typeof RedirectUrl; AuthDomain: typeof AuthDomain }>

export const TokenQuery = objectOf({ Token: required(text({ max: 200 })) })

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
