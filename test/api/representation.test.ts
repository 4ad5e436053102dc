import { describe, expect, test } from 'vitest'
import { startTestService, type Reply } from '../support/app.ts'
import { answerChecker, type DocumentedOperation, operationsOf, readDocument } from './document.ts'
import { rightBody, writeJson } from './samples.ts'
import { makeWorld, pathOf, RECIPES } from './world.ts'

/**
 * Prefer: return=representation, of every operation that changes something and answers no body: the answer is what reading the record answers
 * next. A new operation joins on its own, or is named below with its reason.
 */

/** Changes of which there is nothing to read, and why. */
const UNREPRESENTED: Record<string, string> = {
  validateBankAccount: 'the answer is whether the bank account is right; there is no record that could be read',
  validateBankAccountByPut: 'the same by PUT',
  settleCaptureSaleByHand: 'nothing reads one sale, and the list shows those that are not settled',
  replaceLogo: 'reading it answers the bytes that were sent',
  connectGateway: 'only Stripe, or a simulator of it, lets it succeed',
  testWebhook: '202: what was asked for is not done yet',
  replayWebhookDelivery: '202: what was asked for is not done yet',
  replayWebhookEvents: '202: what was asked for is not done yet',
}

const service = await startTestService()
const document = await readDocument(service)
const operations = operationsOf(document)
const check = answerChecker(document)
const world = await makeWorld(service, operations, 'representation')
const { client } = world

const isBodiless = ({ method, responses, success }: DocumentedOperation): boolean =>
  (method === 'POST' || method === 'PUT') && responses[String(success)]?.content === undefined
const isShown = ({ responses }: DocumentedOperation): boolean =>
  responses['200']?.headers?.['Preference-Applied'] !== undefined

const changes = operations.filter(isBodiless)
const shown = changes.filter(isShown)

/** Makes the address at which the record of a change is read, if not at the longest path of a GET that its own path begins with. */
const READ_AT: Record<string, (body: Record<string, unknown>, path: string) => string> = {
  editBankAccount: (_body, path) => path.replace('/bankaccount/', '/'),
  editBatchPayment: ({ paymentID }) => `/v1/payments/${String(paymentID)}`,
  editAdjustment: ({ Type, AdjustmentID, customerID }) =>
    `/v1/adjustment/get?type=${String(Type)}&adjustmentID=${String(AdjustmentID)}&customerID=${String(customerID)}`,
  completeCaptureSession: ({ SessionToken }) => `/v1/widgets/capturepaymethod/get/${String(SessionToken)}`,
  ...Object.fromEntries(
    ['editBatch', 'submitBatch', 'releaseBatch', 'cancelBatch'].map((id) => [
      id,
      ({ BatchToken }: Record<string, unknown>) => `/v1/batches/${String(BatchToken)}`,
    ]),
  ),
}

function readAt({ id, path }: DocumentedOperation, sent: { path: string; body: Record<string, unknown> }): string {
  const given = READ_AT[id]
  if (given) return given(sent.body, sent.path)
  const steps = path.split('/')
  const readable = operations
    .filter((one) => one.method === 'GET' && `${path}/`.startsWith(`${one.path}/`))
    .map((one) => one.path.split('/').length)
  expect(readable, `${id} has something that reads its record`).not.toEqual([])
  expect(steps.length).toBeGreaterThanOrEqual(Math.max(...readable))
  return sent.path
    .split('/')
    .slice(0, Math.max(...readable))
    .join('/')
}

/** Sends what the operation accepts; made-up values may name a record in another state, so others are tried. */
async function carriedOut(operation: DocumentedOperation) {
  for (let tries = 0; tries < 40; tries += 1) {
    const recipe = await RECIPES[operation.id]?.(world)
    const path = recipe?.path ?? pathOf(operation, world) ?? operation.path
    const body = recipe ? recipe.body : rightBody(operation, world)
    const key = `${operation.id} ${tries}`
    const send = (prefer: Record<string, string>) =>
      client.request(operation.method, path, body && writeJson(body), {
        ...(body ? { 'content-type': 'application/json' } : {}),
        'idempotency-key': key,
        ...prefer,
      })
    const reply = await send({ prefer: 'respond-async, return=representation; x="a,return=minimal"' })
    if (reply.status < 300) return { reply, sent: { path, body: body ?? {} }, send }
  }
  throw new Error(`${operation.id} was never carried out`)
}

const wrongOf = (operation: DocumentedOperation, { status, text, headers }: Reply) =>
  check(operation, { status, text, headers })

test('every change without a body is represented, or there is a reason why it is not', () => {
  const others = changes.filter((operation) => !isShown(operation)).map(({ id }) => id)
  expect(others.toSorted()).toEqual(Object.keys(UNREPRESENTED).toSorted())
  expect(shown.length).toBeGreaterThan(45)
})

describe('a change answers what reading its record answers then', () => {
  test.each(shown.map((operation) => [operation.id, operation] as const))('%s', async (_id, operation) => {
    const { reply, sent, send } = await carriedOut(operation)
    expect([reply.status, reply.headers['preference-applied']]).toEqual([200, 'return=representation'])
    const read = await client.get(readAt(operation, sent))
    const isOfSubscription = operation.responses['200']?.content !== undefined && reply.body.Subscription !== undefined
    if (isOfSubscription) {
      expect(reply.body.Subscription).toEqual(read.body)
      for (const invoice of reply.body.Invoices)
        expect(invoice).toEqual((await client.get(`/v1/invoices/${invoice.invoiceID}`)).body)
      for (const { creditNoteID, CreditNumber, Amount } of reply.body.CreditNotes)
        expect((await client.get(`/v1/credits/${creditNoteID}`)).body).toMatchObject({ CreditNumber, Amount })
    } else expect(reply.text).toBe(read.text)
    expect(reply.headers['etag']).toBe(read.headers['etag'])
    // Of a success that is a 200 without a body itself, the document declares none.
    if (operation.success !== 200) expect(wrongOf(operation, reply)).toBeUndefined()
    const again = await send({})
    expect([again.status, again.text]).toEqual([200, reply.text])
    expect(again.headers['idempotency-replayed']).toBe('true')
  })
})
