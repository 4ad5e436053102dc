import { AGES, type Ageing, type StatementLine } from '../../engine/money/statement.ts'
import { jsonText } from '../../kernel/json.ts'
import type { StatementDocument, StatementSection } from '../documents/document.ts'

/** Statements as they are kept: everything that they showed but the logo. Amounts are texts in JSON, which has no whole numbers of this size. */

/** Returns the JSON text of a statement. */
export const keptText = ({ logo: _logo, ...document }: StatementDocument): string => jsonText(document)

type Kept<T> = T extends bigint
  ? string
  : T extends string
    ? T
    : T extends readonly (infer Entry)[]
      ? Kept<Entry>[]
      : T extends object
        ? { [Key in keyof T]: Kept<T[Key]> }
        : T

export type KeptStatement = Kept<Omit<StatementDocument, 'logo'>>

/** Returns the statement that was kept, with the logo of today. */
export const readKept = (kept: KeptStatement, logo: Buffer | null): StatementDocument => ({
  ...kept,
  logo,
  sections: kept.sections.map(readSection),
})

const readSection = (kept: Kept<StatementSection>): StatementSection => ({
  ...kept,
  openingMinor: BigInt(kept.openingMinor),
  debitsMinor: BigInt(kept.debitsMinor),
  creditsMinor: BigInt(kept.creditsMinor),
  closingMinor: BigInt(kept.closingMinor),
  laterMinor: BigInt(kept.laterMinor),
  unallocatedMinor: BigInt(kept.unallocatedMinor),
  // Those that were kept before it was known have none.
  pendingPassedMinor: BigInt(kept.pendingPassedMinor ?? 0),
  ageing: Object.fromEntries(AGES.map((age) => [age, BigInt(kept.ageing[age])])) as Ageing,
  lines: kept.lines.map(readLine),
})

const readLine = (kept: Kept<StatementLine>): StatementLine => ({
  ...kept,
  id: BigInt(kept.id),
  debitMinor: BigInt(kept.debitMinor),
  creditMinor: BigInt(kept.creditMinor),
  balanceMinor: BigInt(kept.balanceMinor),
})
