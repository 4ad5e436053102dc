import type { Schema } from '../wire/schema.ts'

/**
 * A right body of every operation that takes JSON, as the document shows it. A test sends each of them to a new account whose clock stands
 * at the first of January 2027, with the records made that it names.
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
    PackageRateTerms: [
      { ChargePrice: 31, ChargeTerm: 1, ChargeTermType: 'months' },
      { ChargePrice: 310, ChargeTerm: 12, ChargeTermType: 'months' },
    ],
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
  isActive: true,
}
const COMPONENT_VERSION = {
  VersionName: '2027 prices',
  ComponentVersionCurrencies: [{ CurrencyCode: 'USD', ComponentBracketPrices: BRACKETS }],
}
const SUBSCRIPTION = { customerID: 1, packageID: 1, Term: 1, TermType: 'months', StartDate: '2027-01-01' }
const CUSTOMER = {
  Name: 'Ada',
  LastName: 'Lovelace',
  isCompany: true,
  Company: 'Analytical Engines Ltd',
  Reference: 'C1001',
  Email: 'ada@example.org',
  Tel: '+27 21 555 0100',
  Address1: '12 Long Street',
  City: 'Cape Town',
  ZipCode: '8001',
  countryID: 710,
  VatNo: '4123456784',
  CurrencyCode: 'USD',
}
const CONTACT = { customerID: 1, Name: 'Charles', LastName: 'Babbage', Email: 'charles@example.org', isActive: true }
const CHARGES = [{ Line: 'Set-up', Descrip: 'Two hours on site', Qty: 2, UnitCostEx: 80 }]
const INVOICE = { customerID: 1, CurrencyCode: 'USD', InvoiceDate: '2027-01-01', poNumber: 'PO-17', Charges: CHARGES }
const RECURRING = {
  customerID: 1,
  CurrencyCode: 'USD',
  Reference: 'Hosting',
  StartDate: '2027-02-01',
  Term: 1,
  TermType: 'months',
  RecurInvoiceCharges: [{ Line: 'Hosting', Descrip: 'One server', Qty: 1, UnitCostEx: 31 }],
}
const PAYMENT = {
  customerID: 1,
  Amount: 35.65,
  CurrencyCode: 'USD',
  Date: '2027-01-01',
  Method: 'eft',
  Ref: 'EFT 4711',
}
const CREDIT = {
  customerID: 1,
  Amount: 10,
  CurrencyCode: 'USD',
  Date: '2027-01-01',
  CreditNumber: 'CN-17',
  Memo: 'For the outage in December',
}
const ADJUSTMENT = {
  Type: 'positive',
  AdjustmentType: 'interest',
  customerID: 1,
  Amount: 5,
  Date: '2027-01-01',
  DueDate: '2027-01-31',
  Ref: 'INT-3',
}
const USAGE = { componentID: 1, NumUnits: 12.5, Date: '2027-01-01', UsageKey: 'meter-7-2027-01-01' }
const TAX = { Name: 'VAT', rules: [{ Perc: 0.15, TaxNumber: '4123456784' }] }
const TOKEN = '7c9e6679-7425-40de-944b-e07fc1f90ae7'
const BATCH = {
  CurrencyCode: 'USD',
  GatewayToken: TOKEN,
  ActionDate: '2027-01-11',
  Notes: 'Debits of January',
}
const BATCH_PAYMENT = {
  BatchToken: TOKEN,
  customerID: 1,
  paymentMethodID: 1,
  Amount: 50,
  Ref: 'January',
  PaymentApplied: [{ invoiceID: 1, amount: 10 }],
}
const GATEWAY = {
  GatewayType: 'manual',
  FriendlyName: 'Our bank',
  isPrimary: true,
  CurrencyCodes: ['USD'],
  DebitMethods: ['debit_order', 'ach'],
  Settings: { LeadDays: 2, CutOff: '16:00' },
}
const CARD = {
  CardType: 'Visa',
  Number: '4242424242424242',
  NameOnCard: 'Ada',
  LastNameOnCard: 'Lovelace',
  ExpiryMonth: 12,
  ExpiryYear: 2029,
}
const BANK_ACCOUNT = {
  Method: 'debit_order',
  AccountType: 'Savings',
  AccountHolder: 'Ada Lovelace',
  Bank: 'Example Bank',
  AccountNumber: '62001871490',
  BranchCode: '250655',
}
const BANK_METHOD = { customerID: 1, isPrimary: false, BankAccount: BANK_ACCOUNT }

const EMANDATE = {
  Name: 'Ada',
  Lastname: 'Lovelace',
  Email: 'ada@example.org',
  Address1: '12 Long Street',
  City: 'Cape Town',
  PostalCode: '8001',
  CountryISOCode: 'ZAF',
  bank_DebitMethod: 'debit_order',
  bank_Name: 'FNB',
  bank_BranchCode: '250655',
  bank_AccHolder: 'Ada Lovelace',
  bank_AccNumber: '62001871490',
  bank_AccountType: 'Savings',
  debit_Frequency: 'Monthly',
  debit_ActionDay: 25,
  debit_StartDate: '2027-02-01',
  debit_Amt: 199.5,
  debit_MaxAmt: 400,
  debit_NameOnStmt: 'ENGINES',
  debit_ContractRef: 'C-17',
  isCustomerEditable: true,
}

/** Operations that the recorded story has no gateway for, and those that answer the same. */
export const ANSWERED_LIKE: Readonly<Record<string, string>> = { addGatewayToken: 'addCreditCard' }

export const OPERATION_EXAMPLES: Readonly<Record<string, Schema>> = {
  addCustomer: CUSTOMER,
  editCustomer: CUSTOMER,
  listCustomersByIds: { ids: [1] },
  addCreditCard: { customerID: 1, isPrimary: true, CreditCard: CARD },
  addGatewayToken: { customerID: 1, gatewayID: 2, Token: 'cus_QXg1o8vcGmoR32/pm_1Pgc75B7WZ01zgkW', isPrimary: true },
  addMandateSetup: { customerID: 1, gatewayID: 2, ReturnUrl: 'https://shop.example/thanks', isPrimary: true },
  addBankAccount: BANK_METHOD,
  editBankAccount: BANK_METHOD,
  addEMandate: EMANDATE,
  addRedirectEMandate: { ...EMANDATE, RedirectUrl: 'https://example.org/signed' },
  validateBankAccount: { customerID: 1, BankAccount: BANK_ACCOUNT },
  validateBankAccountByPut: { customerID: 1, BankAccount: BANK_ACCOUNT },
  createCaptureSession: {
    VaultingType: 'VaultGateway',
    SaleType: 'VaultOnly',
    ExpiresIn: '01:00:00',
    isVaultOnlyOnSuccess: false,
    CurrencyCode: 'USD',
    GatewayToken: TOKEN,
    AuthDomain: 'shop.example',
    Description: 'Card for your subscription',
  },
  completeCaptureSession: { customerID: 1, SessionToken: 'GM1_bqzbZ4bMPiJYHrH7RoJi2gvDrhfeXqNTlvGNbL0' },
  addContact: CONTACT,
  editContact: CONTACT,
  addNote: { customerID: 1, Note: 'Asked for yearly billing' },
  editNote: { customerID: 1, Note: 'Asked for yearly billing', NoteType: 'Query' },
  addCustomField: { Key: 'Cost centre' },
  addSubscription: SUBSCRIPTION,
  previewNewSubscription: SUBSCRIPTION,
  editSubscription: { poNumber: 'PO-17' },
  changePackage: { packageID: 2, Term: 1, TermType: 'months', When: 'now' },
  changeTerm: { Term: 12, TermType: 'months', When: 'renewal' },
  cancelSubscription: { Reason: 'Moved to the yearly plan of another company' },
  changeStartDate: { StartDate: '2027-03-01' },
  changeEndDate: { EndDate: '2027-12-31' },
  reactivateSubscription: { StartDate: '2027-02-01' },
  skipSubscription: { Until: '2027-01-01', Reason: 'The meter ran away' },
  skipRecurringInvoice: { Until: '2027-01-01', Reason: 'The tax rules were wrong' },
  modifyComponents: { componentUsage: [{ componentID: 1, NumUnits: 5 }] },
  recordUsage: USAGE,
  recordUsageInBulk: { Usage: [{ subscriptionID: 1, ...USAGE }] },
  addInvoice: INVOICE,
  editInvoice: { ...INVOICE, isDraft: true },
  addRecurringInvoice: RECURRING,
  editRecurringInvoice: RECURRING,
  addPayment: { ...PAYMENT, AutoApply: true },
  editPayment: { ...PAYMENT, Allocations: [] },
  refundPayment: { Amount: 10 },
  settlePaymentByHand: { Success: true, Date: '2027-01-01' },
  settleCaptureSaleByHand: { Success: true, Date: '2027-01-01' },
  settleRefundByHand: { Success: true, Date: '2027-01-01' },
  failPayment: { Date: '2027-01-01', Reason: 'Returned by the bank' },
  addCredit: { ...CREDIT, AutoApply: true },
  creditInvoice: { Amount: 10, Reason: 'Late delivery' },
  sendCredit: { isMailed: true },
  editCredit: { ...CREDIT, Allocations: [] },
  addAdjustment: ADJUSTMENT,
  editAdjustment: { AdjustmentID: 1, ...ADJUSTMENT },
  deleteAdjustment: { type: 'positive', adjustmentID: 1, customerID: 1 },
  addPackage: { ...PACKAGE, PackageVersion: PACKAGE_VERSION },
  editPackage: PACKAGE,
  deletePackageByGivenId: { packageID: 1 },
  addPackageVersion: PACKAGE_VERSION,
  editPackageVersion: PACKAGE_VERSION,
  addPackageGroup: { GroupName: 'Hosting' },
  editPackageGroup: { GroupName: 'Hosting' },
  addComponent: { ...COMPONENT, ComponentVersion: COMPONENT_VERSION },
  editComponent: COMPONENT,
  addComponentVersion: { ...COMPONENT_VERSION, isActive: true, isDefault: true },
  editComponentVersion: { ...COMPONENT_VERSION, isActive: true, isDefault: true },
  addGateway: GATEWAY,
  answerResultLine: { customerID: 1, AutoApply: true },
  addBatch: BATCH,
  submitBatch: { BatchToken: TOKEN, ActionDate: '2027-01-11' },
  releaseBatch: { BatchToken: TOKEN },
  cancelBatch: { BatchToken: TOKEN },
  recordBatchResults: { Results: [{ paymentID: 1, Success: false, Reason: 'AC04', Date: '2027-01-11' }] },
  addBatchPayment: BATCH_PAYMENT,
  editBatchPayment: { paymentID: 1, ...BATCH_PAYMENT, Amount: 45 },
  editBatch: { BatchToken: TOKEN, ...BATCH, ActionDate: '2027-01-12' },
  editGateway: { FriendlyName: 'Main bank', Settings: { CutOff: '15:00' } },
  addWebhook: { Url: 'https://example.org/hook', Types: ['invoice.*', 'payment.created'], Description: 'Books' },
  editWebhook: { Types: ['invoice.issued'], isActive: true },
  rotateWebhookSecret: { Hours: 24 },
  replayWebhookEvents: { from: '2027-01-01', to: '2027-01-02', Types: ['customer.*'] },
  addTaxSetting: TAX,
  editTaxSetting: TAX,
  addCurrency: { CurrencyCode: 'CHF' },
  deleteCurrency: { CurrencyCode: 'CHF' },
  editAccount: {
    Name: 'Analytical Engines',
    TimeZone: 'Africa/Johannesburg',
    CurrencyCode: 'USD',
    Email: 'billing@example.org',
    Locale: 'en',
    PaymentTermDays: 14,
  },
  editGlCodes: {
    receivable: '1200',
    cash: '1800',
    revenue: '4400',
    tax: '3806',
    unsettled: '1499',
    clearing: '1370',
    interest: '7110',
    bad_debt: '6930',
    opening_balance: '9000',
    Debtor: '10000',
    Methods: { credit_card: '1460' },
    Datev: { Consultant: 29098, Client: 55003, AutomaticAccounts: ['4400'] },
  },
  addExport: { Format: 'csv', From: '2027-01-01', To: '2027-01-31', CurrencyCode: 'USD', isLock: false },
  editCollectionRules: {
    Attempts: [
      { DaysAfterDue: 0, Action: 'payment_unsuccessful' },
      { DaysAfterDue: 5, Action: 'final_warning' },
      { DaysAfterDue: 10, Action: 'suspend' },
    ],
    Reminders: [{ Kind: 'payment_due', DaysBefore: 3, isActive: true }],
  },
  moveClock: { Now: '2027-02-01T00:00:00Z' },
}
