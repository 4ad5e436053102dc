import type { ComponentType } from '../../engine/subscription/components.ts'
import type { TermType } from '../../kernel/calendar.ts'
import { etagOf } from '../../platform/http/etag.ts'
import { currencyCode, flag, longText, price, requiredReference, text, whole } from '../../platform/wire/fields.ts'
import { glCode, outGlCode } from '../../platform/wire/gl-code.ts'
import { recordsColumn, recordShape } from '../../platform/wire/columns.ts'
import {
  type BodyOf,
  described,
  type Field,
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
  orNull,
  outFlag,
  outId,
  outInteger,
  outNumber,
  outText,
  outWord,
} from '../../platform/wire/write.ts'
import { DAYS_MAX } from '../packages/wire.ts'
import type {
  Component,
  ComponentBracket,
  ComponentInput,
  ComponentTree,
  ComponentVersion,
  VersionCurrency,
} from './queries.ts'

const TERM_TYPES = ['months', 'days'] as const satisfies TermType[]
const TYPES = ['quantity', 'metered', 'opt-in'] as const satisfies ComponentType[]
export const SCHEMES = ['unit', 'volume', 'tiered', 'stairstep'] as const satisfies Component['scheme'][]
const CURRENCIES_MAX = 200
const BRACKETS_MAX = 100
const QUANTITY_MAX = 999_999_999_999

interface ShownCurrency {
  currency: VersionCurrency
  version: ComponentVersion
}

interface ShownBracket {
  bracket: ComponentBracket
  currency: VersionCurrency
}

const bracketShape = recordShape<ShownBracket>()('ComponentBracketPrice', {
  componentBracketID: [outId(), ({ bracket }) => bracket.id],
  componentVersionCurrencyID: [outId(), ({ currency }) => currency.id],
  Price: [
    outNumber('Price per unit, for stairstep of the bracket, up to 8 decimals'),
    ({ bracket }) => decimalDigits(bracket.price),
  ],
  QtyFrom: [outInteger({ format: 'int64' }), ({ bracket }) => Number(bracket.from)],
  QtyTill: [
    orNull(outInteger({ format: 'int64' })),
    ({ bracket }) => (bracket.till === null ? null : Number(bracket.till)),
  ],
})

const bracketsOf = ({ currency }: ShownCurrency): ShownBracket[] =>
  currency.brackets.map((bracket) => ({ bracket, currency }))

const currencyShape = recordShape<ShownCurrency>()('ComponentVersionCurrency', {
  componentVersionCurrencyID: [outId(), ({ currency }) => currency.id],
  componentVersionID: [outId(), ({ version }) => version.id],
  CurrencyCode: [outText(), ({ currency }) => currency.currency],
  ComponentBracketPrices: recordsColumn(bracketShape, bracketsOf),
})

const currenciesOf = (version: ComponentVersion): ShownCurrency[] =>
  version.currencies.map((currency) => ({ currency, version }))

export const componentVersionShape = recordShape<ComponentVersion>()('ComponentVersion', {
  componentVersionID: [outId(), ({ id }) => id],
  componentID: [outId(), ({ componentId }) => componentId],
  VersionNo: [outInteger(), ({ versionNo }) => versionNo],
  VersionName: [outText(), ({ name }) => name],
  isDefault: [outFlag(), ({ isDefault }) => isDefault],
  isActive: [outFlag(), ({ isActive }) => isActive],
  ComponentVersionCurrencies: recordsColumn(currencyShape, currenciesOf),
})

export const componentShape = recordShape<ComponentTree>()('Component', {
  componentID: [outId(), ({ owner }) => owner.id],
  ComponentCode: [outText(), ({ owner }) => owner.code],
  Name: [outText(), ({ owner }) => owner.name],
  Descrip: [orNull(outText()), ({ owner }) => owner.description],
  isActive: [outFlag(), ({ owner }) => owner.isActive],
  packageGroupID: [outId(), ({ owner }) => owner.groupId],
  UnitName: [outText(), ({ owner }) => owner.unitName],
  Term: [outInteger(), ({ owner }) => owner.term],
  TermType: [outWord(TERM_TYPES), ({ owner }) => owner.termType],
  Type: [outWord(TYPES), ({ owner }) => owner.type],
  Scheme: [outWord(SCHEMES), ({ owner }) => owner.scheme],
  GLCode: [outGlCode('Code of its revenue in the chart of the accountant'), ({ owner }) => owner.glCode],
  ComponentVersions: recordsColumn(componentVersionShape, ({ versions }) => versions),
})

/* What the service makes is ignored when sent, so that a record read can be sent back changed. */

/** Blank means no upper bound, as null does. */
const quantityTill: Field<number> = { ...whole(0, QUANTITY_MAX), isBlankNull: true }

const bracketFields = {
  Price: required(price()),
  QtyFrom: required(whole(0, QUANTITY_MAX)),
  QtyTill: optional(quantityTill),
} satisfies Properties

const BracketIn = objectOf(bracketFields, {
  name: 'ComponentBracketInput',
  ignored: ['componentBracketID', 'componentVersionCurrencyID'],
})
const brackets = listOf(BracketIn, { min: 1, max: BRACKETS_MAX, what: 'brackets' })

const CURRENCY_COMPUTED = ['componentVersionCurrencyID', 'componentVersionID']
const NewCurrencyIn = objectOf(
  { CurrencyCode: required(currencyCode()), ComponentBracketPrices: required(brackets) },
  { name: 'ComponentCurrencyAdd', ignored: CURRENCY_COMPUTED },
)
const keptBrackets = {
  CurrencyCode: required(currencyCode()),
  ComponentBracketPrices: optional(brackets),
} satisfies Properties
const CurrencyIn = objectOf(keptBrackets, { name: 'ComponentCurrencyEdit', ignored: CURRENCY_COMPUTED })

const CURRENCIES = { max: CURRENCIES_MAX, what: 'currencies' }
const newCurrencies = optional(listOf(NewCurrencyIn, CURRENCIES))
const VERSION_COMPUTED = ['componentVersionID', 'componentID', 'VersionNo']

/** Rule: the first version is always the default and active, whatever is sent. */
const firstVersionFields = {
  VersionName: required(text()),
  ComponentVersionCurrencies: newCurrencies,
} satisfies Properties
const FirstVersionIn = objectOf(firstVersionFields, {
  name: 'ComponentFirstVersion',
  ignored: [...VERSION_COMPUTED, 'isDefault', 'isActive'],
})

const newVersionFields = {
  ...firstVersionFields,
  isActive: required(flag()),
  isDefault: required(flag()),
} satisfies Properties
export const NewComponentVersionIn = objectOf(newVersionFields, {
  name: 'ComponentVersionAdd',
  ignored: VERSION_COMPUTED,
})

/** An absent list of currencies, or of a currency's brackets, stays as it is, and so does isDefault. */
const versionFields = {
  VersionName: required(text()),
  isActive: required(flag()),
  isDefault: optional(flag()),
  ComponentVersionCurrencies: optional(listOf(CurrencyIn, CURRENCIES)),
} satisfies Properties
export const ComponentVersionIn = objectOf(versionFields, { name: 'ComponentVersionEdit', ignored: VERSION_COMPUTED })

const sharedFields = {
  Name: required(text()),
  Type: required(word(TYPES, { anyCase: true })),
  Scheme: required(word(SCHEMES, { anyCase: true })),
  UnitName: required(text()),
  packageGroupID: required(requiredReference()),
  Term: required(whole(1, DAYS_MAX)),
  TermType: required(word(TERM_TYPES)),
  Descrip: optional(longText()),
  isActive: optional(described(flag(), 'Left out it is false; only an active component can be added to subscriptions')),
  GLCode: optional(
    glCode('Code of its revenue in the chart of the accountant; left out of an edit it stays, null: that of GLCodes'),
  ),
} satisfies Properties

const newComponentFields = { ComponentCode: required(text()), ...sharedFields } satisfies Properties
export const NewComponentIn = objectOf(
  { ...newComponentFields, ComponentVersion: required(FirstVersionIn) },
  { name: 'ComponentAdd', ignored: ['componentID', 'ComponentVersions'] },
)

const componentFields = { ComponentCode: optional(text()), ...sharedFields } satisfies Properties
export const ComponentIn = objectOf(componentFields, {
  name: 'ComponentEdit',
  ignored: ['componentID', 'ComponentVersions', 'ComponentVersion'],
})

const textOfSet = componentShape.writerOf(namesOfInputs(componentFields))

/** Changes with whatever a PUT would replace: the versions have tags of their own. */
export const componentEtag = (owner: Component): string => etagOf(owner.id, textOfSet({ owner, versions: [] }))

const textOfVersion = componentVersionShape.writerOf(namesOfInputs(versionFields, 'ComponentVersionCurrencies'))
const textOfCurrency = currencyShape.writerOf(namesOfInputs(keptBrackets, 'ComponentBracketPrices'))
const textOfBracket = bracketShape.writerOf(namesOfInputs(bracketFields))

export const componentVersionEtag = (version: ComponentVersion): string =>
  etagOf(
    version.id,
    textOfVersion(version),
    currenciesOf(version).map((shown) => [textOfCurrency(shown), bracketsOf(shown).map(textOfBracket)]),
  )

export type BracketBody = BodyOf<typeof bracketFields>
export type CurrencyBody = BodyOf<typeof keptBrackets>
export type FirstVersionBody = BodyOf<typeof firstVersionFields>
export type ComponentVersionBody = BodyOf<typeof versionFields>
export type NewComponentBody = BodyOf<typeof newComponentFields>
export type ComponentBody = BodyOf<typeof componentFields>

/** Reads the component of a body; what a body may leave out without a meaning, its codes, stays as `present` has it. */
export const componentFromWire = (
  body: ComponentBody,
  present: Pick<ComponentInput, 'code' | 'glCode'>,
): ComponentInput => ({
  groupId: body.packageGroupID,
  code: body.ComponentCode ?? present.code,
  name: body.Name,
  description: body.Descrip ?? null,
  isActive: body.isActive ?? false,
  unitName: body.UnitName,
  term: body.Term,
  termType: body.TermType,
  type: body.Type,
  scheme: body.Scheme,
  glCode: body.GLCode === undefined ? present.glCode : body.GLCode,
})
