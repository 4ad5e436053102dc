import { SHARED, identifies } from '../../platform/wire/shared-sentences.ts'
import type { TermType } from '../../kernel/calendar.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { etagOf } from '../../platform/http/etag.ts'
import {
  amount,
  currencyCode,
  flag,
  longText,
  price,
  requiredReference,
  text,
  whole,
} from '../../platform/wire/fields.ts'
import { glCode, outGlCode } from '../../platform/wire/gl-code.ts'
import { recordsColumn, recordShape } from '../../platform/wire/columns.ts'
import {
  type BodyOf,
  listOf,
  namesOfInputs,
  objectOf,
  optional,
  type Properties,
  required,
  word,
} from '../../platform/wire/read.ts'
import {
  decimalDigits,
  minorDigits,
  outFlag,
  outId,
  outInteger,
  outNumber,
  outText,
  outWord,
} from '../../platform/wire/write.ts'
import type { Package, PackageInput, PackageTree, PackageVersion, Rate, RateTerm } from './types.ts'

export const TERM_TYPES = ['months', 'days'] as const satisfies TermType[]
const RATES_MAX = 200
const TERMS_MAX = 100

/** A hundred years: dates that far still fit the calendar of the interface. */
export const DAYS_MAX = 36_500

interface ShownTerm {
  term: RateTerm
  rate: Rate
}

const termShape = recordShape<ShownTerm>()('PackageRateTerm', {
  packageRateTermID: [outId(identifies('price of one term')), ({ term }) => term.id],
  packageRateID: [outId(identifies('rates of a package version in one currency')), ({ rate }) => rate.id],
  ChargePrice: [outNumber('Price of one term, up to 8 decimals'), ({ term }) => decimalDigits(term.price)],
  ChargeTerm: [outInteger('How many months or days the term has.'), ({ term }) => term.term],
  ChargeTermType: [outWord(TERM_TYPES, 'Whether the term counts months or days.'), ({ term }) => term.termType],
})

interface ShownRate {
  rate: Rate
  version: PackageVersion
}

const termsOf = ({ rate }: ShownRate): ShownTerm[] => rate.terms.map((term) => ({ term, rate }))

const rateShape = recordShape<ShownRate>()('PackageVersionRate', {
  packageRateID: [outId(identifies('rates of a package version in one currency')), ({ rate }) => rate.id],
  packageID: [outId(identifies('package')), ({ version }) => version.packageId],
  CurrencyCode: [outText(SHARED.CurrencyCode), ({ rate }) => rate.currency],
  SetupFee: [
    outNumber('The price that is charged once, with the first invoice.'),
    ({ rate }) => minorDigits(rate.setupFeeMinor, digitsOf(rate.currency)),
  ],
  TrialFee: [
    outNumber('The price of the trial, charged when it begins.'),
    ({ rate }) => minorDigits(rate.trialFeeMinor, digitsOf(rate.currency)),
  ],
  TrialPeriod: [outInteger('How many days or months the trial has; 0 means none.'), ({ rate }) => rate.trialPeriod],
  TrialPeriodType: [outWord(TERM_TYPES, 'The unit of `TrialPeriod`.'), ({ rate }) => rate.trialPeriodType],
  PackageRateTerms: recordsColumn(termShape, termsOf, 'The prices by length of term.'),
})

const ratesOf = (version: PackageVersion): ShownRate[] => version.rates.map((rate) => ({ rate, version }))

export const packageVersionShape = recordShape<PackageVersion>()('PackageVersion', {
  packageVersionID: [outId(identifies('package version')), ({ id }) => id],
  packageID: [outId(identifies('package')), ({ packageId }) => packageId],
  VersionNo: [outInteger('The number of the version, counted from 1.'), ({ versionNo }) => versionNo],
  VersionName: [outText('The name of the version, for those who work with it.'), ({ name }) => name],
  isDefault: [outFlag('Whether it is the one that is taken where none is named.'), ({ isDefault }) => isDefault],
  isActive: [
    outFlag('Whether subscriptions can take the version; those that have it keep it.'),
    ({ isActive }) => isActive,
  ],
  SubscriptionCount: [outInteger('How many subscriptions there are.'), ({ subscriptionCount }) => subscriptionCount],
  packageVersionRates: recordsColumn(rateShape, ratesOf, 'The rates of the version, one entry for each currency.'),
})

export const packageShape = recordShape<PackageTree>()('Package', {
  packageID: [outId(identifies('package')), ({ owner }) => owner.id],
  packageGroupID: [outId(identifies('package group')), ({ owner }) => owner.groupId],
  packageCode: [outText(SHARED.packageCode), ({ owner }) => owner.code],
  Name: [outText('The name of the package, as lists and invoices show it.'), ({ owner }) => owner.name],
  Descrip: [outText('A longer text about the package.'), ({ owner }) => owner.description],
  isActive: [
    outFlag('Whether customers can subscribe to it; subscriptions that have it keep it.'),
    ({ owner }) => owner.isActive,
  ],
  GLCode: [outGlCode('Code of its revenue in the chart of the accountant'), ({ owner }) => owner.glCode],
  PackageVersions: recordsColumn(packageVersionShape, ({ versions }) => versions, 'The versions of the package.'),
})

/* What the service makes is ignored when sent, so that a record read can be sent back changed. */

const termFields = {
  ChargePrice: required(price(), 'The price of one term, without tax.'),
  ChargeTerm: required(whole(1, DAYS_MAX), 'How many months or days the term has.'),
  ChargeTermType: required(word(TERM_TYPES), 'Whether the term counts months or days.'),
} satisfies Properties

const rateFields = {
  CurrencyCode: required(currencyCode(), SHARED.CurrencyCode),
  SetupFee: required(amount(), 'The price that is charged once, with the first invoice.'),
  TrialFee: required(amount(), 'The price of the trial, charged when it begins.'),
  TrialPeriod: required(whole(0, DAYS_MAX), 'How many days or months the trial has; 0 means none.'),
  TrialPeriodType: required(word(TERM_TYPES), 'The unit of `TrialPeriod`.'),
} satisfies Properties

const versionFields = {
  VersionName: required(text(), 'The name of the version, for those who work with it.'),
  isActive: required(flag(), 'Whether subscriptions can take the version; those that have it keep it.'),
  isDefault: required(flag(), 'Whether it is the one that is taken where none is named.'),
} satisfies Properties

const TermIn = objectOf(termFields, { name: 'PackageTermInput', ignored: ['packageRateTermID', 'packageRateID'] })
const terms = listOf(TermIn, { min: 1, max: TERMS_MAX, what: 'terms' })

const RATE_COMPUTED = ['packageRateID', 'packageID', 'packageVersionID']
const NewRateIn = objectOf(
  { ...rateFields, PackageRateTerms: required(terms, 'The prices by length of term.') },
  { name: 'PackageRateAdd', ignored: RATE_COMPUTED },
)
const keptTerms = {
  ...rateFields,
  PackageRateTerms: optional(
    terms,
    'The prices by length of term.',
    'Left out, those of the currency stay as they are.',
  ),
} satisfies Properties
const RateIn = objectOf(keptTerms, { name: 'PackageRateEdit', ignored: RATE_COMPUTED })

const RATES = { min: 1, max: RATES_MAX, what: 'rates' }
const VERSION_COMPUTED = ['packageVersionID', 'packageID', 'VersionNo', 'SubscriptionCount']
const newVersionFields = {
  ...versionFields,
  packageVersionRates: required(listOf(NewRateIn, RATES), 'The rates of the version, one entry for each currency.'),
} satisfies Properties
export const NewPackageVersionIn = objectOf(newVersionFields, { name: 'PackageVersionAdd', ignored: VERSION_COMPUTED })

/** An absent list of rates, or of a rate's terms, stays as it is. */
const keptRates = {
  ...versionFields,
  packageVersionRates: optional(
    listOf(RateIn, RATES),
    'The rates of the version, one entry for each currency.',
    'Left out, they stay as they are; a list replaces them.',
  ),
} satisfies Properties
export const PackageVersionIn = objectOf(keptRates, { name: 'PackageVersionEdit', ignored: VERSION_COMPUTED })

const packageFields = {
  packageGroupID: required(requiredReference(), identifies('package group')),
  packageCode: required(text(), SHARED.packageCode),
  Name: required(text(), 'The name of the package, as lists and invoices show it.'),
  Descrip: required(longText(), 'A longer text about the package.'),
  isActive: required(flag(), 'Whether customers can subscribe to it; subscriptions that have it keep it.'),
  GLCode: optional(
    glCode('Code of its revenue in the chart of the accountant; left out of an edit it stays, null: that of GLCodes'),
  ),
} satisfies Properties

export const NewPackageIn = objectOf(
  { ...packageFields, PackageVersion: required(NewPackageVersionIn, 'The first version of the package.') },
  { name: 'PackageAdd', ignored: ['packageID', 'PackageVersions'] },
)
export const PackageIn = objectOf(packageFields, {
  name: 'PackageEdit',
  ignored: ['packageID', 'PackageVersions', 'PackageVersion'],
})

const textOfSet = packageShape.writerOf(namesOfInputs(packageFields))

/** Changes with whatever a PUT would replace: the versions have tags of their own. */
export const packageEtag = (owner: Package): string => etagOf(owner.id, textOfSet({ owner, versions: [] }))

const textOfVersion = packageVersionShape.writerOf(namesOfInputs(versionFields))
const textOfRate = rateShape.writerOf(namesOfInputs(rateFields))
const textOfTerm = termShape.writerOf(namesOfInputs(termFields))

export const packageVersionEtag = (version: PackageVersion): string =>
  etagOf(
    version.id,
    textOfVersion(version),
    ratesOf(version).map((shown) => [textOfRate(shown), termsOf(shown).map(textOfTerm)]),
  )

export type TermBody = BodyOf<typeof termFields>
export type RateBody = BodyOf<typeof keptTerms>
export type NewPackageVersionBody = BodyOf<typeof newVersionFields>
export type PackageVersionBody = BodyOf<typeof keptRates>
export type PackageBody = BodyOf<typeof packageFields>

/** Reads the package of a body; what only newer programs know stays as `present` has it where it is absent. */
export const packageFromWire = (body: PackageBody, present?: PackageInput): PackageInput => ({
  groupId: body.packageGroupID,
  code: body.packageCode,
  name: body.Name,
  description: body.Descrip,
  isActive: body.isActive,
  glCode: body.GLCode === undefined ? (present?.glCode ?? null) : body.GLCode,
})
