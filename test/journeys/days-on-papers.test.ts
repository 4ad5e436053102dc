import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addComponent } from '../../src/features/subscriptions/components.testing.ts'
import { addDays } from '../../src/kernel/calendar.ts'
import { startTestService, type TestClient } from '../support/app.ts'
import { hasPoppler, textOfPdf } from '../support/poppler.ts'
import { addCustomer, addPackage, addTax, day, moveTo } from '../support/shop.ts'
import { demo } from './demo.testing.ts'

/** Papers, pages and mails have no day as machines write it, whatever happened and in whatever language they are. */

const service = await startTestService()

const MACHINE_DAY = /.*\b\d{4}-\d\d-\d\d.*/g

async function allOf(client: TestClient, path: string): Promise<any[]> {
  const found: any[] = []
  for (let page = 1; ; page += 1) {
    const { body } = await client.get(`${path}?page=${page}&page_size=200`)
    found.push(...body)
    if (body.length < 200) return found
  }
}

async function paper({ id, secret }: TestClient, url: string): Promise<string> {
  const authorization = `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
  const { statusCode, rawPayload } = await service.app.server.inject({ url, headers: { authorization } })
  expect([url, statusCode]).toEqual([url, 200])
  return textOfPdf(rawPayload, true)
}

/** Returns what a reader sees of a page or a mail: no tags, and no addresses of links. */
const seen = (html: string): string => html.replaceAll(/<(style|script)\b[^]*?<\/\1>|<[^>]*>/g, ' ')

/** Returns every text that customers of an account were or can be shown, by where it stands. */
async function textsOf(client: TestClient): Promise<Map<string, string>> {
  const texts = new Map<string, string>()
  for (const { invoiceID, isDraft } of await allOf(client, '/v1/invoices')) {
    texts.set(`invoice ${invoiceID}`, await paper(client, `/v1/invoices/${invoiceID}/pdf`))
    const { body } = isDraft ? { body: null } : await client.get(`/v1/invoices/${invoiceID}/link`)
    if (!body?.Url) continue
    const { payload } = await service.app.server.inject(new URL(body.Url, 'http://localhost').pathname)
    texts.set(`page of invoice ${invoiceID}`, seen(payload))
  }
  for (const { creditNoteID } of await allOf(client, '/v1/credits'))
    texts.set(`credit note ${creditNoteID}`, await paper(client, `/v1/credits/${creditNoteID}/pdf`))
  for (const { customerID, CreatedDate } of await allOf(client, '/v1/customers')) {
    const path = `/v1/customers/${customerID}/statement?format=pdf&from=${day(CreatedDate)}`
    texts.set(`statement of ${customerID}`, await paper(client, path))
  }
  for (const { outboxID, Subject, Text, Html } of await allOf(client, '/v1/outbox'))
    texts.set(`mail ${outboxID}`, [Subject, Text, seen(Html ?? '')].join('\n'))
  return texts
}

/** Returns the lines with days as machines write them; no caller wrote any. */
const machineDays = (texts: ReadonlyMap<string, string>): string[] =>
  [...texts].flatMap(([where, text]) => [...text.matchAll(MACHINE_DAY)].map(([line]) => `${where}: ${line.trim()}`))

const START = '2027-01-31'
const n = fc.integer({ min: 1, max: 45 })
const KINDS = [
  ...['wait', 'wait', 'wait', 'wait', 'use', 'late', 'seats', 'packageNow', 'end', 'prorata', 'reactivate'],
  ...['pay', 'line', 'amount', 'note', 'writeOff', 'skip', 'suspend', 'unsuspend'],
] as const
const acts = fc.array(fc.record({ kind: fc.constantFrom(...KINDS), n }), { minLength: 12, maxLength: 24 })

interface Living {
  client: TestClient
  customerID: number
  path: string
  packageID: number
  steps: number
  calls: number
  today: string
}

async function begin(Locale: string, isProRata: boolean): Promise<Living> {
  const client = await service.newAccount({ clockAt: `${START}T08:00:00.000Z` })
  await client.put('/v1/account', { Country: 'South Africa', Email: 'us@example.com' })
  await addTax(client, 'VAT', { Perc: 0.15 })
  const [first, other] = [
    await addPackage(client, { setupFee: 5, trialFee: 3, trialPeriod: 10 }),
    await addPackage(client),
  ]
  const steps = (
    await addComponent(client, {
      scheme: 'stairstep',
      brackets: [
        [20, 5],
        [40, 20],
        [60, null],
      ],
    })
  ).componentID
  const calls = (
    await addComponent(client, {
      type: 'metered',
      scheme: 'tiered',
      brackets: [
        [0, 10],
        [0.5, null],
      ],
    })
  ).componentID
  const customerID = await addCustomer(client, { Email: 'ada@example.com', Locale, autoSendStatement: true })
  const componentUsage = [{ componentID: steps, NumUnits: 3 }, { componentID: calls }]
  const body = { customerID, packageID: first.packageID, isProRata, componentUsage }
  const added = await client.post('/v1/subscriptions', body)
  expect(added.text).toContain('subscriptionID')
  const path = `/v1/subscriptions/${added.body.subscriptionID}`
  return { client, customerID, path, packageID: other.packageID, steps, calls, today: START }
}

/** Does one act; what is refused changes nothing. */
async function perform(it: Living, { kind, n: much }: { kind: string; n: number }): Promise<void> {
  const { client, customerID, path, today } = it
  const invoices = await allOf(client, '/v1/invoices')
  const invoice = invoices[much % Math.max(1, invoices.length)]
  const money = { customerID, CurrencyCode: 'USD', Date: today, Amount: much }
  const toInvoice = [{ invoiceID: invoice?.invoiceID, amountApplied: much }]
  const done: Record<string, () => Promise<{ status: number }>> = {
    use: () => client.put(`${path}/components/recordusage`, { componentID: it.calls, NumUnits: much }),
    late: () =>
      client.put(`${path}/components/recordusage`, {
        componentID: it.calls,
        NumUnits: much,
        Date: `${addDays(today, -much)}T12:00:00Z`,
      }),
    seats: () =>
      client.put(`${path}/components/modify`, {
        componentUsage: [{ componentID: it.steps, NumUnits: much }, { componentID: it.calls }],
        ...(much % 2 === 0 ? { When: 'now' } : {}),
      }),
    packageNow: () => client.put(`${path}/changepackage`, { packageID: it.packageID, When: 'now' }),
    end: () => client.put(`${path}/changeenddate`, { EndDate: much % 3 === 0 ? null : addDays(today, much) }),
    prorata: () => client.put(`${path}/cancel/prorata`),
    reactivate: () => client.put(`${path}/reactivate`, {}),
    pay: () => client.post('/v1/payments', { ...money, Method: 'eft', sendReceipt: true, AutoApply: true }),
    line: () =>
      client.post(`/v1/invoices/${invoice?.invoiceID}/credit`, {
        Reason: 'Late',
        Lines: [{ chargeID: invoice?.Charges[0].chargeID, AmountEx: 1 }],
      }),
    amount: () =>
      client.post(`/v1/invoices/${invoice?.invoiceID}/credit`, { Reason: 'Late', Amount: 2, isFreePayments: true }),
    note: () =>
      client.post('/v1/credits', {
        ...money,
        CreditNumber: `K-${today}-${much}`.replaceAll('-', ''),
        allocations: toInvoice,
      }),
    writeOff: () =>
      client.post('/v1/adjustment/add', {
        ...{ customerID, Type: 'negative', AdjustmentType: 'bad_debt', Ref: 'lost', Date: today, Amount: 1 },
        LinkedAllocations: [{ objectID: invoice?.invoiceID, AmtAllocated: 1, isAdjustment: false }],
      }),
    skip: () => client.post(`${path}/skip`, { Until: today, Reason: 'Goodwill' }),
    suspend: () => client.put(`/v1/customers/${customerID}/suspend`),
    unsuspend: () => client.put(`/v1/customers/${customerID}/unsuspend`),
  }
  if (kind === 'wait') await moveTo(client, (it.today = addDays(today, much)))
  else expect((await done[kind]!()).status).toBeLessThan(500)
}

describe.skipIf(!hasPoppler)('no day as machines write it (needs poppler-utils)', () => {
  test('is on the papers, pages and mails of the demo', async () => {
    const { account } = await demo(service, '2027-11-21', { seed: 1, customers: 7 })
    const texts = await textsOf(account)
    expect(machineDays(texts)).toEqual([])
    const kinds = [...texts.keys()].map((where) => where.replace(/ \d+$/, ''))
    for (const kind of ['invoice', 'page of invoice', 'credit note', 'statement of', 'mail'])
      expect([kind, kinds.filter((one) => one === kind).length > 0]).toEqual([kind, true])
  })

  test.each(['en', 'de', 'fr'])('is on those of random histories in %s', async (locale) => {
    const history = fc.asyncProperty(fc.boolean(), acts, async (isProRata, steps) => {
      const it = await begin(locale, isProRata)
      for (const step of steps) await perform(it, step)
      await moveTo(it.client, addDays(it.today, 40))
      for (const { creditNoteID } of await allOf(it.client, '/v1/credits'))
        await it.client.put(`/v1/credits/${creditNoteID}/send`)
      expect(machineDays(await textsOf(it.client))).toEqual([])
    })
    await fc.assert(history, { numRuns: 2, endOnFailure: true })
  })
})
