import type { BankKind } from '../../kernel/rails.ts'
import { isSepaLegible } from '../../rails/sepa/characters.ts'

/** Returns what a caller is to know of the holder of an account, as texts of the header Perennial-Warning: a bank file of SEPA would have signs in the place of the name. */
export const warningsOfHolder = (kind: BankKind, accountHolder: string): string[] =>
  kind === 'sepa' && !isSepaLegible(accountHolder) ? ['holder_unreadable'] : []
