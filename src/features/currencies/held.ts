import type { Problems } from '../../kernel/fault.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { holdCurrencies } from './queries.ts'

/**
 * Notes each currency of a list of prices that the account does not have, as `path[index].CurrencyCode`; those it has are kept from being
 * deleted until the commit. Entries whose currency has a problem of its own are passed over.
 */
export async function checkCurrenciesHeld(
  tx: Transaction,
  entries: readonly { CurrencyCode?: string }[],
  path: string,
  problems: Problems,
): Promise<void> {
  const named = entries.flatMap(({ CurrencyCode }) => (CurrencyCode === undefined ? [] : [CurrencyCode]))
  const held = new Set((await holdCurrencies(tx, tx.account, named)).map(({ currency }) => currency))
  for (const [index, { CurrencyCode: currency }] of entries.entries()) {
    if (currency === undefined || held.has(currency)) continue
    problems.add(
      'currency_unknown',
      `${path}[${index}].CurrencyCode`,
      `This account does not have the currency ${currency}; add it first.`,
    )
  }
}
