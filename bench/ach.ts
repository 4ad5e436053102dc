import { AMOUNT_MAX, writeNacha } from '../src/rails/nacha/write.ts'
import { answerFile } from '../src/rails/nacha/answers.ts'
import { traceOf } from '../src/rails/nacha/layout.ts'
import { readNacha } from '../src/rails/nacha/read.ts'
import { asOwner, settle } from './measure/database.ts'
import { median, ratioOf, spread, tell, tellTable, tellVerdicts } from './measure/figures.ts'
import { tellMachine } from './measure/machine.ts'
import { startService } from './measure/service.ts'
import { SENT_BATCHES } from './seed-batches.ts'
import { CUSTOMERS, OPEN_INVOICES } from './seed-money.ts'
import { benchBuilding, type DebitFiles } from './sepa.ts'

/**
 * NACHA files: a batch of 500 lines until its file is built, checked, sealed and stored, and a file of 10,000 returns that is read, matched and applied,
 * beside the same bytes through the reader alone.
 */

const RETURNS = 10_000
const CPU_MAX = 5
const MEMORY_MAX_MB = 100
const SAMPLE_EVERY_MS = 50

/** The routing numbers check, and belong to no bank. */
const ODFI = '123456780'
const PAYERS = '012345672'
const COMPANY = { name: 'Bench', id: '1234567890', bank: 'A Bank', routing: ODFI }
const GATEWAY = {
  GatewayType: 'ach-file',
  isPrimary: true,
  Settings: { CompanyName: COMPANY.name, CompanyID: COMPANY.id, OdfiRouting: ODFI, DestinationName: COMPANY.bank },
}

const ACH: DebitFiles = {
  gateway: GATEWAY,
  currency: 'USD',
  calendar: 'fed',
  account: (index) => ({
    Method: 'ach',
    AccountType: 'Checking',
    AccountHolder: `Zoë Müller & Söhne ${index}`,
    Bank: 'A bank',
    AccountNumber: String(10_000_000 + index),
    RoutingNumber: PAYERS,
    MandateDate: '2026-01-01',
  }),
  write: (lines) =>
    writeNacha({
      destination: { routing: ODFI, name: COMPANY.bank },
      origin: { id: COMPANY.id, name: COMPANY.name },
      company: COMPANY,
      odfi: ODFI,
      writtenOn: '2027-01-04',
      writtenAt: '13:59',
      fileOfDay: 0,
      actionDate: '2027-01-05',
      batchId: 42n,
      offset: null,
      batches: [
        {
          entryClass: 'PPD',
          description: 'SUBSCRIPTN',
          debits: Array.from({ length: lines }, (_, index) => ({
            isSavings: false,
            routing: PAYERS,
            account: String(10_000_000 + index),
            amountMinor: (BigInt(index) * 100n + 115n) % AMOUNT_MAX,
            reference: `P1-${index}`,
            accountHolder: `Zoë Müller & Söhne ${index}`,
            frequency: null,
            trace: traceOf(ODFI, 42n, (index % 999) + 1),
          })),
        },
      ],
    }),
}

/** Batches of so many lines of 1.00 that were sent, with the traces of their lines. */
const TRACES = `
  update batch_lines set sent_trace = $1 || lpad((payment_id % 10000000)::text, 7, '0') where account_id = 1 and payment_id <= $2::int`

/** Reads a file of returns that are all applied, in turns with its bytes through the reader alone. */
async function measureReturns(returns: number, times: number) {
  const service = await startService({ BOOTSTRAP_ACCOUNT_MODE: 'test', LOG_LEVEL: 'error' })
  const send = async (path: string, type: string, body: string): Promise<any> => {
    const headers = { authorization: service.authorization, 'content-type': type }
    const response = await fetch(`http://127.0.0.1:${service.port}${path}`, { method: 'POST', headers, body })
    const text = await response.text()
    if (response.status !== 201) throw new Error(`${path}: ${response.status} ${text.slice(0, 600)}`)
    return JSON.parse(text)
  }
  const [read, floor, risen]: [number[], number[], number[]] = [[], [], []]
  try {
    await tellMachine(service.connection)
    const { gatewayID } = await send('/v1/gateways', 'application/json', JSON.stringify(GATEWAY))
    const all = returns * times
    await asOwner(service.connection, async (client) => {
      await client.query(CUSTOMERS, [all])
      for (const statement of OPEN_INVOICES) await client.query(statement, [all])
      for (const statement of SENT_BATCHES) await client.query(statement, [all, gatewayID])
      await client.query(TRACES, [ODFI.slice(0, 8), all])
      await client.query('vacuum (analyze)')
    })
    for (let time = 0; time < times; time += 1) {
      const file = answerFile(
        Array.from({ length: returns }, (_, index) => {
          const id = time * returns + index + 1
          const trace = ODFI.slice(0, 8) + String(id % 10_000_000).padStart(7, '0')
          const ownTrace = PAYERS.slice(0, 8) + String(id % 10_000_000).padStart(7, '0')
          return { trace, ownTrace, code: 'R01', amountMinor: 100n, reference: `P1-${id}`, text: 'INSUFFICIENT FUNDS' }
        }),
        { company: COMPANY, answering: PAYERS, day: '2027-01-26' },
      )
      await settle(service.connection)
      const cpu = () => service.nodeCpu() + service.databaseCpu()
      const memory = [service.memory()]
      const sampling = setInterval(() => memory.push(service.memory()), SAMPLE_EVERY_MS)
      const before = cpu()
      const { Applied } = await send(`/v1/resultfiles?gatewayID=${gatewayID}`, 'text/plain', file)
      clearInterval(sampling)
      if (Applied !== returns) throw new Error(`${Applied} of ${returns} returns were applied`)
      read.push(cpu() - before)
      risen.push(Math.max(...memory) - (memory[0] ?? 0))
      const own = process.cpuUsage()
      readNacha(Buffer.from(file, 'latin1'))
      const { user, system } = process.cpuUsage(own)
      floor.push((user + system) / 1e6)
    }
    return { read, floor, risen }
  } finally {
    await service.stop()
  }
}

export async function benchAch({ times, isSmoke }: { times: number; isSmoke: boolean }): Promise<void> {
  await benchBuilding(ACH, 'NACHA file', { times, isSmoke })
  const returns = isSmoke ? 50 : RETURNS
  const { read, floor, risen } = await measureReturns(returns, Math.min(times, 3))
  tellTable(
    [`CPU of a file of ${returns} returns, s`, ''],
    [
      ['read, matched, applied', spread(read)],
      ['floor: its bytes through the reader alone', spread(floor)],
    ],
  )
  tell(`a file costs ${spread(ratioOf(read, floor))} of the floor`)
  const cpu = median(read)
  const most = Math.max(...risen)
  tellVerdicts(
    [
      {
        goal: `${RETURNS} returns read and matched in at most ${CPU_MAX} CPU-s`,
        reached: `${cpu.toFixed(2)} s`,
        isMet: cpu <= CPU_MAX,
      },
      {
        goal: `resident memory rises by at most ${MEMORY_MAX_MB} MB`,
        reached: `${most.toFixed(0)} MB`,
        isMet: most <= MEMORY_MAX_MB,
      },
    ],
    { isSmoke },
  )
}
