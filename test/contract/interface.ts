/**
 * Paths, success codes and fields that the interface defines, as far as the service has them by now. Written from the interface and held
 * against our OpenAPI document, so that neither a rename nor a lost field goes unseen. A type is what an answer holds;
 * "?" behind it says that null is possible.
 */

export type FieldType = 'integer' | 'number' | 'string' | 'boolean' | 'date' | 'object' | 'list'
export type Fields = Record<string, FieldType | `${FieldType}?`>

const customer = {
  customerID: 'integer',
  Reference: 'string',
  isCompany: 'boolean',
  Name: 'string',
  LastName: 'string?',
  RegistrationNumber: 'string?',
  VatNo: 'string?',
  Company: 'string?',
  Email: 'string?',
  EmailCC: 'string?',
  Cell: 'string?',
  Tel: 'string?',
  Fax: 'string?',
  Address1: 'string?',
  Address2: 'string?',
  City: 'string?',
  State: 'string?',
  Country: 'string?',
  ZipCode: 'string?',
  CountryState: 'string?',
  countryID: 'integer?',
  countryStateID: 'integer?',
  PrimaryGatewayID: 'integer?',
  CurrencyCode: 'string',
  CreatedDate: 'date',
  isSuspended: 'boolean',
  SuspendedDate: 'date?',
  isActive: 'boolean',
  comp_status: 'string',
  isWaiveTaxes: 'boolean',
  PaymentMethod: 'string',
  ActiveSubs: 'integer',
  Balance: 'number',
  autoSendInvoice: 'boolean',
  autoSendStatement: 'boolean',
  StatementDate: 'date?',
  StatementLastSentDate: 'date?',
  PrimaryPaymentMethodInfo: 'object?',
} as const satisfies Fields

const contact = {
  customerContactID: 'integer',
  customerID: 'integer',
  Name: 'string',
  LastName: 'string',
  Email: 'string',
  Cell: 'string?',
  Username: 'string?',
  isActive: 'boolean',
} as const satisfies Fields

const note = {
  customerNoteID: 'integer',
  customerID: 'integer',
  DateUTC: 'date',
  Note: 'string',
  NoteType: 'string',
} as const satisfies Fields

const subscription = {
  subscriptionID: 'integer',
  customerID: 'integer',
  packageID: 'integer',
  packageVersionID: 'integer',
  packageVersionNumber: 'integer',
  packageRateTermID: 'integer',
  CustomerName: 'string',
  PackageName: 'string',
  Term: 'integer',
  TermType: 'string',
  StartDate: 'date',
  EndDate: 'date?',
  TrialEndDate: 'date?',
  firstProrataSyncDate: 'date?',
  isProRata: 'boolean',
  isFutureChange: 'boolean',
  isCancelled: 'boolean',
  isExpired: 'boolean',
  lastInvDate: 'date?',
  lastRenewDate: 'date?',
  nextRenewDate: 'date?',
  numDaysBeforeToInv: 'integer',
  comp_nextInvDate: 'date?',
  comp_Status: 'string',
  LastModified: 'date',
  componentUsage: 'list',
} as const satisfies Fields

const invoice = {
  invoiceID: 'integer',
  Customer: 'object',
  invoiceNum: 'integer?',
  Reference: 'string',
  poNumber: 'string?',
  CurrencyCode: 'string',
  InvoiceDate: 'date',
  DueDate: 'date',
  DateSent: 'date?',
  LastUpdated: 'date',
  isDraft: 'boolean',
  isCancelled: 'boolean',
  Source: 'string',
  CollectionMethod: 'string',
  gatewayID: 'integer?',
  customerPaymentMethodID: 'integer?',
  NumTries: 'integer',
  NextTryDate: 'date?',
  Notes: 'string?',
  Terms: 'string?',
  Status: 'string',
  customerID: 'integer',
  Name: 'string',
  LastName: 'string?',
  Total: 'number',
  TotalActualPaid: 'number',
  TotalPendingPaid: 'number',
  TotalNegativeAdjs: 'number',
  Balance: 'number',
  ActualBalance: 'number',
  Taxes: 'list',
  Charges: 'list',
  PaymentsApplied: 'list',
  NegativeAdjustmentsApplied: 'list',
} as const satisfies Fields

const packageFields = {
  packageID: 'integer',
  packageGroupID: 'integer',
  packageCode: 'string',
  Name: 'string',
  Descrip: 'string',
  isActive: 'boolean',
  PackageVersions: 'list',
} as const satisfies Fields

const version = {
  packageVersionID: 'integer',
  packageID: 'integer',
  VersionNo: 'integer',
  VersionName: 'string',
  isDefault: 'boolean',
  isActive: 'boolean',
  SubscriptionCount: 'integer',
  packageVersionRates: 'list',
} as const satisfies Fields

const component = {
  componentID: 'integer',
  ComponentCode: 'string',
  Name: 'string',
  Descrip: 'string?',
  isActive: 'boolean',
  packageGroupID: 'integer',
  UnitName: 'string',
  Term: 'integer',
  TermType: 'string',
  Type: 'string',
  Scheme: 'string',
  ComponentVersions: 'list',
} as const satisfies Fields

const componentVersion = {
  componentVersionID: 'integer',
  componentID: 'integer',
  VersionNo: 'integer',
  VersionName: 'string',
  isDefault: 'boolean',
  isActive: 'boolean',
  ComponentVersionCurrencies: 'list',
} as const satisfies Fields

const recurringInvoice = {
  recurInvoiceID: 'integer',
  customerID: 'integer',
  CurrencyCode: 'string',
  Reference: 'string',
  Term: 'integer',
  TermType: 'string',
  StartDate: 'date',
  EndDate: 'date?',
  lastInvDate: 'date?',
  lastRenewDate: 'date?',
  nextRenewDate: 'date?',
  isExpired: 'boolean',
  isCancelled: 'boolean',
  numDaysBeforeToInv: 'integer',
  LastModified: 'date',
  SuspendedDate: 'date?',
  comp_Status: 'string',
  CollectionMethod: 'string?',
  gatewayID: 'integer?',
  customerPaymentMethodID: 'integer?',
  InvoiceTerms: 'string?',
  InvoiceNotes: 'string?',
  Taxes: 'list?',
  RecurInvoiceCharges: 'list',
} as const satisfies Fields

const group = { packageGroupID: 'integer', GroupName: 'string' } as const satisfies Fields
const taxSetting = { taxSettingID: 'integer', Name: 'string', rules: 'list' } as const satisfies Fields

const payment = {
  paymentID: 'integer',
  customerID: 'integer',
  Amount: 'number',
  CurrencyCode: 'string',
  Date: 'date',
  Memo: 'string?',
  Ref: 'string?',
  Method: 'string',
  Status: 'string',
  Allocations: 'list',
} as const

const creditNote = {
  creditNoteID: 'integer',
  customerID: 'integer',
  Status: 'string',
  Date: 'date',
  CurrencyCode: 'string',
  Amount: 'number',
  CreditNumber: 'string',
  Memo: 'string?',
  Allocations: 'list',
} as const

const positiveAdjustment = {
  customerID: 'integer',
  positiveAdjustmentID: 'integer',
  positiveAdjustmentType: 'string',
  Date: 'date',
  DueDate: 'date',
  Amount: 'number',
  CurrencyCode: 'string',
  Status: 'string',
  isActive: 'boolean',
  isSuccess: 'boolean',
  Ref: 'string?',
  Memo: 'string?',
  allocations: 'list',
} as const

/** Fields of the entries of lists inside these answers: "Charges" of an invoice, "PackageVersions.packageVersionRates" of a package. */
export const NESTED: Record<string, Record<string, Fields>> = {
  'POST /v1/payments': {
    Allocations: {
      allocationID: 'integer',
      amountApplied: 'number',
      invoiceID: 'integer',
      positiveAdjustmentID: 'integer',
      paymentID: 'integer',
    },
  },
  'GET /v1/credits/{creditNoteID}': {
    Allocations: { allocationID: 'integer', amountApplied: 'number', invoiceID: 'integer', creditNoteID: 'integer' },
  },
  'GET /v1/adjustment/list': {
    adjustments: {
      adjustmentID: 'integer',
      customerID: 'integer',
      Date: 'date',
      DueDate: 'date?',
      CurrencyCode: 'string',
      Amount: 'number',
      Ref: 'string?',
      Memo: 'string?',
      AdjustmentType: 'string',
      Type: 'string',
    },
  },
  'GET /v1/adjustment/get': {
    adjustment: positiveAdjustment,
    'adjustment.allocations': {
      allocationID: 'integer',
      objectID: 'integer',
      amountApplied: 'number',
      isAdjustment: 'boolean',
    },
  },
  'GET /v1/invoices/{invoiceID}': {
    Taxes: { invoiceTaxID: 'integer', invoiceID: 'integer', Name: 'string', Perc: 'number' },
    Charges: {
      chargeID: 'integer',
      invoiceID: 'integer',
      Line: 'string?',
      Descrip: 'string?',
      Qty: 'number',
      UnitCostEx: 'number',
      AmountEx: 'number',
      AmountInc: 'number',
      DisplayOrder: 'integer',
    },
    PaymentsApplied: { allocationID: 'integer', invoiceID: 'integer', paymentID: 'integer', amountApplied: 'number' },
    NegativeAdjustmentsApplied: {
      allocationID: 'integer',
      objectID: 'integer',
      NegativeAdjustmentID: 'integer',
      amountApplied: 'number',
    },
    Customer: {
      customerID: 'integer',
      Reference: 'string',
      Name: 'string',
      LastName: 'string?',
      ActiveSubs: 'integer',
    },
  },
  'GET /v1/packages/{packageID}': {
    PackageVersions: version,
    'PackageVersions.packageVersionRates': {
      packageRateID: 'integer',
      packageID: 'integer',
      CurrencyCode: 'string',
      SetupFee: 'number',
      TrialFee: 'number',
      TrialPeriod: 'integer',
      TrialPeriodType: 'string',
      PackageRateTerms: 'list',
    },
    'PackageVersions.packageVersionRates.PackageRateTerms': {
      packageRateTermID: 'integer',
      packageRateID: 'integer',
      ChargePrice: 'number',
      ChargeTerm: 'integer',
      ChargeTermType: 'string',
    },
  },
  'GET /v1/components/{componentID}': {
    ComponentVersions: componentVersion,
    'ComponentVersions.ComponentVersionCurrencies': {
      componentVersionCurrencyID: 'integer',
      componentVersionID: 'integer',
      CurrencyCode: 'string',
      ComponentBracketPrices: 'list',
    },
    'ComponentVersions.ComponentVersionCurrencies.ComponentBracketPrices': {
      componentBracketID: 'integer',
      componentVersionCurrencyID: 'integer',
      Price: 'number',
      QtyFrom: 'integer',
      QtyTill: 'integer?',
    },
  },
  'GET /v1/recurring-invoices': {
    Taxes: { recurringinvoiceTaxID: 'integer', recurringinvoiceID: 'integer', Name: 'string', Perc: 'number' },
    RecurInvoiceCharges: {
      recurInvoiceChargeID: 'integer',
      recurInvoiceID: 'integer',
      Line: 'string?',
      Descrip: 'string?',
      Qty: 'number',
      UnitCostEx: 'number',
      AmountEx: 'number',
      AmountInc: 'number',
      DisplayOrder: 'integer',
    },
  },
  'GET /v1/tax/{taxSettingID}': {
    rules: {
      taxRuleID: 'integer',
      Perc: 'number',
      countryID: 'integer?',
      countryStateID: 'integer?',
      TaxNumber: 'string?',
    },
  },
  'GET /v1/customers/with_customfields': { CustomFields: { Key: 'string', Value: 'string?' } },
}

const batch = {
  BatchToken: 'string',
  CurrencyCode: 'string',
  GatewayToken: 'string',
  CreatedDate: 'date',
  SubmitDate: 'date?',
  ActionDate: 'date',
  State: 'string',
  BuildError: 'string?',
  NumberOfPayments: 'integer',
  PaymentsTotal: 'string',
  Notes: 'string?',
} as const satisfies Fields

const captureSession = {
  AppId: 'integer',
  AccountID: 'integer',
  iframeCapturePayID: 'integer',
  IframeType: 'string',
  SessionToken: 'string',
  HashToken: 'string',
  ExtRef: 'string?',
  CurrencyCode: 'string',
  DateCreated: 'date',
  Expires: 'date',
  VaultingType: 'string',
  SaleType: 'string',
  isVaultOnlyOnSuccess: 'boolean',
  Amount: 'number',
  gatewayID: 'integer',
  GatewayToken: 'string',
  AuthDomain: 'string',
  paymentMethodID: 'integer?',
  paymentMethodToken: 'string?',
  transactionID: 'string?',
  Description: 'string?',
  Html: 'string',
} as const satisfies Fields

/** The fields that open the form are null for a key that may only read. */
const readCaptureSession = { ...captureSession, HashToken: 'string?', Html: 'string?' } as const satisfies Fields

const { Allocations: _allocations, ...paidBy } = payment
const line = { ...paidBy, PaymentApplied: 'list' } as const satisfies Fields

/** Input fields: required ones with "!". Nested ones follow with dots. */
type Input = string

export interface Row {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  path: string
  success: number
  /** Fields of the answer; none: an empty body. */
  answer?: Fields
  isList?: boolean
  input?: Input
  query?: string
}

const PAGING = 'page page_size'
const RATES =
  'packageVersionRates.CurrencyCode! packageVersionRates.SetupFee! packageVersionRates.TrialFee! packageVersionRates.TrialPeriod! packageVersionRates.TrialPeriodType! packageVersionRates.PackageRateTerms.ChargePrice! packageVersionRates.PackageRateTerms.ChargeTerm! packageVersionRates.PackageRateTerms.ChargeTermType!'
const PACKAGE = 'packageGroupID! packageCode! Name! Descrip! isActive!'
const VERSION = `VersionName! isActive! isDefault! ${RATES}`
const inVersion = VERSION.split(' ')
  .map((field) => `PackageVersion.${field}`)
  .join(' ')
const CONTACT = 'customerID! Name! LastName! Email! Username Password Cell isActive'
const NOTE = 'customerID! Note! NoteType'
const inComponentVersion = (prefix: string): string =>
  [
    'CurrencyCode!',
    'ComponentBracketPrices.Price!',
    'ComponentBracketPrices.QtyFrom!',
    'ComponentBracketPrices.QtyTill',
  ]
    .map((field) => `${prefix}ComponentVersionCurrencies.${field}`)
    .join(' ')
const TAX = 'Name! rules.Perc! rules.countryID rules.countryStateID rules.TaxNumber'

const PAYMENT =
  'customerID! Amount! CurrencyCode! Date! Method! Memo Ref Allocations Allocations.allocationID Allocations.amountApplied! Allocations.invoiceID Allocations.positiveAdjustmentID Allocations.invoiceNumber'
const CREDIT =
  'customerID! Amount! CurrencyCode! Date! Memo Allocations Allocations.allocationID Allocations.amountApplied! Allocations.invoiceID Allocations.invoiceNumber'
const LINE =
  'BatchToken! customerID! Amount! Ref Memo isAutoApply PaymentApplied PaymentApplied.amount! PaymentApplied.invoiceID PaymentApplied.invoiceNumber'
const BATCH = 'CurrencyCode! GatewayToken! ActionDate! Notes'
const GIVEN_LIST = `${PAGING} startDate endDate status customerID`
const ADJUSTMENT = 'customerID! Amount! Date! DueDate Memo'

const list = (path: string, answer: Fields, query = PAGING): Row => ({
  method: 'GET',
  path,
  success: 200,
  answer,
  isList: true,
  query,
})

export const INTERFACE: readonly Row[] = [
  list('/v1/customers', customer),
  {
    method: 'POST',
    path: '/v1/by_customer_ids',
    success: 200,
    answer: { ...customer, PrimaryPaymentMethod: 'boolean' },
    isList: true,
    input: 'ids!',
    query: PAGING,
  },
  list('/v1/customers/with_customfields', { ...customer, CustomFields: 'list' }),
  { method: 'GET', path: '/v1/customers/{customerID}', success: 200, answer: customer },
  list('/v1/customers/{customerID}/contacts', contact),
  list('/v1/customercontacts', contact),
  { method: 'GET', path: '/v1/customercontacts/{customerContactID}', success: 200, answer: contact },
  { method: 'POST', path: '/v1/customercontacts', success: 201, answer: contact, input: CONTACT },
  {
    method: 'PUT',
    path: '/v1/customercontacts/{customerContactID}',
    success: 204,
    input: `${CONTACT} changePassword`,
  },
  { method: 'DELETE', path: '/v1/customercontacts/{customerContactID}', success: 204 },
  list('/v1/customers/{customerID}/customernotes', note),
  list('/v1/customernotes', note),
  { method: 'GET', path: '/v1/customernotes/{customerNoteID}', success: 200, answer: note },
  { method: 'POST', path: '/v1/customernotes', success: 201, answer: note, input: NOTE },
  { method: 'PUT', path: '/v1/customernotes/{customerNoteID}', success: 204, input: NOTE },
  { method: 'DELETE', path: '/v1/customernotes/{customerNoteID}', success: 204 },
  list('/v1/customers/{customerID}/subscriptions', subscription),
  list('/v1/subscriptions', subscription),
  { method: 'GET', path: '/v1/subscriptions/{subscriptionID}', success: 200, answer: subscription },
  list('/v1/customers/{customerID}/invoices', invoice),
  list('/v1/invoices', invoice, `${PAGING} startDate endDate`),
  { method: 'GET', path: '/v1/invoices/{invoiceID}', success: 200, answer: invoice },
  list('/v1/customers/{customerID}/payments', payment, GIVEN_LIST),
  list('/v1/payments', payment, GIVEN_LIST),
  { method: 'GET', path: '/v1/payments/{paymentID}', success: 200, answer: payment },
  { method: 'POST', path: '/v1/payments', success: 201, answer: payment, input: `${PAYMENT} AutoApply` },
  { method: 'PUT', path: '/v1/payments/{paymentID}', success: 204, input: PAYMENT },
  { method: 'DELETE', path: '/v1/payments/{paymentID}', success: 204 },
  list('/v1/batches', batch),
  { method: 'GET', path: '/v1/batches/{BatchToken}', success: 200, answer: { ...batch, Payments: 'list?' } },
  { method: 'POST', path: '/v1/batches', success: 201, answer: batch, input: BATCH },
  { method: 'PUT', path: '/v1/batches', success: 204, input: `BatchToken! ${BATCH}` },
  { method: 'PUT', path: '/v1/batches/submit', success: 204, input: 'BatchToken! ActionDate! Notes' },
  { method: 'PUT', path: '/v1/batches/cancel', success: 204, input: 'BatchToken!' },
  { method: 'POST', path: '/v1/batches/payments', success: 201, answer: line, input: `${LINE} paymentMethodID!` },
  {
    method: 'PUT',
    path: '/v1/batches/payments',
    success: 204,
    input: `paymentID! ${LINE} paymentMethodID CurrencyCode Method PaymentApplied.allocationID`,
  },
  { method: 'DELETE', path: '/v1/batches/payments/{paymentID}', success: 204 },
  {
    method: 'POST',
    path: '/v1/widgets/capturepaymethod/create',
    success: 200,
    answer: captureSession,
    input:
      'VaultingType! SaleType! ExpiresIn! isVaultOnlyOnSuccess! CurrencyCode! GatewayToken! AuthDomain! Amount Description',
  },
  {
    method: 'PUT',
    path: '/v1/widgets/capturepaymethod/complete',
    success: 204,
    input: 'customerID! SessionToken!',
  },
  {
    method: 'GET',
    path: '/v1/widgets/capturepaymethod/get/{SessionToken}',
    success: 201,
    answer: readCaptureSession,
  },
  list('/v1/customers/{customerID}/credits', creditNote, GIVEN_LIST),
  list('/v1/credits', creditNote, GIVEN_LIST),
  { method: 'GET', path: '/v1/credits/{creditNoteID}', success: 200, answer: creditNote },
  // The reference and the amount of an allocation have two names each, of which either will do.
  { method: 'POST', path: '/v1/credits', success: 201, answer: creditNote, input: `${CREDIT} CreditNumber! AutoApply` },
  { method: 'PUT', path: '/v1/credits/{creditNoteID}', success: 204, input: `${CREDIT} CreditNumber!` },
  { method: 'DELETE', path: '/v1/credits/{creditNoteID}', success: 204 },
  {
    method: 'GET',
    path: '/v1/adjustment/list',
    success: 200,
    answer: { isSuccess: 'boolean', adjustments: 'list' },
    query: `${PAGING} type customerID`,
  },
  {
    method: 'GET',
    path: '/v1/adjustment/get',
    success: 200,
    answer: { isSuccess: 'boolean', adjustment: 'object', type: 'string' },
    query: 'type adjustmentID customerID',
  },
  {
    method: 'POST',
    path: '/v1/adjustment/add',
    success: 201,
    answer: { isSuccess: 'boolean', AdjustmentID: 'integer', Type: 'string' },
    input: `${ADJUSTMENT} AdjustmentType! Type! Ref! AutoApply Allocations Allocations.objectID Allocations.AmtAllocated! Allocations.isAdjustment`,
  },
  {
    method: 'PUT',
    path: '/v1/adjustment/edit',
    success: 204,
    input: `${ADJUSTMENT} AdjustmentID! AdjustmentType! Type! Ref isAutoApply LinkedAllocations LinkedAllocations.allocationID LinkedAllocations.objectID LinkedAllocations.AmtAllocated! LinkedAllocations.isAdjustment`,
  },
  { method: 'DELETE', path: '/v1/adjustment/delete', success: 204, query: 'type adjustmentID customerID' },
  list('/v1/packages', packageFields),
  { method: 'GET', path: '/v1/packages/{packageID}', success: 200, answer: packageFields },
  { method: 'POST', path: '/v1/packages', success: 201, answer: packageFields, input: `${PACKAGE} ${inVersion}` },
  { method: 'PUT', path: '/v1/packages/{packageID}', success: 200, input: PACKAGE },
  { method: 'DELETE', path: '/v1/packages', success: 204 },
  list('/v1/packages/{packageID}/versions', version),
  { method: 'GET', path: '/v1/packages/{packageID}/versions/{versionno}', success: 200, answer: version },
  { method: 'POST', path: '/v1/packages/{packageID}/versions', success: 201, answer: version, input: VERSION },
  // Of a version in use rates and terms may be left out of an edit, which then keeps them.
  { method: 'PUT', path: '/v1/packages/{packageID}/versions/{versionno}', success: 204, input: VERSION },
  { method: 'DELETE', path: '/v1/packages/{packageID}/versions/{versionno}', success: 204 },
  list('/v1/packagegroups', group),
  { method: 'GET', path: '/v1/packagegroups/{packageGroupID}', success: 200, answer: group },
  { method: 'POST', path: '/v1/packagegroups', success: 201, answer: group, input: 'GroupName!' },
  { method: 'PUT', path: '/v1/packagegroups/{packageGroupID}', success: 204, input: 'GroupName!' },
  { method: 'DELETE', path: '/v1/packagegroups/{packageGroupID}', success: 204 },
  list('/v1/customers/{customerID}/recurring-invoices', recurringInvoice),
  list('/v1/recurring-invoices', recurringInvoice),
  list('/v1/components', component),
  { method: 'GET', path: '/v1/components/{componentID}', success: 200, answer: component },
  {
    method: 'POST',
    path: '/v1/components',
    success: 201,
    answer: component,
    input: `ComponentCode! Name! Type! Scheme! UnitName! packageGroupID! Term! TermType! Descrip isActive ComponentVersion! ComponentVersion.VersionName! ${inComponentVersion('ComponentVersion.')}`,
  },
  {
    method: 'PUT',
    path: '/v1/components/{componentID}',
    success: 200,
    input: 'Name! Type! Scheme! UnitName! packageGroupID! Term! TermType! Descrip isActive ComponentCode',
  },
  { method: 'DELETE', path: '/v1/components/{componentID}', success: 204 },
  list('/v1/components/{componentID}/versions', componentVersion),
  { method: 'GET', path: '/v1/components/{componentID}/versions/{versionno}', success: 200, answer: componentVersion },
  {
    method: 'POST',
    path: '/v1/components/{componentID}/versions',
    success: 201,
    answer: componentVersion,
    input: `VersionName! isActive! isDefault! ${inComponentVersion('')}`,
  },
  {
    method: 'PUT',
    path: '/v1/components/{componentID}/versions/{versionno}',
    success: 204,
    input: `VersionName! isActive! isDefault ${inComponentVersion('')}`,
  },
  { method: 'DELETE', path: '/v1/components/{componentID}/versions/{versionno}', success: 204 },
  list('/v1/tax', taxSetting),
  { method: 'GET', path: '/v1/tax/{taxSettingID}', success: 200, answer: taxSetting },
  { method: 'POST', path: '/v1/tax', success: 201, answer: taxSetting, input: TAX },
  { method: 'PUT', path: '/v1/tax/{taxSettingID}', success: 204, input: `${TAX} rules.taxRuleID` },
  { method: 'DELETE', path: '/v1/tax/{taxSettingID}', success: 204 },
  {
    method: 'GET',
    path: '/v1/currencies',
    success: 200,
    answer: { CurrencyCode: 'string', Name: 'string' },
    isList: true,
  },
  { method: 'POST', path: '/v1/currencies', success: 201, input: 'CurrencyCode!' },
  { method: 'DELETE', path: '/v1/currencies', success: 204, input: 'CurrencyCode' },
]
