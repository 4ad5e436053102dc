import { OPERATION_EXAMPLES } from '../src/platform/http/operation-examples.ts'

/**
 * The story that the examples of the document are recorded from: after a year of the demo, on the first of January 2027, one call of each
 * operation that the demo's firm and its new customer Ada give a reason for.
 */

export type Body = Record<string, unknown>

/** Answer of a request, read by name; the interface is checked elsewhere. */
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any

/** Sends a request that is no example: what must be there before one. */
export type Ask = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Json>

/** A call that is recorded. */
export interface Call {
  id: string
  /** Fields of the body that differ from the written example. */
  body?: (known: Body) => Body
  query?: (known: Body) => Record<string, string | number>
  /** Parts of the path that differ from the identifiers of the story. */
  path?: (known: Body) => Body
  /** XML that is sent instead of a body. */
  file?: string
  /** Identifiers that the answer gives the story. */
  learn?: (answer: Json) => Body
}

/** A call, something that is done before the next one and may give identifiers, or every read that is left. */
export type Step = Call | 'reads' | ((ask: Ask, known: Body) => Promise<Body | void>)

const call = (id: string, more: Omit<Call, 'id'> = {}): Call => ({ id, ...more })

/** Returns a call whose answer gives an identifier, under the name that bodies and paths have for it. */
const making = (id: string, name: string, more: Omit<Call, 'id'> & { answered?: string } = {}): Call => {
  const { answered = name, ...rest } = more
  return { id, learn: (answer) => ({ [name]: answer[answered] }), ...rest }
}

/** Returns a value of a written example with the identifiers of the story in the places of its own. */
function filled(value: unknown, known: Body): unknown {
  if (Array.isArray(value)) return value.map((entry) => filled(entry, known))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      if (name === 'ids') return [name, [known['customerID']]]
      return [name, name !== 'Key' && name in known ? known[name] : filled(inner, known)]
    }),
  )
}

/** Returns the body of a call: that of its written example, about records of the story. */
export const bodyOf = ({ id, body }: Call, known: Body): Body | undefined => {
  const example = OPERATION_EXAMPLES[id]
  return example ? { ...(filled(example, known) as Body), ...body?.(known) } : undefined
}

/** Records of the demo: its component that is metered, and a package that Ada can change to. */
const MESSAGES = 2
const TEAM = 2

const CATALOGUE: Step[] = [
  call('addCurrency'),
  making('addTaxSetting', 'taxSettingID'),
  making('addPackageGroup', 'packageGroupID'),
  making('addPackage', 'packageID'),
  call('addPackageVersion'),
  making('addComponent', 'componentID'),
  call('addComponentVersion'),
  making('addCustomField', 'Key'),
]

const CUSTOMER: Step[] = [
  making('addCustomer', 'customerID'),
  making('addContact', 'customerContactID'),
  making('addNote', 'customerNoteID'),
  making('addCreditCard', 'cardID', { answered: 'paymentMethodID' }),
  making('addBankAccount', 'paymentMethodID'),
  call('previewNewSubscription'),
  making('addSubscription', 'subscriptionID'),
  call('modifyComponents'),
  // Messages of the demo are metered.
  (ask, { subscriptionID, componentID }) =>
    ask('PUT', `/v1/subscriptions/${String(subscriptionID)}/components/modify`, {
      componentUsage: [{ componentID, NumUnits: 5 }, { componentID: MESSAGES }],
    }),
  call('recordUsage', { body: () => ({ componentID: MESSAGES, NumUnits: 640 }) }),
  call('recordUsageInBulk', {
    body: ({ subscriptionID }) => ({
      Usage: [
        { subscriptionID, componentID: MESSAGES, NumUnits: 120, Date: '2027-01-01', UsageKey: 'meter-8-2027-01-01' },
      ],
    }),
  }),
]

const MONEY: Step[] = [
  making('addInvoice', 'invoiceID'),
  making('addPayment', 'paymentID'),
  making('creditInvoice', 'creditNoteID'),
  making('addCredit', 'openCreditNoteID', { answered: 'creditNoteID' }),
  making('addAdjustment', 'AdjustmentID'),
  making('addRecurringInvoice', 'recurInvoiceID'),
]

/** Frees the payment that the sandbox has charged: only what is not allocated can be given back. */
async function freeCharged(ask: Ask, { chargedID }: Body): Promise<void> {
  const payment = await ask('GET', `/v1/payments/${String(chargedID)}`)
  await ask('PUT', `/v1/payments/${String(chargedID)}`, { ...payment, Allocations: [] })
}

const COLLECTION: Step[] = [
  async (ask, { customerID }) => {
    const charges = { customerID, CurrencyCode: 'USD', CollectionMethod: 'credit_card', Charges: [{ UnitCostEx: 100 }] }
    return { collectedID: (await ask('POST', '/v1/invoices', charges)).invoiceID }
  },
  making('collectInvoice', 'chargedID', {
    path: ({ collectedID }) => ({ invoiceID: collectedID }),
    answered: 'paymentID',
  }),
  freeCharged,
  call('refundPayment', { path: ({ chargedID }) => ({ paymentID: chargedID }) }),
  async (ask) => {
    const [sandbox] = await ask('GET', '/v1/gateways')
    return { sandboxID: sandbox.gatewayID, sandboxToken: sandbox.GatewayToken }
  },
  { id: 'addGateway', learn: ({ gatewayID, GatewayToken }) => ({ gatewayID, GatewayToken }) },
  call('validateBankAccount'),
  call('validateBankAccountByPut'),
  making('addBatch', 'BatchToken'),
  call('editBankAccount'),
  making('addBatchPayment', 'batchPaymentID', { answered: 'paymentID' }),
  call('editBatchPayment', { body: ({ batchPaymentID }) => ({ paymentID: batchPaymentID }) }),
  call('editBatch'),
  call('submitBatch'),
  making('createCaptureSession', 'SessionToken', { body: (known) => ({ GatewayToken: known['sandboxToken'] }) }),
  making('addEMandate', 'EMandateToken', { answered: 'Token' }),
  call('addRedirectEMandate'),
]

/** A statement of the firm's bank, with a transfer that names nothing. */
const BANK_STATEMENT = `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.02"><BkToCstmrStmt><Stmt><Acct><Id><IBAN>DE89370400440532013000</IBAN></Id></Acct>
<Ntry><Amt Ccy="USD">50.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts>BOOK</Sts><BookgDt><Dt>2027-01-01</Dt></BookgDt><NtryDtls><TxDtls>
<RltdPties><Dbtr><Nm>Ada Lovelace</Nm></Dbtr></RltdPties><RmtInf><Ustrd>On account</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry></Stmt></BkToCstmrStmt></Document>`

const BANK: Step[] = [
  making('addResultFile', 'resultFileID', {
    query: ({ gatewayID }) => ({ gatewayID: Number(gatewayID) }),
    file: BANK_STATEMENT,
  }),
  call('getResultFile', { learn: ({ Lines }) => ({ lineID: Lines[0].lineID }) }),
  // A second session, whose card is entered; the first stays open.
  async (ask, { sandboxToken }) => {
    const wish = { ...OPERATION_EXAMPLES['createCaptureSession'], GatewayToken: sandboxToken }
    const { SessionToken, HashToken } = await ask('POST', '/v1/widgets/capturepaymethod/create', wish)
    const card = 'number=4242424242424242&expiry=12/30&givenName=Ada&familyName=Lovelace'
    const type = 'application/x-www-form-urlencoded'
    await ask('POST', `/w/${String(HashToken)}`, card, { origin: 'https://billing.example.org', 'content-type': type })
    return { enteredToken: SessionToken }
  },
  call('completeCaptureSession', { body: ({ enteredToken }) => ({ SessionToken: enteredToken }) }),
  // Statements are sent on the first of a month.
  async (ask, { customerID }) => {
    const customer = await ask('GET', `/v1/customers/${String(customerID)}`)
    await ask('PUT', `/v1/customers/${String(customerID)}`, { ...customer, autoSendStatement: true })
  },
]

/** A gateway that does not answer: what it did is settled by hand after a day. */
const SILENCE: Step[] = [
  async (ask, { customerID, sandboxID, chargedID, sandboxToken }) => {
    const faulty = (Fault: string) => ask('PUT', `/v1/gateways/${String(sandboxID)}`, { Settings: { Fault } })
    const charges = { customerID, CurrencyCode: 'USD', CollectionMethod: 'credit_card', Charges: [{ UnitCostEx: 500 }] }
    const { invoiceID } = await ask('POST', '/v1/invoices', charges)
    await faulty('not_answered')
    const { paymentID } = await ask('POST', `/v1/invoices/${String(invoiceID)}/collect`)
    await freeCharged(ask, { chargedID })
    const { refundID } = await ask('POST', `/v1/payments/${String(chargedID)}/refund`, { Amount: 5 })
    await faulty('none')
    // By this card and amount the sandbox does not answer either.
    const sale = {
      ...OPERATION_EXAMPLES['createCaptureSession'],
      SaleType: 'VaultSale',
      Amount: 49.91,
      GatewayToken: sandboxToken,
    }
    const { HashToken } = await ask('POST', '/v1/widgets/capturepaymethod/create', sale)
    const card = 'number=4000000000000077&expiry=12/30&givenName=Ada&familyName=Lovelace'
    const type = 'application/x-www-form-urlencoded'
    await ask('POST', `/w/${String(HashToken)}`, card, { origin: 'https://billing.example.org', 'content-type': type })
    await faulty('refused')
    await ask('PUT', '/v1/clock', { Now: '2027-01-03T00:00:00Z' })
    await faulty('none')
    return { silentPaymentID: paymentID, refundID }
  },
  call('listUnsettledCaptureSales', { learn: ([{ captureSaleID }]) => ({ captureSaleID }) }),
  call('settleCaptureSaleByHand'),
  call('settlePaymentByHand', { path: ({ silentPaymentID }) => ({ paymentID: silentPaymentID }) }),
  call('settleRefundByHand', { path: ({ chargedID }) => ({ paymentID: chargedID }) }),
]

const OFFICE: Step[] = [
  making('addWebhook', 'webhookID'),
  call('editGlCodes'),
  making('addExport', 'exportID'),
  making('startBillingRun', 'billingRunID'),
]

const EDITS: Step[] = [
  async (ask, { customerID }) => {
    const draft = { customerID, CurrencyCode: 'USD', isDraft: true, Charges: [{ UnitCostEx: 100 }] }
    return { draftID: (await ask('POST', '/v1/invoices', draft)).invoiceID }
  },
  call('editInvoice', { path: ({ draftID }) => ({ invoiceID: draftID }) }),
  async (ask, { customerID, packageID }) => {
    const later = { customerID, packageID, Term: 1, TermType: 'months', StartDate: '2027-05-01' }
    return { futureID: (await ask('POST', '/v1/subscriptions', later)).subscriptionID }
  },
  call('changeStartDate', { path: ({ futureID }) => ({ subscriptionID: futureID }) }),
  call('changePackage', { body: () => ({ packageID: TEAM }) }),
  call('editCredit', {
    path: ({ openCreditNoteID }) => ({ creditNoteID: openCreditNoteID }),
  }),
  ...[
    'editCustomer',
    'listCustomersByIds',
    'editContact',
    'editNote',
    'editSubscription',
    'changeTerm',
    'changeEndDate',
    'skipSubscription',
    'skipRecurringInvoice',
    'editRecurringInvoice',
    'editPayment',
    'sendCredit',
    'editAdjustment',
    'editPackage',
    'editPackageGroup',
    'editComponent',
    'editTaxSetting',
    'editGateway',
    'editCollectionRules',
    'editWebhook',
    'rotateWebhookSecret',
    'replayWebhookEvents',
  ].map((id) => call(id)),
  call('editPackageVersion', { path: () => ({ versionno: 1 }) }),
  call('editComponentVersion', { path: () => ({ versionno: 1 }) }),
  call('failPayment'),
  call('cancelSubscription', { path: () => ({ kind: 'prorata' }) }),
  call('reactivateSubscription'),
  call('deleteAdjustment'),
  call('deleteCurrency'),
  async (ask, { GatewayToken }) => {
    const batch = { CurrencyCode: 'USD', GatewayToken, ActionDate: '2027-02-11' }
    return { cancelledToken: (await ask('POST', '/v1/batches', batch)).BatchToken }
  },
  call('cancelBatch', { body: ({ cancelledToken }) => ({ BatchToken: cancelledToken }) }),
  async (ask, { packageGroupID }) => {
    const another = { ...OPERATION_EXAMPLES['addPackage'], packageGroupID, packageCode: 'TRY', Name: 'Never sold' }
    return { unusedID: (await ask('POST', '/v1/packages', another)).packageID }
  },
  call('deletePackageByGivenId', { body: ({ unusedID }) => ({ packageID: unusedID }) }),
  call('editAccount'),
]

/** In the order in which they happen. */
export const STORY: readonly Step[] = [
  ...CATALOGUE,
  ...CUSTOMER,
  ...MONEY,
  ...COLLECTION,
  ...OFFICE,
  ...BANK,
  call('getCaptureSession'),
  call('buildCaptureSession'),
  call('getEMandate'),
  ...SILENCE,
  call('moveClock'),
  async (ask, { invoiceID, customerID }) => {
    const { invoiceNum } = await ask('GET', `/v1/invoices/${String(invoiceID)}`)
    const mails = await ask('GET', `/v1/outbox?customerID=${String(customerID)}`)
    // Mail that opens the portal has a password, which is drawn anew each time.
    const mail = mails.find(({ Text }: { Text: string }) => !Text.includes('Password'))
    return { invoiceNum, outboxID: mail.outboxID }
  },
  call('recordBatchResults', {
    body: ({ batchPaymentID }) => ({
      Results: [{ paymentID: batchPaymentID, Success: false, Reason: 'AC04', Date: '2027-01-11' }],
    }),
  }),
  call('getPackageVersion', { path: () => ({ versionno: 1 }) }),
  call('getComponentVersion', { path: () => ({ versionno: 1 }) }),
  call('listCountryStates', { path: () => ({ countryID: 840 }) }),
  call('listPaymentRefunds', { path: ({ chargedID }) => ({ paymentID: chargedID }) }),
  'reads',
  call('answerResultLine'),
  ...EDITS,
]

/** Operations with a body or an answer in JSON that the story does not come to, with the reason; their examples are made from the schemas. */
export const UNRECORDED: Record<string, string> = {
  releaseBatch: 'the demo has one key, and four eyes need two',
  listBillingFailures: 'nothing of the demo fails to be billed',
  addGatewayToken: 'the demo has no card that others stored',
  getGatewayReturns: 'the demo has no gateway of ACH',
  addMandateSetup: 'the demo has no gateway that keeps accounts',
  getMandateSetup: 'the demo has no gateway that keeps accounts',
}

const JANUARY = { from: '2027-01-01', to: '2027-01-31' }

/** Queries of reads; lists that can be sorted show their newest two records. */
export const QUERIES: Record<string, (known: Body) => Record<string, string | number>> = {
  listAdjustments: () => ({ type: 'all', sort: '-id', page_size: 2 }),
  getAdjustment: ({ AdjustmentID, customerID }) => ({
    type: 'positive',
    adjustmentID: Number(AdjustmentID),
    customerID: Number(customerID),
  }),
  getStatement: () => JANUARY,
  getTaxReport: () => JANUARY,
  getTrialBalance: () => JANUARY,
  getRevenueReport: () => JANUARY,
  getEMandate: ({ EMandateToken }) => ({ Token: String(EMandateToken) }),
  listCountries: () => ({ Code: 'ZA' }),
}
