import type { BankKind } from '../../kernel/rails.ts'
import type { Frequency } from './types.ts'

/** The words of mandates in a language. Legal texts: have them reviewed before you rely on them. */
export interface Wording {
  titles: Record<BankKind, string>
  headings: Record<'creditor' | 'payer' | 'account' | 'debit' | 'authority', string>
  labels: Record<Label, string>
  numbers: Record<BankKind, { number: string; branch: string }>
  accountTypes: Record<string, string>
  frequencies: Record<Frequency, string>
  weekdays: readonly string[]
  lastDay: string
  dayOfMonth(day: number): string
  yes: string
  no: string
  sepaTypes: { once: string; recurrent: string }
  authority: Record<BankKind, (named: NamedInTerms) => string[]>
  consent(named: NamedInTerms): string
}

/** Facts that the sentences of a mandate name. */
export interface NamedInTerms {
  creditor: string
  contact: string
  noticeDays: number
  frequency: Frequency
}

export type Label =
  | 'name'
  | 'company'
  | 'tradingAs'
  | 'tel'
  | 'email'
  | 'address'
  | 'webPage'
  | 'creditorIdentifier'
  | 'reference'
  | 'contractRef'
  | 'nameOnStatement'
  | 'bank'
  | 'accountHolder'
  | 'accountType'
  | 'amount'
  | 'maxAmount'
  | 'escalation'
  | 'variable'
  | 'frequency'
  | 'actionDay'
  | 'startDate'
  | 'endDate'
  | 'notice'
  | 'paymentType'
