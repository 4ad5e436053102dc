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

const TERM_TYPES = ['months', 'days'] as const satisfies TermType[]
const RATES_MAX = 200
const TERMS_MAX = 100

/** A hundred years: dates that far still fit the calendar of the interface. */
export const DAYS_MAX = 36_500

interface ShownTerm {
  term: RateTerm
  rate: Rate
}

const termShape = recordShape<ShownTerm>()('PackageRateTerm', {
  packageRateTermID: [outId(), ({ term }) => term.id],
  packageRateID: [outId(), ({ rate }) => rate.id],
  ChargePrice: [outNumber('Price of one term, up to 8 decimals'), ({ term }) => decimalDigits(term.price)],
  ChargeTerm: [outInteger(), ({ term }) => term.term],
  ChargeTermType: [outWord(TERM_TYPES), ({ term }) => term.termType],
})

interface ShownRate {
  rate: Rate
  version: PackageVersion
}

const termsOf = ({ rate }: ShownRate): ShownTerm[] => rate.terms.map((term) => ({ term, rate }))

const rateShape = recordShape<ShownRate>()('PackageVersionRate', {
  packageRateID: [outId(), ({ rate }) => rate.id],
  packageID: [outId(), ({ version }) => version.packageId],
  CurrencyCode: [outText(), ({ rate }) => rate.currency],
  SetupFee: [outNumber(), ({ rate }) => minorDigits(rate.setupFeeMinor, digitsOf(rate.currency))],
  TrialFee: [outNumber(), ({ rate }) => minorDigits(rate.trialFeeMinor, digitsOf(rate.currency))],
  TrialPeriod: [outInteger(), ({ rate }) => rate.trialPeriod],
  TrialPeriodType: [outWord(TERM_TYPES), ({ rate }) => rate.trialPeriodType],
  PackageRateTerms: recordsColumn(termShape, termsOf),
})

const ratesOf = (version: PackageVersion): ShownRate[] => version.rates.map((rate) => ({ rate, version }))

export const packageVersionShape = recordShape<PackageVersion>()('PackageVersion', {
  packageVersionID: [outId(), ({ id }) => id],
  packageID: [outId(), ({ packageId }) => packageId],
  VersionNo: [outInteger(), ({ versionNo }) => versionNo],
  VersionName: [outText(), ({ name }) => name],
  isDefault: [outFlag(), ({ isDefault }) => isDefault],
  isActive: [outFlag(), ({ isActive }) => isActive],
  SubscriptionCount: [outInteger(), ({ subscriptionCount }) => subscriptionCount],
  packageVersionRates: recordsColumn(rateShape, ratesOf),
})

export const packageShape = recordShape<PackageTree>()('Package', {
  packageID: [outId(), ({ owner }) => owner.id],
  packageGroupID: [outId(), ({ owner }) => owner.groupId],
  packageCode: [outText(), ({ owner }) => owner.code],
  Name: [outText(), ({ owner }) => owner.name],
  Descrip: [outText(), ({ owner }) => owner.description],
  isActive: [outFlag(), ({ owner }) => owner.isActive],
  GLCode: [outGlCode('Code of its revenue in the chart of the accountant'), ({ owner }) => owner.glCode],
  PackageVersions: recordsColumn(packageVersionShape, ({ versions }) => versions),
})

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
  GLCode: optional(
    glCode('Code of its revenue in the chart of the accountant; left out of an edit it stays, null: that of GLCodes'),
  ),
} satisfies Properties

export const NewPackageIn = objectOf(
  { ...packageFields, PackageVersion: required(NewPackageVersionIn) },
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
