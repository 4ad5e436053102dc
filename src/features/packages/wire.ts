import type { TermType } from '../../kernel/calendar.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { decimalText } from '../../kernel/decimal.ts'
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
import { recordsColumn, recordShape } from '../../platform/wire/columns.ts'
import { type BodyOf, listOf, objectOf, optional, type Properties, required, word } from '../../platform/wire/read.ts'
import {
  decimalDigits,
  minorDigits,
  outFlag,
  outId,
  outInteger,
  outList,
  outNumber,
  outObject,
  outText,
  outWord,
} from '../../platform/wire/write.ts'
import type { Package, PackageInput, PackageTree, PackageVersion, Rate, RateTerm } from './queries.ts'

const TERM_TYPES = ['months', 'days'] as const satisfies TermType[]
const RATES_MAX = 200
const TERMS_MAX = 100

const RateTermOut = outObject(
  {
    packageRateTermID: outId(),
    packageRateID: outId(),
    ChargePrice: outNumber('Price of one term, up to 8 decimals'),
    ChargeTerm: outInteger(),
    ChargeTermType: outWord(TERM_TYPES),
  },
  'PackageRateTerm',
)

const RateOut = outObject(
  {
    packageRateID: outId(),
    packageID: outId(),
    CurrencyCode: outText(),
    SetupFee: outNumber(),
    TrialFee: outNumber(),
    TrialPeriod: outInteger(),
    TrialPeriodType: outWord(TERM_TYPES),
    PackageRateTerms: outList(RateTermOut),
  },
  'PackageVersionRate',
)

/** A hundred years: dates that far still fit the calendar of the interface. */
export const DAYS_MAX = 36_500

const termToWire = (term: RateTerm, rate: Rate) => ({
  packageRateTermID: term.id,
  packageRateID: rate.id,
  ChargePrice: decimalDigits(term.price),
  ChargeTerm: term.term,
  ChargeTermType: term.termType,
})

const rateToWire = (rate: Rate, version: PackageVersion) => ({
  packageRateID: rate.id,
  packageID: version.packageId,
  CurrencyCode: rate.currency,
  SetupFee: minorDigits(rate.setupFeeMinor, digitsOf(rate.currency)),
  TrialFee: minorDigits(rate.trialFeeMinor, digitsOf(rate.currency)),
  TrialPeriod: rate.trialPeriod,
  TrialPeriodType: rate.trialPeriodType,
  PackageRateTerms: rate.terms.map((term) => termToWire(term, rate)),
})

export const packageVersionShape = recordShape<PackageVersion>()('PackageVersion', {
  packageVersionID: [outId(), ({ id }) => id],
  packageID: [outId(), ({ packageId }) => packageId],
  VersionNo: [outInteger(), ({ versionNo }) => versionNo],
  VersionName: [outText(), ({ name }) => name],
  isDefault: [outFlag(), ({ isDefault }) => isDefault],
  isActive: [outFlag(), ({ isActive }) => isActive],
  SubscriptionCount: [outInteger(), ({ subscriptionCount }) => subscriptionCount],
  packageVersionRates: [outList(RateOut), (version) => version.rates.map((rate) => rateToWire(rate, version))],
})

export const packageShape = recordShape<PackageTree>()('Package', {
  packageID: [outId(), ({ owner }) => owner.id],
  packageGroupID: [outId(), ({ owner }) => owner.groupId],
  packageCode: [outText(), ({ owner }) => owner.code],
  Name: [outText(), ({ owner }) => owner.name],
  Descrip: [outText(), ({ owner }) => owner.description],
  isActive: [outFlag(), ({ owner }) => owner.isActive],
  PackageVersions: recordsColumn(packageVersionShape, ({ versions }) => versions),
})

/** Changes with whatever a PUT would replace: the versions have tags of their own. */
export const packageEtag = (p: Package): string => etagOf(p.id, p.groupId, p.code, p.name, p.description, p.isActive)

export const packageVersionEtag = (version: PackageVersion): string =>
  etagOf(
    version.id,
    version.name,
    version.isDefault,
    version.isActive,
    version.rates.map((rate) => [
      rate.currency,
      rate.setupFeeMinor,
      rate.trialFeeMinor,
      rate.trialPeriod,
      rate.trialPeriodType,
      rate.terms.map(({ price: unit, term, termType }) => [decimalText(unit), term, termType]),
    ]),
  )

/* What the service makes is ignored when sent, so that a record read can be sent back changed. */

const termFields = {
  ChargePrice: required(price()),
  ChargeTerm: required(whole(1, DAYS_MAX)),
  ChargeTermType: required(word(TERM_TYPES)),
} satisfies Properties

const rateFields = {
  CurrencyCode: required(currencyCode()),
  SetupFee: required(amount()),
  TrialFee: required(amount()),
  TrialPeriod: required(whole(0, DAYS_MAX)),
  TrialPeriodType: required(word(TERM_TYPES)),
} satisfies Properties

const versionFields = {
  VersionName: required(text()),
  isActive: required(flag()),
  isDefault: required(flag()),
} satisfies Properties

const TermIn = objectOf(termFields, { name: 'PackageTermInput', ignored: ['packageRateTermID', 'packageRateID'] })
const terms = listOf(TermIn, { min: 1, max: TERMS_MAX, what: 'terms' })

const RATE_COMPUTED = ['packageRateID', 'packageID', 'packageVersionID']
const NewRateIn = objectOf(
  { ...rateFields, PackageRateTerms: required(terms) },
  { name: 'PackageRateAdd', ignored: RATE_COMPUTED },
)
const keptTerms = { ...rateFields, PackageRateTerms: optional(terms) } satisfies Properties
const RateIn = objectOf(keptTerms, { name: 'PackageRateEdit', ignored: RATE_COMPUTED })

const RATES = { min: 1, max: RATES_MAX, what: 'rates' }
const VERSION_COMPUTED = ['packageVersionID', 'packageID', 'VersionNo', 'SubscriptionCount']
const newVersionFields = {
  ...versionFields,
  packageVersionRates: required(listOf(NewRateIn, RATES)),
} satisfies Properties
export const NewPackageVersionIn = objectOf(newVersionFields, { name: 'PackageVersionAdd', ignored: VERSION_COMPUTED })

/** An absent list of rates, or of a rate's terms, stays as it is. */
const keptRates = { ...versionFields, packageVersionRates: optional(listOf(RateIn, RATES)) } satisfies Properties
export const PackageVersionIn = objectOf(keptRates, { name: 'PackageVersionEdit', ignored: VERSION_COMPUTED })

const packageFields = {
  packageGroupID: required(requiredReference()),
  packageCode: required(text()),
  Name: required(text()),
  Descrip: required(longText()),
  isActive: required(flag()),
} satisfies Properties

export const NewPackageIn = objectOf(
  { ...packageFields, PackageVersion: required(NewPackageVersionIn) },
  { name: 'PackageAdd', ignored: ['packageID', 'PackageVersions'] },
)
export const PackageIn = objectOf(packageFields, {
  name: 'PackageEdit',
  ignored: ['packageID', 'PackageVersions', 'PackageVersion'],
})

export type TermBody = BodyOf<typeof termFields>
export type RateBody = BodyOf<typeof keptTerms>
export type NewPackageVersionBody = BodyOf<typeof newVersionFields>
export type PackageVersionBody = BodyOf<typeof keptRates>
export type PackageBody = BodyOf<typeof packageFields>

export const packageFromWire = (body: PackageBody): PackageInput => ({
  groupId: body.packageGroupID,
  code: body.packageCode,
  name: body.Name,
  description: body.Descrip,
  isActive: body.isActive,
})
