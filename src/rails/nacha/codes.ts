import { isRoutingNumber } from '../../kernel/bank-numbers.ts'

/** Codes of returns and of corrections, as far as more than their class matters. */

/** Returns whether a code is one by which banks dispute a return among themselves, or of international entries: it changes no debit of ours. */
export const isBetweenBanks = (code: string): boolean => /^R(?:6[1-9]|7[0-7]|8[0-5]|90)$/.test(code)

/** Codes after which the same debit may be made again: there was not enough money. */
const WITHOUT_FUNDS = ['R01', 'R09']

export const isWithoutFunds = (code: string | null): boolean => code !== null && WITHOUT_FUNDS.includes(code)

/** Kinds of returns whose rates Nacha bounds. */
export const RATE_KINDS = ['unauthorised', 'administrative', 'all'] as const
export type RateKind = (typeof RATE_KINDS)[number]

const UNAUTHORISED = /^R(?:05|07|10|11|29|51)$/
const ADMINISTRATIVE = /^R0[2-4]$/

/** Returns the kinds of rates in which a debit counts that came back with a code; none where it did not, or without a code of ACH. */
export function rateKindsOf(code: string | null): RateKind[] {
  if (code === null || !/^R\d\d$/.test(code)) return []
  if (UNAUTHORISED.test(code)) return ['unauthorised', 'all']
  return ADMINISTRATIVE.test(code) ? ['administrative', 'all'] : ['all']
}

/** The parts of an account that a bank corrects; what is undefined stays as it is. */
export interface AchCorrection {
  account?: string
  routing?: string
  isSavings?: boolean
}

const ROUTING = 9
const CODE = 2

/** Returns the parts of corrected data by its code; undefined for a code that corrects no account. */
function partsOf(
  code: string,
  data: string,
): { account?: string; routing?: string; transactionCode?: string } | undefined {
  const routing = data.slice(0, ROUTING)
  switch (code) {
    case 'C01':
      return { account: data }
    case 'C02':
      return { routing: data }
    case 'C03':
      return { routing, account: data.slice(ROUTING).trim() }
    case 'C05':
      return { transactionCode: data }
    case 'C06':
      return { account: data.slice(0, -CODE).trim(), transactionCode: data.slice(-CODE) }
    case 'C07':
      return { routing, account: data.slice(ROUTING, -CODE).trim(), transactionCode: data.slice(-CODE) }
    default:
      return undefined
  }
}

/**
 * Reads the corrected data of a notification of change. Returns undefined where it corrects no account, or what it names can be none: a routing
 * number that does not check, an account that files do not carry, a transaction code of neither checking nor savings.
 */
export function correctionOf(code: string, corrected: string): AchCorrection | undefined {
  const parts = partsOf(code, corrected.trim())
  if (!parts) return undefined
  const { routing, transactionCode } = parts
  // Banks group digits by blanks, as people do.
  const account = parts.account?.replaceAll(' ', '')
  if (account !== undefined && !/^[A-Za-z0-9-]{1,17}$/.test(account)) return undefined
  if (routing !== undefined && !isRoutingNumber(routing)) return undefined
  if (transactionCode !== undefined && !/^[23]\d$/.test(transactionCode)) return undefined
  return {
    ...(account !== undefined && { account }),
    ...(routing !== undefined && { routing }),
    ...(transactionCode !== undefined && { isSavings: transactionCode.startsWith('3') }),
  }
}
