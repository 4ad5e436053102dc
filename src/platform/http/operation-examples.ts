import type { Schema } from '../wire/read.ts'

/**
 * Bodies that the schema alone cannot tell: which of several ways to choose is meant, and what is left out although a newcomer needs it. By
 * operation; identifiers are those of a catalogue that was just made.
 */

const BRACKETS = [
  { QtyFrom: 1, QtyTill: 10, Price: 5 },
  { QtyFrom: 11, QtyTill: null, Price: 4 },
]
const RATES = [
  {
    CurrencyCode: 'USD',
    SetupFee: 10,
    TrialFee: 0,
    TrialPeriod: 0,
    TrialPeriodType: 'days',
    PackageRateTerms: [{ ChargePrice: 31, ChargeTerm: 1, ChargeTermType: 'months' }],
  },
]
const PACKAGE_VERSION = { VersionName: '2027 prices', isActive: true, isDefault: true, packageVersionRates: RATES }
const PACKAGE = {
  packageGroupID: 1,
  packageCode: 'PRO',
  Name: 'Professional',
  Descrip: 'Monthly plan',
  isActive: true,
}
const COMPONENT = {
  ComponentCode: 'SEATS',
  Name: 'Seats',
  Type: 'quantity',
  Scheme: 'unit',
  UnitName: 'per seat',
  packageGroupID: 1,
  Term: 1,
  TermType: 'months',
  Descrip: 'Everybody who works with it',
}
const COMPONENT_VERSION = {
  VersionName: '2027 prices',
  ComponentVersionCurrencies: [{ CurrencyCode: 'USD', ComponentBracketPrices: BRACKETS }],
}
const SUBSCRIPTION = { customerID: 1, packageID: 1, Term: 1, TermType: 'months', StartDate: '2027-01-01' }
const TAX = { Name: 'VAT', rules: [{ Perc: 0.15, TaxNumber: '4123456789' }] }

export const OPERATION_EXAMPLES: Readonly<Record<string, Schema>> = {
  addSubscription: SUBSCRIPTION,
  previewNewSubscription: SUBSCRIPTION,
  editSubscription: { poNumber: 'PO-17' },
  changePackage: { packageID: 2, Term: 1, TermType: 'months', When: 'now' },
  changeTerm: { Term: 12, TermType: 'months', When: 'renewal' },
  cancelSubscription: { Reason: 'Moved to the yearly plan of another company' },
  changeEndDate: { EndDate: '2027-12-31' },
  reactivateSubscription: { StartDate: '2027-02-01' },
  modifyComponents: { componentUsage: [{ componentID: 1, NumUnits: 5 }] },
  recordUsage: { componentID: 1, NumUnits: 12.5, Date: '2027-01-31', UsageKey: 'meter-7-2027-01-31' },
  recordUsageInBulk: {
    Usage: [{ subscriptionID: 1, componentID: 1, NumUnits: 12.5, Date: '2027-01-31', UsageKey: 'meter-7-2027-01-31' }],
  },
  addRecurringInvoice: {
    customerID: 1,
    CurrencyCode: 'USD',
    Reference: 'C1001',
    Term: 1,
    TermType: 'months',
    RecurInvoiceCharges: [{ Descrip: 'Monthly plan', Qty: 1, UnitCostEx: 31 }],
  },
  addPackage: { ...PACKAGE, PackageVersion: PACKAGE_VERSION },
  editPackage: PACKAGE,
  deletePackageByGivenId: { packageID: 1 },
  addPackageVersion: PACKAGE_VERSION,
  addComponent: { ...COMPONENT, ComponentVersion: COMPONENT_VERSION },
  editComponent: COMPONENT,
  addComponentVersion: { ...COMPONENT_VERSION, isActive: true, isDefault: true },
  addTaxSetting: TAX,
  editTaxSetting: TAX,
  addCustomField: { Key: 'Cost centre' },
  addNote: { customerID: 1, Note: 'Asked for yearly billing' },
  editNote: { customerID: 1, Note: 'Asked for yearly billing' },
  editAccount: {
    Name: 'Analytical Engines',
    TimeZone: 'Africa/Johannesburg',
    CurrencyCode: 'USD',
    Email: 'billing@example.org',
    Locale: 'en',
    PaymentTermDays: 14,
  },
}
