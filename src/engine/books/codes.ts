import type { LedgerAccount } from '../money/postings.ts'

/** Codes of an accountant's chart, as an account has set them. */
export interface GlCodes {
  /** Of ledger accounts; unsettled is what of callers' credit notes corrects no invoice yet, which only exports keep apart. */
  accounts: Partial<Record<BookAccount, string>>
  /** Collective account of the customers that have no code of their own. */
  debtor: string | null
  /** Of the cash side of payments, by their method. */
  methods: Readonly<Record<string, string>>
  datev: DatevSettings
}

export type BookAccount = LedgerAccount | 'unsettled'

/** Settings of files of DATEV. */
export interface DatevSettings {
  /** Numbers of the consultant and of their client; null until they are set. */
  consultant: number | null
  client: number | null
  /** First month of the fiscal year, from 1 to 12. */
  yearStartMonth: number
  /** Digits of the accounts of the general ledger; those of persons have one more. */
  accountLength: number
  /** Key of rows out of which the program is to take no tax: those that touch a tax account directly, and untaxed ones on automatic accounts. */
  keyWithoutTax: string
  /** Accounts from which the program computes the tax automatically; their taxed rows have no key. */
  automaticAccounts: readonly string[]
  initials: string | null
  /** Number of the standard chart of accounts, as 03 of SKR03; null: none is named. */
  chart: string | null
}

export const NO_GL_CODES: GlCodes = {
  accounts: {},
  debtor: null,
  methods: {},
  datev: {
    consultant: null,
    client: null,
    yearStartMonth: 1,
    accountLength: 4,
    keyWithoutTax: '40',
    automaticAccounts: [],
    initials: null,
    chart: null,
  },
}
