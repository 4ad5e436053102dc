import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import Stripe from 'stripe'
import { beforeAll, describe, expect, test } from 'vitest'
import { hasFixtures } from '../support/fixtures.ts'
import { decodeForm } from './form.ts'
import { keyProblem, StripeJudge } from './stripe-judge.ts'
import { readSecondJudge } from './stripe-openapi.ts'
import { OPERATIONS, operationOf } from './stripe-operations.ts'

let judge: StripeJudge
beforeAll(async () => {
  judge = await StripeJudge.read()
})

/** Judges a call such as "POST /v1/refunds", and returns what it means and the sentences of what is wrong, each with its name. */
function judged(call: string, form: string): { body: object; problems: string[] } {
  const [method = '', path = ''] = call.split(' ')
  const found = operationOf(method, path)
  if (found === undefined) throw new Error(`no operation ${call}`)
  const { body, problems } = judge.judgeRequest(found.operation, form)
  return { body, problems: problems.map(({ param, code }) => `${param} ${code}`) }
}

const CREATE = 'POST /v1/payment_intents'
const CHARGE = 'amount=11500&currency=eur'

describe('a request', () => {
  test('is read as its schema reads it: integers are numbers, lists are lists, and metadata stays texts', () => {
    const form = `${CHARGE}&allowed_payment_method_types[0]=card&metadata[perennial]=9&description=Invoice+702%3A%20%26+more&confirm=true`
    expect(judged(CREATE, form)).toEqual({
      body: {
        ...{ amount: 11500, currency: 'eur', allowed_payment_method_types: ['card'], metadata: { perennial: '9' } },
        ...{ description: 'Invoice 702: & more', confirm: true },
      },
      problems: [],
    })
    expect(judged('GET /v1/events', 'types[0]=refund.failed&types[]=refund.updated&created[gte]=17').body).toEqual({
      types: ['refund.failed', 'refund.updated'],
      created: { gte: 17 },
    })
  })

  test.each([
    ['a name that is not declared', CREATE, `${CHARGE}&capture=true`, 'capture parameter_unknown'],
    [
      'a name inside that is not',
      CREATE,
      `${CHARGE}&shipping[name]=A&shipping[address][zip]=1`,
      'shipping[address][zip] parameter_unknown',
    ],
    ['a name that has to be there', CREATE, 'amount=11500', 'currency parameter_missing'],
    [
      'a word that is not declared, though new ones may come',
      CREATE,
      `${CHARGE}&setup_future_usage=sometimes`,
      'setup_future_usage parameter_invalid',
    ],
    ['an amount with decimals', CREATE, 'amount=115.00&currency=eur', 'amount parameter_invalid'],
    ['an amount with an exponent', CREATE, 'amount=1e3&currency=eur', 'amount parameter_invalid'],
    [
      'a list with a hole',
      CREATE,
      `${CHARGE}&allowed_payment_method_types[1]=card`,
      'allowed_payment_method_types parameter_invalid',
    ],
    [
      'the types of before',
      CREATE,
      `${CHARGE}&payment_method_types[0]=card`,
      'payment_method_types payment_method_types_no_longer_supported',
    ],
    [
      'a reason that is no word of refunds',
      'POST /v1/refunds',
      'payment_intent=pi_1&reason=wish',
      'reason parameter_invalid',
    ],
    ['a long description', CREATE, `${CHARGE}&description=${'a'.repeat(1001)}`, 'description parameter_invalid'],
    [
      'a long suffix',
      CREATE,
      `${CHARGE}&statement_descriptor_suffix=${'a'.repeat(23)}`,
      'statement_descriptor_suffix parameter_invalid',
    ],
    [
      'a long name in metadata',
      CREATE,
      `${CHARGE}&metadata[${'a'.repeat(41)}]=1`,
      `metadata[${'a'.repeat(41)}] parameter_invalid`,
    ],
    ['a long value in metadata', CREATE, `${CHARGE}&metadata[a]=${'a'.repeat(501)}`, 'metadata[a] parameter_invalid'],
    ['a field that cannot be expanded', CREATE, `${CHARGE}&expand[0]=currency`, 'expand parameter_invalid'],
    [
      'a field that is not there to be expanded',
      'GET /v1/refunds',
      'expand[0]=latest_charge',
      'expand parameter_invalid',
    ],
    ['a name in a query', 'GET /v1/events', 'after=evt_1', 'after parameter_unknown'],
    ['a name where there are none', 'DELETE /v1/customers/cus_1', 'reason=gone', 'reason parameter_unknown'],
    ['a body that no form is', CREATE, '{"amount":11500}', '{"amount":11500} parameter_unknown'],
    ['a name twice', CREATE, `${CHARGE}&amount=1`, ' parameter_invalid'],
  ])('with %s is refused, naming it', (_what, call, form, problem) => {
    expect(judged(call, form).problems).toContain(problem)
  })

  test('may be as long as it may be, and expand what can be', () => {
    const longest = `description=${'a'.repeat(1000)}&metadata[${'a'.repeat(40)}]=${'a'.repeat(500)}&statement_descriptor_suffix=${'a'.repeat(22)}`
    expect(
      judged(CREATE, `${CHARGE}&${longest}&expand[0]=latest_charge&expand[1]=latest_charge.balance_transaction`)
        .problems,
    ).toEqual([])
    expect(judged('GET /v1/disputes', 'expand[0]=data.charge').problems).toEqual([])
    expect(keyProblem('a'.repeat(255))).toEqual([])
    expect(keyProblem('a'.repeat(256))).toHaveLength(1)
  })

  test('is judged for each operation that is listed', () => {
    const unknown = OPERATIONS.map((operation) => judge.judgeRequest(operation, 'no_such_name=1').problems)
    for (const problems of unknown)
      expect(problems).toContainEqual(expect.objectContaining({ param: 'no_such_name', code: 'parameter_unknown' }))
  })

  test('costs a thousandth of a second', () => {
    const form = `${CHARGE}&customer=cus_1&payment_method=pm_1&allowed_payment_method_types[0]=card&metadata[perennial]=9`
    judged(CREATE, form)
    const { user, system } = process.cpuUsage()
    for (let count = 0; count < 1000; count++)
      expect(judged(CREATE, `${form}&description=${count}`).problems).toEqual([])
    const used = process.cpuUsage({ user, system })
    expect((used.user + used.system) / 1e6).toBeLessThan(1)
  })
})

describe('a form', () => {
  test.each([
    ['a[b=1', 'brackets do not match'],
    ['a]=1', 'brackets do not match'],
    ['a=1&a[b]=2', 'has a value of its own, too'],
    ['a[b]=1&a=2', 'is there twice'],
    ['a=b=c', 'writes = as %3D'],
    ['a=%', 'URI malformed'],
  ])('such as %s cannot be read', (form, sentence) => {
    expect(() => decodeForm(form)).toThrow(sentence)
  })

  test('holds names that mean something to JavaScript as any other', () => {
    expect(Object.keys(decodeForm('__proto__=1&constructor[prototype]=2'))).toEqual(['__proto__', 'constructor'])
  })
})

describe('an answer', () => {
  const refund = {
    ...{
      id: 're_1',
      object: 'refund',
      amount: 4000,
      balance_transaction: null,
      charge: 'ch_1',
      created: 17,
      currency: 'eur',
    },
    ...{ customer: null, customer_account: null, metadata: {}, payment_intent: 'pi_1', payment_method: 'pm_1' },
    ...{
      reason: null,
      receipt_number: null,
      source_transfer_reversal: null,
      status: 'succeeded',
      transfer_reversal: null,
    },
  }

  test('has all that is declared, in lists and events too, and nothing else', () => {
    expect(judge.judgeAnswer(refund)).toEqual([])
    const { status: _status, ...cut } = refund
    const list = { object: 'list', data: [refund, cut], has_more: false, url: '/v1/refunds' }
    expect(judge.judgeAnswer(list)).toEqual(['refund status: Missing required param: status.'])
    const event = { id: 'evt_1', object: 'event', api_version: null, created: 17, livemode: false, pending_webhooks: 0 }
    const written = { ...event, request: null, type: 'refund.failed', data: { object: { ...refund, amount: '40' } } }
    expect(judge.judgeAnswer(written)).toEqual(['refund amount: must be number'])
    expect(judge.judgeAnswer({ ...refund, fee: 1 })).toEqual(['refund fee: Received unknown parameter: fee'])
    expect(judge.judgeAnswer({ ...refund, object: 'payout' })).toHaveLength(1)
  })

  test('that holds an expanded object has that one whole', () => {
    expect(judge.judgeAnswer({ ...refund, charge: { id: 'ch_1', object: 'charge' } }).length).toBeGreaterThan(1)
  })
})

test('what the official client sends is read without a problem', async () => {
  const requests: { call: string; form: string }[] = []
  const server = createServer((request: IncomingMessage, response) => {
    void text(request).then((body) => {
      const { pathname, search } = new URL(request.url ?? '', 'http://127.0.0.1')
      requests.push({ call: `${request.method} ${pathname}`, form: request.method === 'POST' ? body : search.slice(1) })
      response.end(request.method === 'GET' ? '{"object":"list","data":[],"has_more":false,"url":"/"}' : '{"id":"x"}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  try {
    await callAll(new Stripe('sk_test_1', { host: '127.0.0.1', port, protocol: 'http', telemetry: false }))
  } finally {
    server.close()
  }
  expect(requests).toHaveLength(12)
  if (hasFixtures) expect(requests.flatMap(({ call, form }) => judgedSecond(call, form))).toEqual([])
  expect(requests.flatMap(({ call, form }) => judged(call, form).problems.map((one) => `${call}: ${one}`))).toEqual([])
})

const second = readSecondJudge()

function judgedSecond(call: string, form: string): string[] {
  const [method = '', path = ''] = call.split(' ')
  const { operation } = operationOf(method, path)!
  return second!(operation, judge.judgeRequest(operation, form).body)
}

test.skipIf(!hasFixtures)('the second judge knows how long texts may be (needs ../shared/fixtures)', () => {
  expect(judgedSecond(CREATE, `${CHARGE}&customer=${'a'.repeat(5001)}&allowed_payment_method_types[0]=card`)).toEqual([
    '/customer must NOT have more than 5000 characters',
  ])
  expect(judgedSecond(CREATE, 'amount=1&capture=1')).toEqual([
    "must have required property 'currency'",
    'must NOT have additional properties capture',
  ])
})

async function callAll(stripe: Stripe): Promise<void> {
  const charge = { amount: 11500, currency: 'eur', customer: 'cus_1', payment_method: 'pm_1' }
  const metadata = { perennial: 'scope/charge/9.Qm3kz0aXw1Yb' }
  await stripe.customers.create({ metadata, description: 'Customer 7, ünïcode & signs = +' })
  await stripe.setupIntents.create({ customer: 'cus_1', allowed_payment_method_types: ['card'], usage: 'off_session' })
  await stripe.setupIntents.retrieve('seti_1', { expand: ['payment_method'] })
  await stripe.paymentIntents.create({ ...charge, metadata, allowed_payment_method_types: ['card'] })
  await stripe.paymentIntents.confirm('pi_1', { off_session: true, expand: ['latest_charge'] })
  await stripe.paymentIntents.cancel('pi_1', { cancellation_reason: 'abandoned' })
  await stripe.refunds.create({ payment_intent: 'pi_1', amount: 4000, reason: 'requested_by_customer', metadata })
  await stripe.disputes.list({ payment_intent: 'pi_1', limit: 100 })
  await stripe.events.list({ types: ['refund.failed'], created: { gte: 17 }, ending_before: 'evt_1' })
  await stripe.webhookEndpoints.create({ url: 'https://example.com', enabled_events: ['refund.failed'], metadata })
  await stripe.customers.listPaymentMethods('cus_1', { limit: 1 })
  await stripe.customers.del('cus_1')
}

describe('a signature of webhooks', () => {
  test.skipIf(!hasFixtures)('is judged by the official client as by the vectors (needs ../shared/fixtures)', () => {
    const file = new URL('../../../shared/fixtures/gateways/stripe/webhook-vectors.json', import.meta.url)
    const { secret, payload, vectors } = JSON.parse(readFileSync(file, 'utf8')) as Vectors
    const isAccepted = (vector: Vectors['vectors'][number]) => {
      try {
        new Stripe('sk_test_1').webhooks.constructEvent(
          payload,
          vector['Stripe-Signature'],
          secret,
          300,
          undefined,
          vector.receivedAt * 1000,
        )
        return true
      } catch {
        return false
      }
    }
    expect(vectors.map(({ name, ...vector }) => [name, isAccepted({ name, ...vector })])).toEqual(
      vectors.map(({ name, accepted }) => [name, accepted]),
    )
  })
})

interface Vectors {
  secret: string
  payload: string
  vectors: { name: string; 'Stripe-Signature': string; receivedAt: number; accepted: boolean }[]
}
