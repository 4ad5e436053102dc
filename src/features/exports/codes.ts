import type { BookAccount, GlCodes } from '../../engine/books/codes.ts'
import type { FirstTax, JournalCodes, RevenueSource } from '../../engine/books/journals.ts'
import { COUNTRIES, findCountry } from '../../kernel/countries.ts'
import { type Decimal, equals } from '../../kernel/decimal.ts'
import { groupBy } from '../../kernel/grouping.ts'
import type { Id } from '../../kernel/ids.ts'
import { asTaxCountry, isInEu } from '../../kernel/tax-areas.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { getAccountSettings } from '../accounts/queries.ts'
import { codesMissing, missingSentence } from './missing.ts'
import type { MoveRow } from './moves-queries.ts'
import type { ExportFormat } from './queries.ts'
import {
  type CodedRule,
  hasItemCodes,
  type LinesOfCode,
  listCodedRules,
  listChargedLines,
  listCreditedLines,
  listTaxesOfInvoices,
  type TaxOfInvoice,
} from './source-queries.ts'

/** Codes of the chart that the moves of a batch are on. That none is missing was seen before (missing.ts). */

/** Codes of the account, the rules of its taxes, and its own country. */
export interface Chart {
  codes: GlCodes
  homeCountryId: number | null
  rules: readonly CodedRule[]
  /** Whether lines and taxes of documents decide any code, so that they must be read. */
  hasItemCodes: boolean
  hasRuleCodes: boolean
}

export async function loadChart(tx: Transaction, codes: GlCodes): Promise<Chart> {
  const [rules, { country }, ofItems] = await Promise.all([
    listCodedRules(tx),
    getAccountSettings(tx, tx.account),
    hasItemCodes(tx),
  ])
  return {
    codes,
    rules,
    homeCountryId: country ? (findCountry(country)?.countryId ?? null) : null,
    hasItemCodes: ofItems,
    hasRuleCodes: rules.some(({ code, revenueCode }) => code !== null || revenueCode !== null),
  }
}

/** Returns the rule that a tax of an invoice follows; of one from before rules were kept, that of the same setting and rate as it is now. */
const ruleOf = ({ rules }: Chart, name: string, rate: Decimal, ruleId: Id | null): CodedRule | undefined =>
  rules.find(({ id }) => id === ruleId) ?? rules.find((rule) => rule.name === name && equals(rule.rate, rate))

/** Returns the rates of the accounts that rules name for their revenue; none of an account that rules of several rates name. */
export function ratesOfAccounts(rules: readonly CodedRule[]): ReadonlyMap<string, Decimal> {
  const named = rules.flatMap(({ revenueCode, rate }) => (revenueCode === null ? [] : [{ code: revenueCode, rate }]))
  return new Map(
    [...groupBy(named, ({ code }) => code)].flatMap(([code, [first, ...others]]) =>
      first && others.every(({ rate }) => equals(rate, first.rate)) ? [[code, first.rate] as const] : [],
    ),
  )
}

function known(code: string | null | undefined, what: string): string {
  if (code == null) throw codesMissing(1, [missingSentence(what)])
  return code
}

/** Returns how the first tax of an invoice is computed, and what of the EU a row of it bears: the number of a business, or the country of a tax that is not the own one. */
function firstTaxOf({ homeCountryId }: Chart, tax: TaxOfInvoice, rule: CodedRule | undefined): FirstTax {
  const key = rule?.datevKey ?? null
  const country = tax.countryId === null ? null : asTaxCountry(Number(tax.countryId))
  const isOtherState =
    country !== null && homeCountryId !== null && country !== asTaxCountry(homeCountryId) && isInEu(country)
  if (!isOtherState) return { key, rate: tax.rate, euVatNumber: null, isOfOtherState: false }
  const isTaxed = tax.rate.coefficient > 0n
  const code = COUNTRIES.find(({ countryId }) => countryId === country)?.code ?? null
  const isBusiness = tax.category === 'AE' || tax.category === 'K'
  return {
    key,
    rate: tax.rate,
    euVatNumber: isTaxed ? code : isBusiness ? tax.vatNumber : null,
    isOfOtherState: isTaxed,
  }
}

const invoiceOf = ({ documentType, documentId, ofInvoice }: MoveRow): Id | null =>
  documentType === 'invoice' ? documentId : ofInvoice

const distinctOf = (ids: readonly (Id | null)[]): Id[] => [...new Set(ids.filter((id) => id !== null))]

/** Codes of moves, with the lines and taxes of the documents that are in memory. */
export class MoveCodes implements JournalCodes<MoveRow> {
  readonly #chart: Chart
  readonly #format: ExportFormat
  readonly #sources = new Map<string, RevenueSource>()
  #lines: ReadonlyMap<Id, readonly LinesOfCode[]> = new Map()
  #linesOfNotes: ReadonlyMap<Id, readonly LinesOfCode[]> = new Map()
  #taxes: ReadonlyMap<Id, readonly TaxOfInvoice[]> = new Map()

  constructor(chart: Chart, format: ExportFormat) {
    this.#chart = chart
    this.#format = format
  }

  /** Loads what decides the codes of some moves, in place of what was loaded before. */
  async load(tx: Transaction, moves: readonly MoveRow[]): Promise<void> {
    this.#sources.clear()
    const { hasItemCodes: areLinesRead, hasRuleCodes } = this.#chart
    const areTaxesRead = hasRuleCodes || this.#format === 'datev'
    const none: readonly Id[] = []
    const invoices = areLinesRead || areTaxesRead ? distinctOf(moves.map(invoiceOf)) : none
    const notes = areLinesRead
      ? distinctOf(moves.map(({ hasLines, documentId }) => (hasLines ? documentId : null)))
      : none
    const listed = <Row>(ids: readonly Id[], list: (tx: Transaction, ids: readonly Id[]) => Promise<Row[]>) =>
      ids.length === 0 ? Promise.resolve<Row[]>([]) : list(tx, ids)
    const [lines, linesOfNotes, taxes] = await Promise.all([
      listed(areLinesRead ? invoices : none, listChargedLines),
      listed(notes, listCreditedLines),
      listed(areTaxesRead ? invoices : none, listTaxesOfInvoices),
    ])
    this.#lines = groupBy(lines, ({ key }) => key)
    this.#linesOfNotes = groupBy(linesOfNotes, ({ key }) => key)
    this.#taxes = groupBy(taxes, ({ invoiceId }) => invoiceId)
  }

  codeOf(account: BookAccount, { customerCode, method }: MoveRow): string {
    const { accounts, debtor, methods } = this.#chart.codes
    if (account === 'unapplied' && accounts.unapplied !== undefined) return accounts.unapplied
    if (account === 'receivable' || account === 'unapplied')
      return known(customerCode ?? debtor ?? accounts.receivable, 'the customer')
    if (account === 'cash' && method !== null)
      return known(methods[method] ?? accounts.cash, `payment method ${method}`)
    return known(accounts[account], `account ${account}`)
  }

  sourceOf(move: MoveRow): RevenueSource {
    const { hasLines, documentId } = move
    const invoiceId = invoiceOf(move)
    const isRead = this.#lines.size > 0 || this.#taxes.size > 0
    const key = !isRead || invoiceId === null ? '' : hasLines ? `${invoiceId} ${documentId}` : String(invoiceId)
    let source = this.#sources.get(key)
    if (!source) this.#sources.set(key, (source = this.#makeSource(key === '' ? null : move)))
    return source
  }

  #makeSource(move: MoveRow | null): RevenueSource {
    const { accounts } = this.#chart.codes
    const invoiceId = move && invoiceOf(move)
    const taxes = (invoiceId && this.#taxes.get(invoiceId)) || []
    const [firstTax] = taxes
    const rule = firstTax && ruleOf(this.#chart, firstTax.name, firstTax.rate, firstTax.ruleId)
    const read =
      (move?.hasLines && this.#linesOfNotes.get(move.documentId)) || (invoiceId && this.#lines.get(invoiceId)) || []
    const isDecided = rule?.revenueCode != null || read.length === 0
    const lines = isDecided ? [{ code: rule?.revenueCode ?? null, netMinor: 1n }] : read
    return {
      lines: lines.map(({ code, netMinor }) => ({
        code: known(code ?? accounts.revenue, 'account revenue'),
        netMinor,
      })),
      taxCodeOf: (name, rate) => {
        const own = taxes.find((tax) => tax.name === name && equals(tax.rate, rate))
        return known(ruleOf(this.#chart, name, rate, own?.ruleId ?? null)?.code ?? accounts.tax, `tax ${name}`)
      },
      first: firstTax ? firstTaxOf(this.#chart, firstTax, rule) : null,
    }
  }
}
