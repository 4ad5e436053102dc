/** Identifiers are 64-bit in the database and bigint here; the wire shows them as JSON integers. */
export type Id = bigint
export type AccountId = Id
export type CustomerId = Id
export type SubscriptionId = Id
export type InvoiceId = Id
export type PackageId = Id
export type PackageVersionId = Id
export type PackageRateTermId = Id
export type PackageGroupId = Id
export type PackageRateId = Id
export type ComponentId = Id
export type ComponentVersionId = Id
export type ComponentVersionCurrencyId = Id
export type ComponentBracketId = Id
export type TaxSettingId = Id
export type TaxRuleId = Id

/** Compares identifiers for sorting, the smallest first. */
export const byIdentifier = (a: Id, b: Id): number => (a < b ? -1 : a > b ? 1 : 0)

/** The highest number that the next invoice of an account may be given. */
export const INVOICE_NUMBER_MAX = 999_999_999_999
