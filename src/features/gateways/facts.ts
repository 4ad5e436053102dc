import type { BankCalendar } from '../../kernel/bank-days.ts'
import type { BatchDays } from '../../kernel/batch-days.ts'
import { BANK_KINDS, type BankKind, type MethodKind } from '../../kernel/rails.ts'
import { SANDBOX_FAULTS } from '../../sandbox/sandbox.ts'
import { flag, text, whole } from '../../platform/wire/fields.ts'
import { optional, type Properties, word } from '../../platform/wire/read.ts'
import { ACH_DAYS, ACH_SETTINGS, achSettings, achSettingsProblem } from './ach-settings.ts'
import { GOCARDLESS_SETTINGS } from './gocardless-settings.ts'
import { SEPA_SETTINGS } from './sepa-settings.ts'
import { STRIPE_SETTINGS } from './stripe-settings.ts'

/** Facts of the types of gateways that this version has: data, known without a call. */

/** The types of gateways that are built, as callers write them. */
export const GATEWAY_TYPES = ['sandbox', 'manual', 'sepa-file', 'ach-file', 'stripe', 'gocardless'] as const
export type GatewayType = (typeof GATEWAY_TYPES)[number]

/**
 * The rule by which a mandate serves: that of SEPA, where its reference goes to the bank and it lapses after a time without use; or that it was
 * signed, by a day that is known.
 */
export type MandateRule = 'sepa' | 'signed'

export interface GatewayFacts {
  type: GatewayType
  /** The name it is shown under. */
  name: string
  takes: readonly MethodKind[]
  /** Modes of accounts that can have it. */
  modes: readonly ('test' | 'live')[]
  /** An account has it from its beginning: it can be made inactive, not added or deleted. */
  isGiven: boolean
  /** Moves no real money. */
  isTestMode: boolean
  /** Results come by file or by hand. */
  isManualRecon: boolean
  /** Takes the raw number of a card from this service. */
  takesCardNumbers: boolean
  /** Keeps bank accounts itself, with their mandates: no number of an account is here, and its lines are handed over one by one. */
  keepsAccounts?: true
  /** Each gateway has one currency of these, and debits the accounts of its kind by the days of its calendar. */
  schemes?: Readonly<Record<string, { method: BankKind; calendar: BankCalendar }>>
  /** Its batches of the service leave on their last day, unless its Settings have AutoSubmit false. */
  submitsByItself?: true
  /** Its currencies: those of the account, those that its operator chooses, or these. */
  currencies: 'of the account' | 'chosen' | readonly string[]
  /** Currencies that it does not take, whoever chooses. */
  currenciesNot?: readonly string[]
  /** Declares its Settings, each optional; those named in `needed` must be there before it is enabled. */
  settings: Properties
  needed: readonly string[]
  /** Settings that are keys of one mode, which they hold: `_test_` or `_live_`. What is needed has to be there from the beginning. */
  keys?: readonly string[]
  /** The one of its Settings that opens an account there: another account's is refused while anything is stored. */
  secretKey?: string
  /** Settings whose null is a value of its own; of others it takes the Setting away. */
  nullable?: readonly string[]
  /** The Setting that mandates were signed for: it stays as long as there are some. */
  fixedByMandates?: string
  /** Debits no account without a mandate that it can name to the bank. */
  needsMandates?: MandateRule
  /** Returns what is wrong with Settings together that are right one by one. */
  problemOf?: (settings: Readonly<Record<string, unknown>>) => { name: string; message: string } | undefined
  /** Bank days after a debit when a line of a downloaded file counts as paid without a word of the bank, unless Settings name others. */
  settlesAfterDays?: number
  /** Of one whose bank answers by NACHA files: returns the company, in capitals, whose batches are its own. */
  nachaCompany?: (settings: Readonly<Record<string, unknown>>) => string
  /** Its scheme bounds how often a debit is made again that came back for want of funds. */
  boundsRepeats?: true
  /** Its files differ by their place among those of their day. */
  countsFiles?: true
  /** Sources that pages of the capture widget may load for it alone: its own fields, and banks that ask for a confirmation (3-D Secure). */
  frame?: {
    /** Sources of Content-Security-Policy whose pages may be framed, and that scripts may ask. */
    frames: readonly string[]
    connects: readonly string[]
  }
  /** Card fields of its own, in which the browser hands it the card: this service never sees the number. */
  fields?: GatewayFields
  /** For how many days it lists what it has reported; left out: for ever, or it lists nothing. */
  reportDays?: number
  /** The days of its batches, as far as Settings name no others; left out: it takes no batches. */
  batches?: BatchDays
}

/** Card fields of a gateway: the address of its script, and the sources of Content-Security-Policy that a page with them needs. */
export interface GatewayFields {
  script: string
  scripts: readonly string[]
  frames: readonly string[]
  connects: readonly string[]
}

const CUT_OFF = /^([01]\d|2[0-3]):[0-5]\d$/

/** Settings of gateways that collect in batches: how many bank days ahead, until when, and how early the payer is warned. */
const BATCH_SETTINGS = {
  LeadDays: optional(whole(0, 30)),
  SubmitDays: optional(whole(0, 30)),
  CutOff: optional(
    text({ max: 5, check: (time) => (CUT_OFF.test(time) ? undefined : 'must be a time of day such as 16:00') }),
  ),
  PreNotificationDays: optional(whole(0, 90)),
  RetryNoticeDays: optional(whole(0, 90)),
} satisfies Properties

/** Calendars whose bank days a gateway may follow. */
export const CALENDARS = ['Weekdays', 'TARGET', 'Fed', 'ZA'] as const

/** The days of gateways whose batches leave for no real bank. */
const ANY_WEEKDAY: BatchDays = { calendar: 'weekdays', leadDays: 2, submitDays: 0, cutOff: '23:59' }

export const SANDBOX: GatewayFacts = {
  type: 'sandbox',
  name: 'Sandbox',
  takes: ['credit_card', ...BANK_KINDS],
  modes: ['test'],
  isGiven: true,
  isTestMode: true,
  isManualRecon: false,
  takesCardNumbers: true,
  currencies: 'of the account',
  settings: {
    ...BATCH_SETTINGS,
    AutoSubmit: optional(flag()),
    // Milliseconds before it answers, and what goes wrong with every call.
    LatencyMs: optional(whole(0, 30_000)),
    Fault: optional(word(SANDBOX_FAULTS)),
    // Signs its reports in place of a secret of its own.
    EventSecret: optional(text({ max: 200 })),
  },
  needed: [],
  // It plays the customer's bank on a page of this service.
  frame: { frames: ["'self'"], connects: [] },
  batches: ANY_WEEKDAY,
}

export const MANUAL: GatewayFacts = {
  type: 'manual',
  name: 'Manual',
  takes: BANK_KINDS,
  modes: ['test', 'live'],
  isGiven: false,
  isTestMode: false,
  isManualRecon: true,
  takesCardNumbers: false,
  currencies: 'chosen',
  settings: { ...BATCH_SETTINGS, Calendar: optional(word(CALENDARS, { anyCase: true })) },
  needed: [],
  batches: ANY_WEEKDAY,
}

/** Direct debits of SEPA as files for the operator's bank. */
export const SEPA_FILE: GatewayFacts = {
  type: 'sepa-file',
  name: 'SEPA file',
  takes: ['sepa'],
  modes: ['test', 'live'],
  isGiven: false,
  isTestMode: false,
  isManualRecon: true,
  takesCardNumbers: false,
  currencies: ['EUR'],
  settings: { ...BATCH_SETTINGS, ...SEPA_SETTINGS },
  needed: ['CreditorName', 'CreditorIBAN', 'CreditorBIC', 'CreditorIdentifier'],
  nullable: ['SettleAfterDays'],
  fixedByMandates: 'CreditorIdentifier',
  needsMandates: 'sepa',
  settlesAfterDays: 5,
  // Files of SEPA reach the payer's bank one bank day before the debit.
  batches: { calendar: 'target', leadDays: 2, submitDays: 1, cutOff: '16:00' },
}

/** Debits of accounts in the United States as NACHA files for the operator's bank. */
export const ACH_FILE: GatewayFacts = {
  type: 'ach-file',
  name: 'ACH file',
  takes: ['ach'],
  modes: ['test', 'live'],
  isGiven: false,
  isTestMode: false,
  isManualRecon: true,
  takesCardNumbers: false,
  currencies: ['USD'],
  settings: { ...BATCH_SETTINGS, ...ACH_SETTINGS },
  needed: ['CompanyName', 'CompanyID', 'OdfiRouting', 'DestinationName'],
  nullable: ['SettleAfterDays'],
  needsMandates: 'signed',
  settlesAfterDays: 3,
  problemOf: achSettingsProblem,
  countsFiles: true,
  boundsRepeats: true,
  nachaCompany: (settings) => achSettings(settings).company.id,
  batches: { calendar: 'fed', ...ACH_DAYS, cutOff: '14:00' },
}

const STRIPE_SCRIPTS = ['https://js.stripe.com', 'https://*.js.stripe.com']

/** Cards by Stripe. */
export const STRIPE: GatewayFacts = {
  type: 'stripe',
  name: 'Stripe',
  takes: ['credit_card'],
  modes: ['test', 'live'],
  isGiven: false,
  isTestMode: false,
  isManualRecon: false,
  takesCardNumbers: false,
  currencies: 'chosen',
  // Their decimals are others at Stripe; of UGX its sources disagree by a hundred.
  currenciesNot: ['IQD', 'LYD', 'CLF', 'UYI', 'UYW', 'UGX'],
  settings: STRIPE_SETTINGS,
  needed: ['SecretKey', 'PublishableKey'],
  reportDays: 30,
  keys: ['SecretKey', 'PublishableKey'],
  secretKey: 'SecretKey',
  fields: {
    script: 'https://js.stripe.com/endive/stripe.js',
    scripts: STRIPE_SCRIPTS,
    frames: [...STRIPE_SCRIPTS, 'https://hooks.stripe.com'],
    connects: ['https://api.stripe.com'],
  },
}

const weekdays = { method: 'debit_order', calendar: 'weekdays' } as const

/** Bank accounts by GoCardless. */
export const GOCARDLESS: GatewayFacts = {
  type: 'gocardless',
  name: 'GoCardless',
  takes: BANK_KINDS,
  modes: ['test', 'live'],
  isGiven: false,
  isTestMode: false,
  isManualRecon: false,
  takesCardNumbers: false,
  keepsAccounts: true,
  submitsByItself: true,
  currencies: 'chosen',
  schemes: {
    EUR: { method: 'sepa', calendar: 'target' },
    USD: { method: 'ach', calendar: 'fed' },
    GBP: weekdays,
    AUD: weekdays,
    CAD: weekdays,
    DKK: weekdays,
    NZD: weekdays,
    SEK: weekdays,
  },
  settings: { ...BATCH_SETTINGS, ...GOCARDLESS_SETTINGS },
  needed: ['AccessToken'],
  secretKey: 'AccessToken',
  batches: { calendar: 'weekdays', leadDays: 5, submitDays: 4, cutOff: '14:00' },
}

const FACTS: Readonly<Record<GatewayType, GatewayFacts>> = {
  sandbox: SANDBOX,
  manual: MANUAL,
  'sepa-file': SEPA_FILE,
  'ach-file': ACH_FILE,
  stripe: STRIPE,
  gocardless: GOCARDLESS,
}

export const gatewayFactsOf = (type: GatewayType): GatewayFacts => FACTS[type]

/** Returns whether a page can take a card for a gateway: by a form of this service, or by fields of the gateway's own. */
export const takesCardsOnPages = ({ takesCardNumbers, fields }: GatewayFacts): boolean =>
  takesCardNumbers || fields !== undefined

/** Returns the days of a gateway's batches: those of its type and currency, as far as its Settings name no others. Undefined: it takes no batches. */
export function batchDaysOf(
  { batches, schemes }: Pick<GatewayFacts, 'batches' | 'schemes'>,
  settings: Readonly<Record<string, unknown>>,
  [currency = '']: readonly string[] = [],
): BatchDays | undefined {
  if (!batches) return undefined
  const { Calendar, LeadDays, SubmitDays, CutOff } = settings
  return {
    calendar:
      typeof Calendar === 'string'
        ? (Calendar.toLowerCase() as BankCalendar)
        : (schemes?.[currency]?.calendar ?? batches.calendar),
    leadDays: typeof LeadDays === 'number' ? LeadDays : batches.leadDays,
    submitDays: typeof SubmitDays === 'number' ? SubmitDays : batches.submitDays,
    cutOff: typeof CutOff === 'string' ? CutOff : batches.cutOff,
  }
}
