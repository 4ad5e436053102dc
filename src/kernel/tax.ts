/** Words of taxes that rules, documents and reports share. */

/** Categories of EN 16931: standard rate, zero rate, exempt, reverse charge, supply inside of the EU, export, outside of the tax. */
export const TAX_CATEGORIES = ['S', 'Z', 'E', 'AE', 'K', 'G', 'O'] as const
export type TaxCategory = (typeof TAX_CATEGORIES)[number]

/** Categories that a customer without tax can have. */
export const EXEMPT_CATEGORIES = ['Z', 'E', 'AE', 'K', 'G', 'O'] as const satisfies readonly TaxCategory[]
export type ExemptCategory = (typeof EXEMPT_CATEGORIES)[number]

export const TAX_AREAS = ['EU', 'nonEU'] as const
export type TaxArea = (typeof TAX_AREAS)[number]

export const TAX_SUBJECTS = ['all', 'business', 'consumer'] as const
export type TaxSubject = (typeof TAX_SUBJECTS)[number]

/** Reason why there is no tax: a sentence for each of some languages, by their tags; one of no known language stands under `und`. */
export type TaxReason = Readonly<Record<string, string>>

/** Returns the category of a rate for which none is given. */
export const defaultCategory = (isZero: boolean): TaxCategory => (isZero ? 'Z' : 'S')

/** Codes of the list VATEX that go with a category on their own. */
const REASON_CODES: Readonly<Partial<Record<TaxCategory, string>>> = {
  AE: 'VATEX-EU-AE',
  K: 'VATEX-EU-IC',
  G: 'VATEX-EU-G',
  O: 'VATEX-EU-O',
}

export const defaultReasonCode = (category: TaxCategory): string | null => REASON_CODES[category] ?? null
