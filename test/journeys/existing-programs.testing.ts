import type { TestClient } from '../support/app.ts'
import { addPackage } from '../support/shop.ts'

/** Calls of a program from before credit notes were documents: notes created, allocated, moved, edited, deleted, read and sent back by both doors. */

/** Answer of a call, with identifiers by the order in which they came. */
export interface Answered {
  call: string
  status: number
  codes?: string[]
  body?: unknown
}

/** Names identifiers of a kind by the order in which they come, since those of two databases differ. */
function namer() {
  const names = new Map<string, Map<number, number>>()
  const named = (value: unknown, key: string): unknown => {
    if (Array.isArray(value)) return value.map((one) => named(one, key))
    if (value !== null && typeof value === 'object')
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, named(one, name)]))
    if (typeof value !== 'number' || value === 0 || !key.endsWith('ID')) return value
    const known = names.get(key) ?? new Map<number, number>()
    names.set(key, known)
    if (!known.has(value)) known.set(value, known.size + 1)
    return known.get(value)
  }
  return (value: unknown): unknown => named(value, '')
}

type Method = 'get' | 'post' | 'put' | 'delete'

/** Makes the calls and returns what each was answered. */
export async function playExistingProgram(client: TestClient): Promise<Answered[]> {
  const answers: Answered[] = []
  const name = namer()
  const ask = async (method: Method, path: string, sent?: object): Promise<any> => {
    const { status, body } = await client[method](path, sent as object)
    const call = `${method} ${path.replaceAll(/(?<=[/=])\d+/g, '#')}`
    if (status >= 400) answers.push({ call, status, codes: body.Errors.map(({ Code }: any) => Code) })
    else answers.push({ call, status, ...(status === 204 ? {} : { body: name(body) }) })
    return body
  }
  const shop = await setUp(client, ask)
  await byCredits(shop)
  await byAdjustments(shop)
  await ofService(shop)
  return answers
}

type Ask = (method: Method, path: string, sent?: object) => Promise<any>
interface Shop {
  client: TestClient
  ask: Ask
  customerID: number
  /** Open, of 183.27 each. */
  invoices: number[]
}

async function setUp(client: TestClient, ask: Ask): Promise<Shop> {
  await client.post('/v1/tax', { Name: 'VAT', rules: [{ Perc: 0.23 }] })
  const { customerID } = await ask('post', '/v1/customers', { Name: 'Acme', isCompany: true, Email: 'a@example.test' })
  const invoices: number[] = []
  for (let n = 0; n < 4; n += 1) {
    const { invoiceID } = await ask('post', '/v1/invoices', { customerID, Charges: [{ UnitCostEx: 149 }] })
    invoices.push(invoiceID)
  }
  return { client, ask, customerID, invoices }
}

const to = (invoiceID: number, amountApplied: number) => ({ invoiceID, amountApplied })

async function byCredits({ ask, customerID, invoices }: Shop): Promise<void> {
  const [a, b, c] = invoices as [number, number, number]
  const Date = '2027-01-01'
  const body = { customerID, CurrencyCode: 'USD', Date, Amount: 100, CreditNumber: 'K-1', Memo: 'ours' }
  const { creditNoteID } = await ask('post', '/v1/credits', { ...body, Allocations: [to(a, 60)] })
  const path = `/v1/credits/${creditNoteID}`
  const seen = async () => {
    const note = await ask('get', path)
    for (const id of [a, b]) await ask('get', `/v1/invoices/${id}`)
    await ask('get', `/v1/customers/${customerID}/balances`)
    return note
  }
  await ask('put', path, await seen())
  const [first] = (await seen()).Allocations
  await ask('put', path, { ...body, Allocations: [{ allocationID: first.allocationID, ...to(b, 60) }] })
  await ask('put', path, { ...body, Allocations: [to(a, 40), to(b, 60)] })
  await ask('put', path, await seen())
  await ask('put', path, { ...body, Amount: 50, Allocations: [to(a, 60)] })
  await ask('put', path, { ...body, Amount: 50, Memo: 'less', Allocations: [] })
  await seen()
  await ask('put', path, { ...body, Amount: 120, Date: '2027-01-02', CreditNumber: 'K-2', AutoApply: true })
  await seen()
  await ask('post', '/v1/credits', { ...body, CreditNumber: 'k-2', Allocations: [] })
  await ask('post', '/v1/credits', { ...body, CreditNumber: 'K-3', Allocations: [to(999_999, 1)] })
  await ask('post', '/v1/credits', { ...body, CreditNumber: 'K-3', Allocations: [to(c, 101)] })
  await ask('delete', `/v1/invoices/${a}`)
  const other = await ask('post', '/v1/credits', { ...body, Amount: 30, CreditNumber: 'K-4', Allocations: [to(c, 30)] })
  await ask('put', `/v1/credits/${other.creditNoteID}`, { ...other, Allocations: [] })
  await ask('delete', `/v1/invoices/${c}`)
  await ask('get', `/v1/credits/${other.creditNoteID}`)
  await ask('delete', `/v1/credits/${other.creditNoteID}`)
  await ask('get', `/v1/credits/${other.creditNoteID}`)
  await ask('get', '/v1/credits?status=partial')
  await ask('get', `/v1/customers/${customerID}/credits`)
}

async function byAdjustments({ ask, customerID, invoices }: Shop): Promise<void> {
  const [, b, , d] = invoices as [number, number, number, number]
  const common = { customerID, Type: 'negative', Date: '2027-01-01', Amount: 20, Ref: 'N-1' }
  const applied = [{ objectID: d, AmtAllocated: 20 }]
  const note = { ...common, AdjustmentType: 'credit_note' }
  const { AdjustmentID } = await ask('post', '/v1/adjustment/add', { ...note, Allocations: applied })
  const query = `type=negative&adjustmentID=${AdjustmentID}&customerID=${customerID}`
  const seen = () => ask('get', `/v1/adjustment/get?${query}`)
  const { adjustment } = await seen()
  await ask('put', '/v1/adjustment/edit', {
    ...adjustment,
    ...note,
    AdjustmentID,
    LinkedAllocations: adjustment.allocations,
  })
  await ask('put', '/v1/adjustment/edit', {
    ...note,
    AdjustmentID,
    LinkedAllocations: [{ objectID: b, AmtAllocated: 5 }],
  })
  await seen()
  await ask('put', '/v1/adjustment/edit', { ...note, AdjustmentID, Amount: 3, LinkedAllocations: [] })
  await seen()
  const debt = { ...common, AdjustmentType: 'bad_debt', Ref: 'B-1', Allocations: applied }
  const bad = await ask('post', '/v1/adjustment/add', debt)
  await ask('get', `/v1/adjustment/get?type=negative&adjustmentID=${bad.AdjustmentID}&customerID=${customerID}`)
  await ask('get', `/v1/adjustment/list?type=all&customerID=${customerID}`)
  await ask('get', `/v1/invoices/${d}`)
  await ask('delete', `/v1/adjustment/delete?${query}`)
  await ask('get', `/v1/adjustment/get?${query}`)
  await ask('get', `/v1/customers/${customerID}`)
}

/** A note that the service makes, read, allocated otherwise, edited in vain, mailed and deleted. */
async function ofService({ client, ask, customerID }: Shop): Promise<void> {
  const { packageID } = await addPackage(client, { price: 31 })
  const { subscriptionID } = await ask('post', '/v1/subscriptions', { customerID, packageID })
  await client.put('/v1/clock', { Now: '2027-01-16T12:00:00Z' })
  await ask('put', `/v1/subscriptions/${subscriptionID}/cancel/prorata`)
  const notes = await ask('get', '/v1/credits')
  const note = notes.at(-1)
  const path = `/v1/credits/${note.creditNoteID}`
  await ask('put', path, note)
  await ask('put', path, { ...note, Amount: 1 })
  await ask('put', path, { ...note, Memo: 'theirs', Allocations: [] })
  await ask('get', path)
  await ask('put', `${path}/send`)
  await ask('put', path, { ...(await ask('get', path)), Allocations: [] })
  await ask('get', '/v1/invoices')
}
