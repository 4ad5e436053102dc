import { statement } from './bank-statement.ts'
import { asOwner, settle } from './measure/database.ts'
import { median, ratioOf, spread, tell, tellTable, tellVerdicts } from './measure/figures.ts'
import { drive, httpSend } from './measure/load.ts'
import { tellMachine } from './measure/machine.ts'
import { type Service, startService } from './measure/service.ts'
import { type FileFloor, floorOf } from './result-files-floor.ts'
import { SENT_BATCHES } from './seed-batches.ts'
import { CUSTOMERS, OPEN_INVOICES } from './seed-money.ts'

/**
 * Result files over HTTP: a statement of 10 MB whose entries match nothing and are listed, beside its bytes through the bare parser and its rows by one statement
 * a table; returns that are applied, beside payments of the same run that are recorded with an allocation; and hostile files that are refused.
 */

const CPU_MAX = 5
const MEMORY_MAX_MB = 100
const RETURN_OF_PAYMENT = 1.5
const HOSTILE_CPU_MAX = 0.1
const CALLERS = 8
const SAMPLE_EVERY_MS = 50
const ALIKE_OF_DIFFERENT = 1.3

const cpuOf = (service: Service): number => service.nodeCpu() + service.databaseCpu()

/** Sends a body, and returns the answer; fails on a status that is not expected. */
async function send(
  service: Service,
  path: string,
  type: string,
  body: string,
  expected: readonly number[],
): Promise<any> {
  const response = await fetch(`http://127.0.0.1:${service.port}${path}`, {
    method: 'POST',
    headers: { authorization: service.authorization, 'content-type': type },
    body,
  })
  const text = await response.text()
  if (!expected.includes(response.status)) throw new Error(`${path}: ${response.status} ${text.slice(0, 600)}`)
  return JSON.parse(text)
}

/** A statement of credits without references of the bank: all alike, or none like another. */
function credits(count: number, areAlike: boolean, times: number): string {
  const entries = Array.from(
    { length: count },
    (
      _,
      n,
    ) => `<Ntry><Amt Ccy="USD">1.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts>BOOK</Sts><BookgDt><Dt>2027-01-29</Dt></BookgDt>
      <NtryDtls><TxDtls><RmtInf><Ustrd>Transfer ${areAlike ? 1_000_000_000 : 1_000_000_000 + n} of ${times}</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>`,
  )
  return `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.02"><BkToCstmrStmt><GrpHdr><MsgId>A${times}</MsgId></GrpHdr><Stmt>
   <Acct><Id><IBAN>DE89370400440532013000</IBAN></Id></Acct>${entries.join('')}</Stmt></BkToCstmrStmt></Document>`
}

/** CPU-seconds of one write, and those of them in PostgreSQL. */
type CpuOfOne = Pick<Cost, 'cpu' | 'database'>

/** Returns CPU-seconds of a payment with an allocation, to open invoices of the second half of the customers. */
async function payCpu(service: Service, count: number, seconds: number): Promise<CpuOfOne> {
  await settle(service.connection)
  const [before, databaseBefore] = [cpuOf(service), service.databaseCpu()]
  const next = () => {
    const customerID = count + 1 + Math.floor(Math.random() * count)
    const Allocations = [{ invoiceID: customerID, amountApplied: 0.01 }]
    const rest = { Amount: 0.01, CurrencyCode: 'USD', Date: '2027-01-01', Method: 'eft', Allocations }
    return httpSend('POST', '/v1/payments', service.authorization, JSON.stringify({ customerID, ...rest }))
  }
  const { answers } = await drive({ port: service.port, callers: CALLERS, seconds, next, status: 201 })
  return {
    cpu: (cpuOf(service) - before) / answers,
    database: (service.databaseCpu() - databaseBefore) / answers,
  }
}

/** CPU-seconds of a request, those of them in PostgreSQL, and by how many MB the service's memory rose at most. */
interface Cost {
  cpu: number
  database: number
  risen: number
}

/** Measures what a request costs. */
async function cost(service: Service, request: () => Promise<unknown>): Promise<Cost> {
  await settle(service.connection)
  const memory = [service.memory()]
  const sampling = setInterval(() => memory.push(service.memory()), SAMPLE_EVERY_MS)
  const [before, databaseBefore] = [cpuOf(service), service.databaseCpu()]
  try {
    await request()
  } finally {
    clearInterval(sampling)
  }
  return {
    cpu: cpuOf(service) - before,
    database: service.databaseCpu() - databaseBefore,
    risen: Math.max(...memory) - (memory[0] ?? 0),
  }
}

const HOSTILE: Readonly<Record<string, string>> = {
  '200,000 nested elements': '<a>'.repeat(200_000),
  'an entity bomb': '<!DOCTYPE a [<!ENTITY b "bb"><!ENTITY c "&b;&b;">]><a>&c;</a>',
  'a text without an end': `<a>${'b'.repeat(4 * 1024 * 1024)}`,
}

async function measure(
  { entries, returns, alike }: { entries: number; returns: number; alike: number },
  times: number,
  isSmoke: boolean,
) {
  const service = await startService({ BOOTSTRAP_ACCOUNT_MODE: 'test' })
  try {
    await tellMachine(service.connection)
    const gateway = JSON.stringify({ GatewayType: 'manual' })
    const { gatewayID } = await send(service, '/v1/gateways', 'application/json', gateway, [201])
    const perTime = Math.ceil(returns / times)
    await asOwner(service.connection, async (client) => {
      await client.query(CUSTOMERS, [2 * returns + times])
      for (const statement of OPEN_INVOICES) await client.query(statement, [2 * returns + times])
      for (const statement of SENT_BATCHES) await client.query(statement, [perTime * times, gatewayID])
      await client.query('vacuum (analyze)')
    })
    const file = (body: string, status: number) =>
      send(service, `/v1/resultfiles?gatewayID=${gatewayID}`, 'application/xml', body, [status])
    const seconds = isSmoke ? 0.5 : 5
    await payCpu(service, returns, seconds)
    const read: Cost[] = []
    const floors: FileFloor[] = []
    const applied: CpuOfOne[] = []
    const payments: CpuOfOne[] = []
    for (let time = 0; time < times; time += 1) {
      const large = statement(time * entries + 1, (time + 1) * entries, false, time)
      tell(`a statement of ${(large.length / 1e6).toFixed(1)} MB`)
      let id = 0
      read.push(await cost(service, async () => ({ resultFileID: id } = await file(large, 201))))
      floors.push(await floorOf(service, large, id))
      payments.push(await payCpu(service, returns, seconds))
      const some = statement(time * perTime + 1, (time + 1) * perTime, true, time)
      const { cpu, database } = await cost(service, async () => {
        const { Applied } = await file(some, 201)
        if (Applied !== perTime) throw new Error(`${Applied} of ${perTime} returns were applied`)
      })
      applied.push({ cpu: cpu / perTime, database: database / perTime })
    }
    const ratios: number[] = []
    for (let time = 0; time < times; time += 1) {
      const different = await cost(service, () => file(credits(alike, false, time), 201))
      const same = await cost(service, () => file(credits(alike, true, time), 201))
      ratios.push(same.cpu / different.cpu)
    }
    const refused: number[] = []
    for (const body of Object.values(HOSTILE))
      for (let time = 0; time < times; time += 1) refused.push((await cost(service, () => file(body, 400))).cpu)
    return { read, floors, applied, payments, ratios, refused }
  } finally {
    await service.stop()
  }
}

export async function benchResultFiles({ times, isSmoke }: { times: number; isSmoke: boolean }): Promise<void> {
  const entries = isSmoke ? 300 : 15_000
  const sizes = { entries, returns: isSmoke ? 50 : 2_000, alike: isSmoke ? 600 : 80_000 }
  const { read, floors, applied, payments, ratios, refused } = await measure(sizes, times, isSmoke)
  const cpu = read.map((one) => one.cpu)
  const floor = floors.map(({ parser, rows }) => parser + rows)
  const risen = Math.max(...read.map((one) => one.risen))
  const micro = (some: readonly CpuOfOne[], of: keyof CpuOfOne, count = 1) =>
    spread(some.map((one) => (one[of] / count) * 1e6))
  tellTable(
    ['', 'CPU', 'of that PostgreSQL'],
    [
      [`a statement of ${entries} entries, s`, spread(cpu), spread(read.map(({ database }) => database))],
      ['an entry of it, µs', micro(read, 'cpu', entries), micro(read, 'database', entries)],
      ['its floor (bare parser, rows), s', spread(floor), spread(floors.map(({ rows }) => rows))],
      ['the statement of its floor', spread(ratioOf(cpu, floor)), ''],
      ['a return that is applied, µs', micro(applied, 'cpu'), micro(applied, 'database')],
      ['a payment with an allocation, µs', micro(payments, 'cpu'), micro(payments, 'database')],
      [`${sizes.alike} alike lines of as many that differ`, spread(ratios), ''],
      ['a hostile file that is refused, ms', spread(refused.map((one) => one * 1e3)), ''],
    ],
  )
  const ratio = median(applied.map((one) => one.cpu)) / median(payments.map((one) => one.cpu))
  tellVerdicts(
    [
      {
        goal: `a statement of ${entries} entries in under ${CPU_MAX} CPU-s`,
        reached: `${median(cpu).toFixed(2)} s`,
        isMet: median(cpu) < CPU_MAX,
      },
      {
        goal: `resident memory rises by at most ${MEMORY_MAX_MB} MB`,
        reached: `${risen.toFixed(0)} MB`,
        isMet: risen <= MEMORY_MAX_MB,
      },
      {
        goal: `a return applied at most ${RETURN_OF_PAYMENT} × a payment write`,
        reached: `${ratio.toFixed(2)} ×`,
        isMet: ratio <= RETURN_OF_PAYMENT,
      },
      {
        goal: `${sizes.alike} alike lines cost at most ${ALIKE_OF_DIFFERENT} × as many that differ`,
        reached: `${median(ratios).toFixed(2)} ×`,
        isMet: median(ratios) <= ALIKE_OF_DIFFERENT,
      },
      {
        goal: `a hostile file refused in under ${HOSTILE_CPU_MAX} CPU-s`,
        reached: `${(median(refused) * 1e3).toFixed(0)} ms`,
        isMet: median(refused) < HOSTILE_CPU_MAX,
      },
    ],
    { isSmoke },
  )
}
