import { isRoutingNumber } from '../../kernel/bank-numbers.ts'
import { achText, isAchLegible } from '../../rails/nacha/characters.ts'
import { RETRY_DESCRIPTION } from '../../rails/nacha/layout.ts'
import { ACCOUNT_MAX } from '../../rails/nacha/write.ts'
import { flag, text, whole } from '../../platform/wire/fields.ts'
import { optional, type Properties, word } from '../../platform/wire/read.ts'

/** Settings of gateways of type ach-file, beside those of every gateway that takes batches. */

const COMPANY_NAME_MAX = 16
const BANK_NAME_MAX = 23
const DESCRIPTION_MAX = 10

/** Returns what is wrong with a text by the characters that stand for it in files: an umlaut is two. */
function problemOfName(value: string, max: number): string | undefined {
  if (!isAchLegible(value, max)) return 'must have letters or digits that NACHA files carry'
  const { length } = achText(value, Infinity)
  return length > max
    ? `must have at most ${max} characters as NACHA files carry it, and has ${length} there`
    : undefined
}

const name = (max: number) => text({ max, check: (value) => problemOfName(value, max) })

const routing = () =>
  text({
    max: 9,
    check: (value) =>
      isRoutingNumber(value) ? undefined : 'must be a routing number: nine digits, the last of which checks the others',
  })

/** Identifies a company to its bank: as a rule 1 and nine digits of a tax number. */
const companyId = () =>
  text({
    max: 10,
    check: (value) => (/^[A-Za-z0-9]{1,10}$/.test(value) ? undefined : 'must be 1 to 10 letters and digits'),
  })

/** Descriptions that every bank takes for repeated debits and for reversals. */
const RESERVED = [RETRY_DESCRIPTION, 'REVERSAL']

const description = () =>
  text({
    max: DESCRIPTION_MAX,
    check: (value) => {
      const problem = problemOfName(value, DESCRIPTION_MAX)
      if (problem !== undefined) return problem
      return RESERVED.includes(achText(value, DESCRIPTION_MAX))
        ? `must not be ${RESERVED.join(' or ')}, which Nacha reserves`
        : undefined
    },
  })

export const DEFAULT_CLASSES = ['PPD', 'WEB'] as const

/** Bank days of batches unless the Settings name others. Banks want a file on the day before its debits, hours before the window of the Federal Reserve closes. */
export const ACH_DAYS = { leadDays: 2, submitDays: 1 }

export const ACH_SETTINGS = {
  CompanyName: optional(name(COMPANY_NAME_MAX)),
  CompanyID: optional(companyId()),
  OdfiRouting: optional(routing()),
  DestinationRouting: optional(routing()),
  DestinationName: optional(name(BANK_NAME_MAX)),
  OriginID: optional(companyId()),
  OriginName: optional(name(BANK_NAME_MAX)),
  EntryDescription: optional(description()),
  isPurchase: optional(flag()),
  DefaultClass: optional(word(DEFAULT_CLASSES, { anyCase: true })),
  OffsetRouting: optional(routing()),
  OffsetAccount: optional(
    text({
      max: ACCOUNT_MAX,
      check: (value) =>
        /^[A-Za-z0-9-]{1,17}$/.test(value) ? undefined : `must be 1 to ${ACCOUNT_MAX} letters, digits or hyphens`,
    }),
  ),
  SettleAfterDays: optional(whole(0, 90)),
} satisfies Properties

/** Returns which Setting does not fit the others: one of a balanced file alone, or a last day for files before the day on which debits enter them. */
export function achSettingsProblem({
  OffsetRouting,
  OffsetAccount,
  LeadDays,
  SubmitDays,
}: Readonly<Record<string, unknown>>) {
  if (Number(SubmitDays ?? ACH_DAYS.submitDays) > Number(LeadDays ?? ACH_DAYS.leadDays))
    return { name: 'SubmitDays', message: 'must be at most LeadDays, when debits enter their batch' }
  if ((OffsetRouting == null) === (OffsetAccount == null)) return undefined
  const missing = OffsetRouting == null ? 'OffsetRouting' : 'OffsetAccount'
  return { name: missing, message: 'is missing: OffsetRouting and OffsetAccount are set both or neither' }
}

export interface AchSettings {
  company: { name: string; id: string }
  /** The bank that takes the files. */
  odfi: string
  destination: { routing: string; name: string }
  origin: { id: string; name: string }
  description: string
  isPurchase: boolean
  defaultClass: (typeof DEFAULT_CLASSES)[number]
  /** The account that balances a file; null: the bank credits on its own. */
  offset: { routing: string; account: string } | null
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Returns the Settings of a gateway with the defaults in place of what is not set; what is needed and not set is empty. */
export function achSettings(settings: Readonly<Record<string, unknown>>): AchSettings {
  const textFor = (name: keyof typeof ACH_SETTINGS) => textOf(settings[name])
  const company = { name: textFor('CompanyName'), id: textFor('CompanyID').toUpperCase() }
  const odfi = textFor('OdfiRouting')
  const offset = { routing: textFor('OffsetRouting'), account: textFor('OffsetAccount') }
  return {
    company,
    odfi,
    destination: { routing: textFor('DestinationRouting') || odfi, name: textFor('DestinationName') },
    origin: { id: textFor('OriginID').toUpperCase() || company.id, name: textFor('OriginName') || company.name },
    description: textFor('EntryDescription') || 'SUBSCRIPTN',
    isPurchase: settings['isPurchase'] === true,
    defaultClass: (settings['DefaultClass'] as AchSettings['defaultClass'] | undefined) ?? 'PPD',
    offset: offset.account === '' ? null : offset,
  }
}
