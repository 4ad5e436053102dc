import { Problems } from '../../kernel/fault.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { hasCurrency, holdCurrencies } from './queries.ts'

/** Notes a currency that the account does not have. */
export const noteUnknown = (problems: Problems, currency: string, field = 'CurrencyCode'): void =>
  problems.add(
    'currency_unknown',
    field,
    `This account does not have the currency ${currency}; add it with POST /v1/currencies first.`,
  )

/** Throws a Fault (400) for a currency that the account does not have: of what is only read. */
export async function refuseUnknownCurrency(
  db: Queryable,
  account: AccountId,
  currency: string,
  field: string,
): Promise<void> {
  const problems = new Problems()
  if (!(await hasCurrency(db, account, currency))) noteUnknown(problems, currency, field)
  problems.throwIfAny()
}

/** Notes a CurrencyCode that the account does not have; keeps one that it has from being deleted until the commit. */
export async function checkCurrencyHeld(
  tx: Transaction,
  currency: string | null | undefined,
  problems: Problems,
): Promise<void> {
  if (currency == null || (await holdCurrencies(tx, tx.account, [currency])).length > 0) return
  noteUnknown(problems, currency)
}

/**
 * Does the same for each currency of a list of prices, and names it as `path[index].CurrencyCode`. Passes over entries whose currency has a
 * problem of its own.
 */
export async function checkCurrenciesHeld(
  tx: Transaction,
  entries: readonly { CurrencyCode?: string }[],
  path: string,
  problems: Problems,
): Promise<void> {
  const named = entries.flatMap(({ CurrencyCode }) => (CurrencyCode === undefined ? [] : [CurrencyCode]))
  const held = new Set((await holdCurrencies(tx, tx.account, named)).map(({ currency }) => currency))
  for (const [index, { CurrencyCode: currency }] of entries.entries())
    if (currency !== undefined && !held.has(currency)) noteUnknown(problems, currency, `${path}[${index}].CurrencyCode`)
}
