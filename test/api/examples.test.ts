import { describe, expect, test } from 'vitest'
import { addCard, CARDS } from '../../src/features/collection/shop.testing.ts'
import { chargedPayment } from '../../src/features/refunds/charged.testing.ts'
import { buildAll } from '../../src/features/batches/batches.testing.ts'
import { secondKeyOf, startTestService, type TestClient } from '../support/app.ts'
import { moveTo } from '../support/shop.ts'
import { acceptKey, KEEPS_ACCOUNTS, addResultFile, CARD, newSession, newSilentSale, storedBySandbox } from './world.ts'
import { answerChecker, type DocumentedOperation, operationsOf, readDocument } from './document.ts'

/**
 * Every body that the document shows is sent, to a new account, as a reader would who makes the records that it names with the examples of
 * their own operations. A new operation joins by its example; where that names a new kind of record, the way to make one is added here.
 */

const service = await startTestService()
const document = await readDocument(service)
const operations = operationsOf(document)
const check = answerChecker(document)
const byId = new Map(operations.map((operation) => [operation.id, operation]))

type Body = Record<string, unknown>

/** The operation that makes the record which an identifier names, and what its answer calls the identifier. */
const MAKERS: Record<string, { id: string; answered?: string }> = {
  customerID: { id: 'addCustomer' },
  ids: { id: 'addCustomer', answered: 'customerID' },
  customerContactID: { id: 'addContact' },
  customerNoteID: { id: 'addNote' },
  packageGroupID: { id: 'addPackageGroup' },
  packageID: { id: 'addPackage' },
  componentID: { id: 'addComponent' },
  subscriptionID: { id: 'addSubscription' },
  invoiceID: { id: 'addInvoice' },
  recurInvoiceID: { id: 'addRecurringInvoice' },
  paymentID: { id: 'addPayment' },
  refundID: { id: 'refundPayment' },
  creditNoteID: { id: 'addCredit' },
  AdjustmentID: { id: 'addAdjustment' },
  adjustmentID: { id: 'addAdjustment', answered: 'AdjustmentID' },
  gatewayID: { id: 'addGateway' },
  GatewayToken: { id: 'addGateway' },
  BatchToken: { id: 'addBatch' },
  SessionToken: { id: 'createCaptureSession' },
  Token: { id: 'addGatewayToken' },
  captureSaleID: { id: 'createCaptureSession' },
  mandateSetupID: { id: 'addMandateSetup' },
  resultFileID: { id: 'addResultFile' },
  lineID: { id: 'answerResultLine' },
  paymentMethodID: { id: 'addBankAccount' },
  taxSettingID: { id: 'addTaxSetting' },
  webhookID: { id: 'addWebhook' },
  exportID: { id: 'addExport' },
}
const WORDS: Record<string, string> = { kind: 'renewal', versionno: '1' }

/** Fields that are sent differently when an example needs a record in another state than the example which makes it. */
const STATES: Record<string, Record<string, Body>> = {
  changeStartDate: { addSubscription: { StartDate: '2027-02-01' } },
  editInvoice: { addInvoice: { isDraft: true } },
  recordUsage: { addComponent: { Type: 'metered' } },
  recordUsageInBulk: { addComponent: { Type: 'metered' } },
}

/** Fields of examples that name another record of its kind than the first, by its number. */
const NUMBERS: Record<string, Record<string, number>> = { changePackage: { packageID: 2 } }

/** Requests that must have happened before an example. */
const BEFORE: Record<string, (reader: Reader) => Promise<unknown>> = {
  reactivateSubscription: async (reader) => reader.must('PUT', `${await subscriptionOf(reader)}/cancel/norefund`, {}),
  recordUsage: (reader) => addMetered(reader),
  recordUsageInBulk: (reader) => addMetered(reader),
  refundPayment: async (reader) => {
    await addCharged(reader, '4000000000007726')
  },
  settlePaymentByHand: async (reader) => {
    const customer = { Name: 'Acme', isCompany: true, PaymentMethod: 'credit_card' }
    const { customerID } = await reader.must('POST', '/v1/customers', customer)
    await addCard(reader.client, customerID, CARDS.good)
    const charges = { customerID, Charges: [{ UnitCostEx: 115 }] }
    const { invoiceID } = await reader.must('POST', '/v1/invoices', charges)
    const [{ gatewayID }] = await reader.must('GET', '/v1/gateways', undefined)
    const faulty = (Fault: string) => reader.must('PUT', `/v1/gateways/${gatewayID}`, { Settings: { Fault } })
    await faulty('not_answered')
    const { paymentID } = await reader.must('POST', `/v1/invoices/${invoiceID}/collect`, undefined)
    await faulty('refused')
    reader.made.set('addPayment 1', paymentID)
    await moveTo(reader.client, '2027-01-03')
  },
  settleRefundByHand: async (reader) => {
    const { gatewayID, refund } = await addCharged(reader, '4242424242424242')
    const faulty = (Fault: string) => reader.must('PUT', `/v1/gateways/${gatewayID}`, { Settings: { Fault } })
    await faulty('not_answered')
    const begun = await refund({ Amount: 10 })
    await faulty('refused')
    reader.made.set('refundPayment 1', begun.body.refundID)
    await moveTo(reader.client, '2027-01-03')
  },
  addGatewayToken: async (reader) => {
    // The gateway of the document keeps no cards; the sandbox does.
    const { gatewayID, Token } = await storedBySandbox(service, reader.client)
    reader.made.set('addGateway 1', gatewayID)
    reader.made.set('addGatewayToken 1', Token)
  },
  addMandateSetup: async (reader) => {
    const { gatewayID } = await reader.must('POST', '/v1/gateways', KEEPS_ACCOUNTS)
    await acceptKey(service, reader.client, gatewayID)
    reader.made.set('addGateway 1', gatewayID)
  },
  submitBatch: addLineToBatch,
  releaseBatch: async (reader) => {
    reader.states['addGateway'] = { isFourEyes: true }
    await addLineToBatch(reader)
    await reader.must('PUT', '/v1/batches/submit', await reader.filled(byId.get('submitBatch')?.example))
    reader.client = await secondKeyOf(service, reader.client)
  },
  recordBatchResults: async (reader) => {
    await addLineToBatch(reader)
    await reader.must('PUT', '/v1/batches/submit', await reader.filled(byId.get('submitBatch')?.example))
    await buildAll(service)
    await moveTo(reader.client, '2027-01-12')
  },
  editBatchPayment: addLineToBatch,
  completeCaptureSession: async (reader) => {
    // The gateway of the document takes no cards; the sandbox does.
    const [{ GatewayToken }] = await reader.must('GET', '/v1/gateways', undefined)
    const body = { ...(byId.get('createCaptureSession')?.example as Body), GatewayToken }
    reader.made.set('createCaptureSession 1', await newSession(reader, body, CARD))
  },
  settleCaptureSaleByHand: async (reader) => {
    reader.made.set('createCaptureSession 1', await newSilentSale(reader.client))
  },
  answerResultLine: async (reader) => {
    const { resultFileID, lineIDs } = await addResultFile(reader.client, 1)
    reader.made.set('addResultFile 1', resultFileID)
    reader.made.set('answerResultLine 1', lineIDs[0])
  },
  addExport: async (reader) => {
    await reader.must('PUT', '/v1/glcodes', byId.get('editGlCodes')?.example)
    await reader.must('POST', '/v1/invoices', await reader.filled(byId.get('addInvoice')?.example))
  },
  deleteCurrency: (reader) => reader.must('POST', '/v1/currencies', byId.get('addCurrency')?.example),
}

/** Stands for the payment that an example names: the one that a gateway has charged to a card of a number. */
async function addCharged(reader: Reader, number: string) {
  const charged = await chargedPayment(service, number, { client: reader.client })
  reader.made.set('addPayment 1', Number(charged.id))
  return charged
}

/** Adds the line of the example to the batch of the example, and stands it for the payment that an example names. */
async function addLineToBatch(reader: Reader) {
  const added = await reader.must(
    'POST',
    '/v1/batches/payments',
    await reader.filled(byId.get('addBatchPayment')?.example),
  )
  reader.made.set('addPayment 1', added.paymentID)
  const [{ BatchToken }] = (await reader.client.get('/v1/batches')).body
  reader.made.set('addBatch 1', BatchToken)
}

const subscriptionOf = async (reader: Reader) => `/v1/subscriptions/${await reader.identifier('subscriptionID')}`
const addMetered = async (reader: Reader) =>
  reader.must('PUT', `${await subscriptionOf(reader)}/components/modify`, {
    componentUsage: [{ componentID: await reader.identifier('componentID') }],
  })

/** Somebody who reads the document with a new account. */
class Reader {
  client: TestClient
  readonly states: Record<string, Body>
  readonly made = new Map<string, unknown>()

  constructor(client: TestClient, states: Record<string, Body> = {}) {
    this.client = client
    this.states = states
  }

  async must(method: string, path: string, body: unknown): Promise<any> {
    const reply = await this.client.request(method, path, body)
    if (reply.status >= 300) throw new Error(`${method} ${path} ${reply.status} ${reply.text}`)
    return reply.body
  }

  /** The identifier of the record that an example names, made once: by the document's own example. */
  async identifier(name: string, number = 1): Promise<unknown> {
    const { id, answered = name } = MAKERS[name] ?? {}
    const operation = byId.get(id ?? '')
    if (!operation) throw new Error(`no operation is known that makes a record for ${name}`)
    const key = `${id} ${number}`
    if (!this.made.has(key)) {
      const body = { ...(await this.filled(operation.example as Body)), ...this.states[operation.id] }
      // A second record of a kind needs a code of its own.
      const codes = number === 1 ? {} : { packageCode: `PRO-${number}` }
      this.made.set(key, (await this.must('POST', await this.path(operation), { ...body, ...codes }))[answered])
    }
    return this.made.get(key)
  }

  /** An example with the identifiers of records that are really there. */
  async filled(value: unknown, numbers: Record<string, number> = {}): Promise<any> {
    if (Array.isArray(value)) return Promise.all(value.map((entry) => this.filled(entry, numbers)))
    if (typeof value !== 'object' || value === null) return value
    const found: Body = {}
    for (const [name, inner] of Object.entries(value)) {
      if (name === 'ids') found[name] = [await this.identifier(name)]
      else found[name] = name in MAKERS ? await this.identifier(name, numbers[name]) : await this.filled(inner, numbers)
    }
    return found
  }

  async path(operation: DocumentedOperation): Promise<string> {
    let path = operation.path
    for (const name of operation.pathParams)
      path = path.replace(`{${name}}`, String(WORDS[name] ?? (await this.identifier(name))))
    return path
  }
}

describe('each example is taken as the document says', () => {
  test.each(operations.filter(({ body }) => body).map((operation) => [operation.id, operation] as const))(
    '%s',
    async (id, operation) => {
      const reader = new Reader(await service.newAccount(), STATES[id])
      await BEFORE[id]?.(reader)
      const body = await reader.filled(operation.example, NUMBERS[id])
      const reply = await reader.client.request(operation.method, await reader.path(operation), body, {
        prefer: 'handling=strict',
      })
      expect([operation.success, operation.isPending ? 202 : operation.success], reply.text).toContain(reply.status)
      const answered = { status: reply.status, text: reply.text, headers: reply.headers }
      expect(check(operation, answered)).toBeUndefined()
    },
  )
})
