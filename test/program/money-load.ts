import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { openMoneyBooks } from '../support/money-books.ts'
import type { Connection } from '../../src/platform/database/database.ts'

/**
 * A service that is killed in the middle of mixed money load, again and again. Each record says what state it may be in: the one last
 * acknowledged, or the one that was asked for when the service died. Knows no test runner: a test and a bench use it.
 */

/** A started service of the same data folder. */
export interface Killable {
  address: string
  kill(): void
  ended: Promise<unknown>
}

export interface KillOptions {
  times: number
  start(): Promise<Killable>
  /** Of the account, for the Authorization header. */
  authorization(): string
  account(): bigint
  connection: Connection
  /** Runs `perennial verify`; throws what it found. */
  verify(): Promise<void>
  told?(line: string): void
}

const WRITERS = 8
const CUSTOMERS = 3
const DAY = '2027-01-01'
const ABSENT = 'absent'

type Send = (method: string, path: string, body?: object) => Promise<{ status: number; body: any }>

interface MoneyRecord {
  ref: string
  kind: 'invoice' | 'payment' | 'credit' | 'refund'
  customerID: number
  id: number | null
  /** States in which it may be found, the newest acknowledged first. */
  states: string[]
}

interface Load {
  send: Send
  customers: number[]
  records: MoneyRecord[]
  acknowledged: number
}

const senderTo =
  (address: string, authorization: string): Send =>
  async (method, path, body) => {
    const response = await fetch(address + path, {
      method,
      headers: { authorization, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    const text = await response.text()
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
  }

const stateOf = (amount: number, memo: string | null): string => `${amount} ${memo}`

const FOLDERS = { payment: '/v1/payments', credit: '/v1/credits', invoice: '/v1/invoices' } as const

function bodyOf({ kind, customerID, ref }: MoneyRecord, Amount: number, Memo: string): object {
  const common = { customerID, Amount, Date: DAY, Memo }
  if (kind === 'payment') return { ...common, CurrencyCode: 'USD', Method: 'eft', Ref: ref, AutoApply: true }
  if (kind === 'credit') return { ...common, CurrencyCode: 'USD', CreditNumber: ref, AutoApply: true }
  if (kind === 'refund') return { ...common, Type: 'positive', AdjustmentType: 'refund', DueDate: DAY, Ref: ref }
  return { customerID, Reference: ref, Charges: [{ UnitCostEx: Amount }], Notes: Memo }
}

/** Sends a request that brings a record into a state; until it is acknowledged the record may be in that or in the one before. */
async function ask(load: Load, record: MoneyRecord, wanted: string, request: () => ReturnType<Send>): Promise<void> {
  const before = record.states
  record.states = [...before, wanted]
  const { status, body } = await request()
  assert.ok([201, 204, 409].includes(status), `${record.kind} ${record.ref}: ${status} ${JSON.stringify(body)}`)
  record.states = status === 409 ? before : [wanted]
  record.id ??= body?.paymentID ?? body?.creditNoteID ?? body?.invoiceID ?? body?.AdjustmentID ?? null
  load.acknowledged += 1
}

function add(load: Load, kind: MoneyRecord['kind'], ref: string, n: number): Promise<void> {
  const customerID = load.customers[n % CUSTOMERS] as number
  const record: MoneyRecord = { ref, kind, customerID, id: null, states: [ABSENT] }
  load.records.push(record)
  const amount = kind === 'invoice' ? 40 : 5 + (n % 37)
  const path = kind === 'refund' ? '/v1/adjustment/add' : FOLDERS[kind]
  return ask(load, record, stateOf(amount, 'made'), () => load.send('POST', path, bodyOf(record, amount, 'made')))
}

/** Writes, as one of several writers, records of its own whose money meets everybody else's on the same invoices. */
async function write(load: Load, name: string, isOver: () => boolean): Promise<void> {
  const mine: MoneyRecord[] = []
  for (let n = 0; !isOver(); n += 1) {
    const ref = `${name}-${n}`
    const kind = (['invoice', 'payment', 'credit', 'edit', 'payment', 'edit', 'refund', 'remove'] as const)[n % 8]!
    if (kind !== 'edit' && kind !== 'remove') {
      await add(load, kind, ref, n)
      const record = load.records.find((one) => one.ref === ref)
      if (record && kind !== 'refund') mine.push(record)
      continue
    }
    const record = mine[(n * 5) % mine.length]
    if (!record || record.id === null || record.states.includes(ABSENT) || record.kind === 'refund') continue
    const path = `${FOLDERS[record.kind]}/${record.id}`
    if (kind === 'edit' && record.kind !== 'invoice') {
      const amount = 3 + (n % 50)
      await ask(load, record, stateOf(amount, ref), () => load.send('PUT', path, bodyOf(record, amount, ref)))
    } else if (record.kind === 'invoice') await ask(load, record, 'cancelled', () => load.send('DELETE', path))
    else await ask(load, record, ABSENT, () => load.send('DELETE', path))
  }
}

async function all(send: Send, path: string, pick: (body: any) => any[]): Promise<any[]> {
  const found: any[] = []
  for (let page = 1; ; page += 1) {
    const { status, body } = await send('GET', `${path}${path.includes('?') ? '&' : '?'}page=${page}&page_size=200`)
    assert.equal(status, 200)
    const rows = pick(body)
    found.push(...rows)
    if (rows.length < 200) return found
  }
}

const plain = (body: any): any[] => body

/** Returns the records that the service has, by the names that the writers gave them. */
async function found(send: Send): Promise<Map<string, string>> {
  const states = new Map<string, string>()
  for (const one of await all(send, '/v1/payments', plain)) states.set(one.Ref, stateOf(one.Amount, one.Memo))
  for (const one of await all(send, '/v1/credits', plain)) states.set(one.CreditNumber, stateOf(one.Amount, one.Memo))
  for (const one of await all(send, '/v1/adjustment/list?type=positive', ({ adjustments }) => adjustments))
    states.set(one.Ref, stateOf(one.Amount, one.Memo))
  for (const one of await all(send, '/v1/invoices', plain))
    states.set(one.Reference, one.isCancelled ? 'cancelled' : stateOf(one.Charges[0].UnitCostEx, one.Notes))
  return states
}

async function checkRecords(load: Load): Promise<void> {
  const states = await found(load.send)
  const known = new Set(load.records.map(({ ref }) => ref))
  assert.deepEqual(
    [...states.keys()].filter((ref) => !known.has(ref)),
    [],
    'nothing that nobody asked for',
  )
  for (const record of load.records) {
    const state = states.get(record.ref) ?? ABSENT
    assert.ok(
      record.states.includes(state),
      `${record.kind} ${record.ref} is ${state}, may be ${record.states.join(' or ')}`,
    )
    record.states = [state]
  }
}

async function checkNumbers(send: Send): Promise<void> {
  const numbers = (await all(send, '/v1/invoices', plain)).map(({ invoiceNum }) => invoiceNum)
  assert.deepEqual(
    numbers.toSorted((a, b) => a - b),
    numbers.map((_, index) => index + 1),
    'numbers are without gaps',
  )
}

async function openShop(send: Send): Promise<number[]> {
  await send('POST', '/v1/tax', { Name: 'VAT', rules: [{ Perc: 0.15 }] })
  const customers: number[] = []
  for (let n = 0; n < CUSTOMERS; n += 1) {
    const { status, body } = await send('POST', '/v1/customers', {
      Name: `Customer ${n}`,
      isCompany: true,
      CurrencyCode: 'USD',
    })
    assert.equal(status, 201, JSON.stringify(body))
    customers.push(body.customerID)
  }
  return customers
}

/** Loads the service until so much is acknowledged, then kills it among the requests that are under way. */
async function loadAndKill(load: Load, service: Killable, turn: number, acknowledgements: number): Promise<void> {
  let isKilled = false
  const writers = Array.from({ length: WRITERS }, async (_, writer) => {
    try {
      await write(load, `t${turn}w${writer}`, () => isKilled)
    } catch (error) {
      // Whoever was under way hears nothing of what became of it.
      if (!isKilled || error instanceof assert.AssertionError) throw error
    }
  })
  const goal = load.acknowledged + acknowledgements
  const killing = (async () => {
    while (load.acknowledged < goal) await Promise.race([delay(1), Promise.all(writers)])
    isKilled = true
    service.kill()
  })()
  await Promise.all([...writers, killing])
  await service.ended
}

/** Kills the service so many times among money load. Throws what was lost, halved, or does not add up. */
export async function killInMoneyLoad(options: KillOptions): Promise<{ acknowledged: number }> {
  let service = await options.start()
  const send = senderTo(service.address, options.authorization())
  const load: Load = { send, customers: await openShop(send), records: [], acknowledged: 0 }
  for (let turn = 0; turn < options.times; turn += 1) {
    await loadAndKill(load, service, turn, 40 + ((turn * 29) % 60))
    service = await options.start()
    load.send = senderTo(service.address, options.authorization())
    await checkRecords(load)
    await checkNumbers(load.send)
    const books = await openMoneyBooks(options.connection)
    assert.deepEqual(await books.differences(options.account(), false), [])
    await books.close()
    await options.verify()
    options.told?.(
      `killed ${turn + 1} of ${options.times}, ${load.acknowledged} changes acknowledged so far, all there`,
    )
  }
  service.kill()
  await service.ended
  return { acknowledged: load.acknowledged }
}
