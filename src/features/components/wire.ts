import { LEFT_OUT, whenLeftOut } from '../../platform/wire/left-out.ts'
import { described } from '../../platform/wire/described.ts'
import { SHARED, identifies } from '../../platform/wire/shared-sentences.ts'
import type { ComponentType } from '../../engine/subscription/components.ts'
import { etagOf } from '../../platform/http/etag.ts'
import { currencyCode, flag, longText, price, requiredReference, text, whole } from '../../platform/wire/fields.ts'
import { glCode, outGlCode } from '../../platform/wire/gl-code.ts'
import { recordsColumn, recordShape } from '../../platform/wire/columns.ts'
import {
  type BodyOf,
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
import { DAYS_MAX, TERM_TYPES } from '../packages/wire.ts'
import type {
  Component,
  ComponentBracket,
  ComponentInput,
  ComponentTree,
  ComponentVersion,
  VersionCurrency,
} from './queries.ts'

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
  componentBracketID: [outId(identifies('bracket')), ({ bracket }) => bracket.id],
  componentVersionCurrencyID: [
    outId(identifies('prices of a component version in one currency')),
    ({ currency }) => currency.id,
  ],
  Price: [
    outNumber('Price per unit, for stairstep of the bracket, up to 8 decimals'),
    ({ bracket }) => decimalDigits(bracket.price),
  ],
  QtyFrom: [
    described(outInteger(undefined, { format: 'int64' }), 'The first quantity of the bracket.'),
    ({ bracket }) => Number(bracket.from),
  ],
  QtyTill: [
    described(
      orNull(outInteger(undefined, { format: 'int64' })),
      'The last quantity of the bracket; null in the last bracket, which has no end.',
    ),
    ({ bracket }) => (bracket.till === null ? null : Number(bracket.till)),
  ],
})

const bracketsOf = ({ currency }: ShownCurrency): ShownBracket[] =>
  currency.brackets.map((bracket) => ({ bracket, currency }))

const currencyShape = recordShape<ShownCurrency>()('ComponentVersionCurrency', {
  componentVersionCurrencyID: [
    outId(identifies('prices of a component version in one currency')),
    ({ currency }) => currency.id,
  ],
  componentVersionID: [outId(identifies('component version')), ({ version }) => version.id],
  CurrencyCode: [outText(SHARED.CurrencyCode), ({ currency }) => currency.currency],
  ComponentBracketPrices: recordsColumn(bracketShape, bracketsOf, 'The brackets of quantity, each with its price.'),
})

const currenciesOf = (version: ComponentVersion): ShownCurrency[] =>
  version.currencies.map((currency) => ({ currency, version }))

export const componentVersionShape = recordShape<ComponentVersion>()('ComponentVersion', {
  componentVersionID: [outId(identifies('component version')), ({ id }) => id],
  componentID: [outId(identifies('component')), ({ componentId }) => componentId],
  VersionNo: [outInteger('The number of the version, counted from 1.'), ({ versionNo }) => versionNo],
  VersionName: [outText('The name of the version, for those who work with it.'), ({ name }) => name],
  isDefault: [outFlag('Whether it is the one that is taken where none is named.'), ({ isDefault }) => isDefault],
  isActive: [
    outFlag('Whether subscriptions can take the version; those that have it keep it.'),
    ({ isActive }) => isActive,
  ],
  ComponentVersionCurrencies: recordsColumn(
    currencyShape,
    currenciesOf,
    'The prices of the version, one entry for each currency.',
  ),
})

export const componentShape = recordShape<ComponentTree>()('Component', {
  componentID: [outId(identifies('component')), ({ owner }) => owner.id],
  ComponentCode: [outText(SHARED.ComponentCode), ({ owner }) => owner.code],
  Name: [outText('The name of the component, as lists and invoices show it.'), ({ owner }) => owner.name],
  Descrip: [orNull(outText('A longer text about the component.')), ({ owner }) => owner.description],
  isActive: [
    outFlag('Whether the component can be added to subscriptions; those that have it keep it.'),
    ({ owner }) => owner.isActive,
  ],
  packageGroupID: [outId(identifies('package group')), ({ owner }) => owner.groupId],
  UnitName: [outText('The name of one unit, as documents show it.'), ({ owner }) => owner.unitName],
  Term: [outInteger(SHARED.Term), ({ owner }) => owner.term],
  TermType: [outWord(TERM_TYPES, SHARED.TermType), ({ owner }) => owner.termType],
  Type: [
    outWord(
      TYPES,
      'How it is charged: a quantity in advance, metered usage after its cycle, or opt-in once for the term.',
    ),
    ({ owner }) => owner.type,
  ],
  Scheme: [
    outWord(SCHEMES, 'How brackets make the price: by unit, volume, tiered or stairstep.'),
    ({ owner }) => owner.scheme,
  ],
  GLCode: [outGlCode('Code of its revenue in the chart of the accountant'), ({ owner }) => owner.glCode],
  ComponentVersions: recordsColumn(componentVersionShape, ({ versions }) => versions, 'The versions of the component.'),
})

/* What the service makes is ignored when sent, so that a record read can be sent back changed. */

/** Blank means no upper bound, as null does. */
const quantityTill: Field<number> = { ...whole(0, QUANTITY_MAX), isBlankNull: true }

const bracketFields = {
  Price: required(price(), 'The price without tax.'),
  QtyFrom: required(whole(0, QUANTITY_MAX), 'The first quantity of the bracket.'),
  QtyTill: optional(
    quantityTill,
    'The last quantity of the bracket; null in the last bracket, which has no end.',
    'Left out, the bracket has no end.',
  ),
} satisfies Properties

const BracketIn = objectOf(bracketFields, {
  name: 'ComponentBracketInput',
  ignored: ['componentBracketID', 'componentVersionCurrencyID'],
})
const brackets = listOf(BracketIn, { min: 1, max: BRACKETS_MAX, what: 'brackets' })

const CURRENCY_COMPUTED = ['componentVersionCurrencyID', 'componentVersionID']
const NewCurrencyIn = objectOf(
  {
    CurrencyCode: required(currencyCode(), SHARED.CurrencyCode),
    ComponentBracketPrices: required(brackets, 'The brackets of quantity, each with its price.'),
  },
  { name: 'ComponentCurrencyAdd', ignored: CURRENCY_COMPUTED },
)
const keptBrackets = {
  CurrencyCode: required(currencyCode(), SHARED.CurrencyCode),
  ComponentBracketPrices: optional(
    brackets,
    'The brackets of quantity, each with its price.',
    'Left out, those of the currency stay as they are.',
  ),
} satisfies Properties
const CurrencyIn = objectOf(keptBrackets, { name: 'ComponentCurrencyEdit', ignored: CURRENCY_COMPUTED })

const CURRENCIES = { max: CURRENCIES_MAX, what: 'currencies' }
const newCurrencies = optional(listOf(NewCurrencyIn, CURRENCIES))
const VERSION_COMPUTED = ['componentVersionID', 'componentID', 'VersionNo']

/** Rule: the first version is always the default and active, whatever is sent. */
const firstVersionFields = {
  VersionName: required(text(), 'The name of the version, for those who work with it.'),
  ComponentVersionCurrencies: described(
    newCurrencies,
    'The prices of the version, one entry for each currency.',
    'Left out, the version has no prices.',
  ),
} satisfies Properties
const FirstVersionIn = objectOf(firstVersionFields, {
  name: 'ComponentFirstVersion',
  ignored: [...VERSION_COMPUTED, 'isDefault', 'isActive'],
})

const newVersionFields = {
  ...firstVersionFields,
  isActive: required(flag(), 'Whether subscriptions can take the version; those that have it keep it.'),
  isDefault: required(flag(), 'Whether it is the one that is taken where none is named.'),
} satisfies Properties
export const NewComponentVersionIn = objectOf(newVersionFields, {
  name: 'ComponentVersionAdd',
  ignored: VERSION_COMPUTED,
})

/** An absent list of currencies, or of a currency's brackets, stays as it is, and so does isDefault. */
const versionFields = {
  VersionName: required(text(), 'The name of the version, for those who work with it.'),
  isActive: required(flag(), 'Whether subscriptions can take the version; those that have it keep it.'),
  isDefault: optional(flag(), 'Whether it is the one that is taken where none is named.', LEFT_OUT.kept),
  ComponentVersionCurrencies: optional(
    listOf(CurrencyIn, CURRENCIES),
    'The prices of the version, one entry for each currency.',
    'Left out, they stay as they are; a list replaces them.',
  ),
} satisfies Properties
export const ComponentVersionIn = objectOf(versionFields, { name: 'ComponentVersionEdit', ignored: VERSION_COMPUTED })

const sharedFields = {
  Name: required(text(), 'The name of the component, as lists and invoices show it.'),
  Type: required(
    word(TYPES, { anyCase: true }),
    'How it is charged: a quantity in advance, metered usage after its cycle, or opt-in once for the term.',
  ),
  Scheme: required(
    word(SCHEMES, { anyCase: true }),
    'How brackets make the price: by unit, volume, tiered or stairstep.',
  ),
  UnitName: required(text(), 'The name of one unit, as documents show it.'),
  packageGroupID: required(requiredReference(), identifies('package group')),
  Term: required(whole(1, DAYS_MAX), SHARED.Term),
  TermType: required(word(TERM_TYPES), SHARED.TermType),
  Descrip: optional(longText(), 'A longer text about the component.', LEFT_OUT.none),
  isActive: optional(described(flag(), 'Left out it is false; only an active component can be added to subscriptions')),
  GLCode: optional(
    glCode('Code of its revenue in the chart of the accountant; left out of an edit it stays, null: that of GLCodes'),
  ),
} satisfies Properties

const newComponentFields = {
  ComponentCode: required(text(), SHARED.ComponentCode),
  ...sharedFields,
} satisfies Properties
export const NewComponentIn = objectOf(
  {
    ...newComponentFields,
    ComponentVersion: required(FirstVersionIn, 'The first version of the component.'),
  },
  { name: 'ComponentAdd', ignored: ['componentID', 'ComponentVersions'] },
)

const componentFields = {
  ComponentCode: optional(text(), SHARED.ComponentCode, LEFT_OUT.kept),
  ...whenLeftOut(sharedFields, { Descrip: LEFT_OUT.cleared }),
} satisfies Properties
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
