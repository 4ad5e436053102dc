import type { BookAccount, GlCodes } from '../../engine/books/codes.ts'
import { Fault } from '../../kernel/fault.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { listMissingCodes } from './missing-queries.ts'
import type { BatchScope, Use } from './moves-queries.ts'

/** Refuses batches with moves that have no code, before anything of them is written. */

/** Sentences that a refusal shows. */
const SHOWN = 20

/** Makes the refusal of a batch with codes that are missing, or not as its format takes them: how many there are, and the first of them. */
export function codesMissing(count: number, sentences: readonly string[]): Fault {
  const codes = `${count.toLocaleString('en')} ${count === 1 ? 'code is' : 'codes are'} missing, or not as the format takes them`
  const message = `${codes}; nothing was exported. Set GLCode of the records, or the codes of PUT /v1/glcodes that stand in for them.`
  return new Fault('conflict', [
    { code: 'gl_codes_missing', message, field: null },
    ...sentences.slice(0, SHOWN).map((sentence) => ({ code: 'gl_code_missing', message: sentence, field: null })),
  ])
}

export const missingSentence = (what: string): string => `There is no code of ${what}.`

const OWED: readonly BookAccount[] = ['receivable', 'unapplied']
/** Accounts whose codes may come from records, or from methods. */
const BY_RECORDS: ReadonlySet<BookAccount> = new Set([...OWED, 'cash', 'revenue', 'tax'])

/** Returns the accounts that some moves are on; those between sides that always have one code are on none. */
function usedAccounts(uses: readonly Use[], owed: readonly BookAccount[]): Set<BookAccount> {
  const isShown = ({ debit, credit }: Use) => !owed.includes(debit) || !owed.includes(credit)
  return new Set(uses.filter(isShown).flatMap(({ debit, credit }) => [debit, credit]))
}

/** Refuses a batch whose moves, of which `uses` are the sides, are not all on codes. */
export async function checkCodes(
  tx: Transaction,
  { accounts, debtor, methods }: GlCodes,
  scope: BatchScope,
  uses: readonly Use[],
): Promise<void> {
  const owed = OWED.filter((account) => account === 'receivable' || accounts.unapplied === undefined)
  const used = usedAccounts(uses, owed)
  const missing = [...used].filter((account) => !BY_RECORDS.has(account) && accounts[account] === undefined)
  const sought = {
    owed: (debtor ?? accounts.receivable) === undefined && owed.some((account) => used.has(account)) ? owed : [],
    methods: accounts.cash === undefined && used.has('cash') ? Object.keys(methods) : null,
    isRevenue: accounts.revenue === undefined && used.has('revenue'),
    isTax: accounts.tax === undefined && used.has('tax'),
  }
  const isSought = sought.owed.length > 0 || sought.methods !== null || sought.isRevenue || sought.isTax
  const listed = isSought ? await listMissingCodes(tx, scope, sought, SHOWN) : []
  const count = missing.length + (listed[0]?.count ?? 0)
  const named = [...missing.toSorted().map((account) => `account ${account}`), ...listed.map(({ what }) => what)]
  if (count > 0) throw codesMissing(count, named.map(missingSentence))
}
