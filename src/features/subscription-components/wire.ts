import { LEFT_OUT } from '../../platform/wire/left-out.ts'
import { described, leftOut } from '../../platform/wire/described.ts'
import { SHARED, identifies } from '../../platform/wire/shared-sentences.ts'
import { type Decimal, ZERO } from '../../kernel/decimal.ts'
import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { ComponentId, Id, SubscriptionId } from '../../kernel/ids.ts'
import {
  flag,
  date,
  decimalField,
  instant,
  longText,
  reference,
  requiredReference,
  text,
  whole,
} from '../../platform/wire/fields.ts'
import { isJsonNumber } from '../../platform/wire/json.ts'
import { asComponent } from '../../platform/wire/schema.ts'
import {
  type BodyOf,
  type Field,
  listOf,
  objectOf,
  optional,
  type Properties,
  REFUSED,
  required,
  word,
} from '../../platform/wire/read.ts'
import { dayColumn, recordShape } from '../../platform/wire/columns.ts'
import {
  decimalDigits,
  orNull,
  outDate,
  outFlag,
  outId,
  outInstant,
  outInteger,
  outList,
  outNumber,
  outObject,
  outText,
} from '../../platform/wire/write.ts'
import type { UsageTexts } from './usage-batch-queries.ts'
import type { ReadUsage, UsageEntry } from './usage-queries.ts'
import { fromFilter, toFilter } from '../../platform/http/query.ts'

export const COMPONENTS_MAX = 100
export const BULK_MAX = 10_000
export const BULK_BYTES_MAX = 8 * 1024 * 1024
const UNIT_DECIMALS = 8

const units = (min?: Decimal): Field<Decimal> =>
  decimalField({ decimalsMax: UNIT_DECIMALS, ...(min ? { min } : {}), description: 'Units, up to 8 decimals' })

/** Declares a flag that the interface lists as a number and answers as a boolean: both are taken. */
const flagOrNumber = (): Field<boolean> => ({
  isBlankNull: false,
  schema: { type: ['boolean', 'integer'], description: 'true or 1 sets the units, false or 0 adds to them' },
  read(value, path, context) {
    if (isJsonNumber(value) && ['0', '1'].includes(value.toString())) return value.toString() === '1'
    const read = flag().read(value, path, context)
    return read === REFUSED ? REFUSED : read
  },
})

/** Thousands of reports at once only add; an entry that sends isSetUnits, as a single report may, must send false. */
const addingOnly = (): Field<boolean> => ({
  isBlankNull: false,
  schema: { type: ['boolean', 'integer'], enum: [false, 0], description: 'Reports in bulk only add' },
  read(value, path, context) {
    const read = flagOrNumber().read(value, path, context)
    if (read !== true) return read
    context.problems.add('adding_only', path, `${path} cannot be true: reports in bulk only add.`)
    return REFUSED
  },
})

const componentInputs = {
  componentID: optional(reference(), identifies('component'), LEFT_OUT.ComponentCode),
  ComponentCode: optional(text({ takesNumbers: true }), SHARED.ComponentCode, LEFT_OUT.componentID),
  componentVersionID: optional(
    reference(),
    identifies('component version'),
    'Left out, componentVersionNumber names the version, else it is the default one.',
  ),
  componentVersionNumber: optional(
    whole(1, 2_147_483_647),
    'The number of the component version that is taken.',
    'Left out, componentVersionID names the version, else it is the default one.',
  ),
  Memo: optional(longText(), 'A note of your own on the component.', LEFT_OUT.none),
  NumUnits: optional(
    units(ZERO),
    'The number of units.',
    'Left out, a component that the subscription has keeps its units; a new one that is opted into has 1, a new metered one none, and a new quantity is refused.',
  ),
} satisfies Properties

export type SubscriptionComponentBody = BodyOf<typeof componentInputs>

/** Declares the components of a subscription; fields of usage reports alone are ignored. */
export const componentList = () =>
  listOf(objectOf(componentInputs, { name: 'SubscriptionComponentInput', ignored: ['isSetUnits'] }), {
    max: COMPONENTS_MAX,
    what: 'components',
  })

export const ModifyIn = objectOf(
  {
    componentUsage: required(componentList(), 'The whole set of components: what is not in it ends.'),
    When: optional(
      word(['now'] as const, { anyCase: true }),
      'Whether the change takes effect now or at the next renewal.',
      'Left out, it is `now`, the only moment there is.',
    ),
  },
  { name: 'SubscriptionComponentsEdit' },
)

/** The day that usage is dated, with the moment: a date without a time is its midnight. */
interface UsageDate {
  day: IsoDate
  at: Instant
}

const usageDate = (): Field<UsageDate> => {
  const [day, moment] = [date(), instant()]
  return {
    ...day,
    read(value, path, context) {
      const read = day.read(value, path, context)
      const at = read === REFUSED ? REFUSED : moment.read(value, path, context)
      return read === REFUSED || at === REFUSED ? REFUSED : { day: read, at }
    },
  }
}

const usageInputs = {
  NumUnits: required(units(), 'The number of units.'),
  isSetUnits: leftOut(optional(flagOrNumber()), LEFT_OUT.false),
  Date: optional(
    usageDate(),
    'The day of the usage, which decides its cycle; not before the subscription began, not after today.',
    LEFT_OUT.today,
  ),
  UsageKey: optional(
    text(),
    'A text of your own that counts the report once, however often it is sent.',
    'Left out, a report that is sent twice counts twice.',
  ),
  Memo: optional(longText(), 'A note of your own on the report.', LEFT_OUT.none),
} satisfies Properties

/** Fields of a report that the service computes. */
const REPORT_COMPUTED = ['usageID', 'RecordedDate', 'invoiceID']
const ignored = ['componentVersionID', 'componentVersionNumber', ...REPORT_COMPUTED]
const componentNames = {
  componentID: optional(reference(), identifies('component'), LEFT_OUT.ComponentCode),
  ComponentCode: optional(text({ takesNumbers: true }), SHARED.ComponentCode, LEFT_OUT.componentID),
} satisfies Properties

const entryInputs = { ...componentNames, ...usageInputs } satisfies Properties
export type UsageBody = BodyOf<typeof entryInputs>

const EntryIn = objectOf(entryInputs, { name: 'UsageEntry', ignored })
const entriesIn = listOf(EntryIn, { min: 1, max: 1000, what: 'entries' })
const EntriesIn = objectOf(
  { componentUsage: required(entriesIn, 'The reports, counted in this order.') },
  { name: 'UsageEntries' },
)

const recordInputs = {
  componentUsage: optional(entriesIn),
  ...componentNames,
  NumUnits: optional(units()),
  isSetUnits: optional(flagOrNumber()),
  Date: optional(usageDate()),
  UsageKey: optional(text()),
  Memo: optional(longText()),
} satisfies Properties

/** A list of entries, or one entry on its own: the document shows two bodies, of which each requires what it needs. */
export const RecordUsageIn = {
  ...objectOf(recordInputs, { ignored }),
  schema: asComponent('UsageRecord', { anyOf: [EntryIn.schema, EntriesIn.schema] }),
}
export type RecordUsageBody = BodyOf<typeof recordInputs>

const bulkInputs = {
  subscriptionID: required(requiredReference(), identifies('subscription')),
  ...componentNames,
  NumUnits: required(units(ZERO), 'The number of units.'),
  isSetUnits: leftOut(optional(addingOnly()), LEFT_OUT.false),
  Date: optional(
    usageDate(),
    'The day of the usage, which decides its cycle; not before the subscription began, not after today.',
    LEFT_OUT.today,
  ),
  UsageKey: required(text(), 'A text of your own that counts the report once, however often it is sent.'),
  Memo: optional(longText(), 'A note of your own on the report.', LEFT_OUT.none),
} satisfies Properties
export type BulkBody = BodyOf<typeof bulkInputs>

const BulkEntryIn = objectOf(bulkInputs, { name: 'UsageBulkEntry', ignored: REPORT_COMPUTED })
export const BulkUsageIn = objectOf(
  {
    Usage: required(listOf(BulkEntryIn, { max: BULK_MAX, what: 'entries' }), 'The reports of many subscriptions.'),
  },
  { name: 'UsageBulk' },
)
export const BulkUsageOut = outObject(
  {
    Recorded: outInteger('How many entries were counted.'),
    Duplicates: outInteger('How many entries were known by their UsageKey, and counted no second time.'),
  },
  'RecordedUsage',
)

/** The record of the event of usage that one request reported of a subscription. */
export const RecordedUsageOut = outObject({
  subscriptionID: outId(),
  Usage: outList(
    outObject({
      usageID: outId(),
      componentID: outId(),
      NumUnits: outNumber(),
      isSetUnits: outFlag(),
      Date: outDate(),
      UsageKey: orNull(outText()),
      Memo: orNull(outText()),
    }),
  ),
})

export const reportToWire = ({ id, componentId, units, isSet, day, key, memo }: UsageEntry & { id: Id }) => ({
  usageID: id,
  componentID: componentId,
  NumUnits: decimalDigits(units),
  isSetUnits: isSet,
  Date: day,
  UsageKey: key,
  Memo: memo,
})

/** Values that stand in no text that a shape writes around them. */
const [A_SUBSCRIPTION, A_REPORT, A_COMPONENT, A_NUMBER, A_KEY, A_MEMO] = [1n, 2n, 3n, 4n, 5n, 6n].map(
  (n) => 900_000_000_000_000n + n,
) as [bigint, bigint, bigint, bigint, bigint, bigint]
const A_DAY = '2999-12-31' as IsoDate

/** The forms of an event of usage of which the database keeps only the values: cut out of what its declared shape writes. */
export const USAGE_TEXTS: UsageTexts = (() => {
  const report = {
    id: A_REPORT as Id,
    subscriptionId: A_SUBSCRIPTION as SubscriptionId,
    componentId: A_COMPONENT as ComponentId,
    units: { coefficient: A_NUMBER, scale: 0 },
    isSet: false,
    day: A_DAY,
    key: String(A_KEY),
    memo: String(A_MEMO),
    cycleFrom: null,
    part: null,
  }
  const record = (Usage: ReturnType<typeof reportToWire>[]) =>
    RecordedUsageOut.write({ subscriptionID: report.subscriptionId, Usage })
  const [head = '', tail = ''] = record([]).split('[]')
  const written = record([reportToWire(report)])
  const values = [A_REPORT, A_COMPONENT, A_NUMBER, A_DAY, A_KEY, `"${A_MEMO}"`]
  const between = (text: string, [value, ...others]: readonly unknown[]): string[] => {
    if (value === undefined) return [text]
    const at = text.indexOf(String(value))
    return [text.slice(0, at), ...between(text.slice(at + String(value).length), others)]
  }
  return {
    report: between(written.slice(head.length + 1, -tail.length - 1), values),
    record: [...between(`${head}[`, [A_SUBSCRIPTION]), `]${tail}`],
  }
})()

export const usageShape = recordShape<ReadUsage>()('Usage', {
  usageID: [outId(identifies('report of usage')), (row) => row.id],
  componentID: [outId(identifies('component')), (row) => row.componentId],
  NumUnits: [outNumber('The number of units.'), (row) => decimalDigits(row.units)],
  isSetUnits: [
    outFlag('Whether the units replace what was reported of the cycle so far; else they add to it.'),
    (row) => row.isSet,
  ],
  Date: dayColumn((row) => row.day, 'The day of the usage, which decided its cycle.'),
  UsageKey: [
    orNull(outText('A text of your own that counts the report once, however often it is sent.')),
    (row) => row.key,
  ],
  Memo: [orNull(outText('The note of the report.')), (row) => row.memo],
  RecordedDate: [outInstant('When the report arrived.'), (row) => row.recordedAt],
  invoiceID: [
    orNull(outId('The invoice that charged it; null before, and where it cost nothing')),
    (row) => row.invoiceId,
  ],
})

export const usageFilters = {
  from: fromFilter(date()),
  to: toFilter(date()),
  componentID: described(componentNames.componentID, 'Limits the list to records of this component.', LEFT_OUT.ofAll),
  ComponentCode: described(
    componentNames.ComponentCode,
    'Limits the list to usage of the component with this code.',
    LEFT_OUT.all,
  ),
} satisfies Properties
