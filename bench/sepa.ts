import { createCipheriv, randomBytes } from 'node:crypto'
import type pg from 'pg'
import { addBankDays, type BankCalendar } from '../src/kernel/bank-days.ts'
import { isIban } from '../src/kernel/bank-numbers.ts'
import { writePain008 } from '../src/rails/sepa/pain008.ts'
import { SAMPLE } from '../src/rails/sepa/pain008.testing.ts'
import { asOwner, settle } from './measure/database.ts'
import { isNoisy, median, ratioOf, spread, tell, tellTable, tellVerdicts } from './measure/figures.ts'
import { tellMachine } from './measure/machine.ts'
import { type Service, startService } from './measure/service.ts'
import { call, newCaller } from './neighbours.ts'
import type { Caller } from './subject/hostile.ts'

/**
 * A batch of 500 lines from its submission until its pain.008 is built, checked, sealed and stored, beside the least that a file of as many lines
 * costs: written, encrypted once and inserted into a table on its own.
 */

const LINES = 500
const GOAL_CPU_SECONDS = 0.5
const AT_ONCE = 8
const LOOK_EVERY_MS = 100
const LOOKS_MAX = 600

/** Files of debits of one kind: their gateway, an account that they debit, and the least that writing one takes. */
export interface DebitFiles {
  gateway: object
  currency: string
  calendar: BankCalendar
  account(index: number): object
  write(lines: number): string
}

const iban = (index: number): string => {
  for (let check = 2; check < 99; check += 1) {
    const number = `DE${String(check).padStart(2, '0')}37040044${String(index).padStart(10, '0')}`
    if (isIban(number)) return number
  }
  throw new Error('no check digits fit')
}

/** Runs work for 0, 1, … some at once. */
async function each(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0
  const one = async () => {
    while (next < count) {
      next += 1
      await work(next - 1)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, one))
}

/** A customer whose account a line debits, for an invoice that stays open over all rounds. */
interface Debited {
  customerID: number
  paymentMethodID: number
  invoiceID: number
}

const CREDITOR = {
  CreditorName: SAMPLE.creditor.name,
  CreditorIBAN: SAMPLE.creditor.iban,
  CreditorBIC: SAMPLE.creditor.bic,
  CreditorIdentifier: SAMPLE.creditor.identifier,
}

const SEPA: DebitFiles = {
  gateway: { GatewayType: 'sepa-file', Settings: CREDITOR },
  currency: 'EUR',
  calendar: 'target',
  account: (index) => ({
    Method: 'sepa',
    AccountType: 'Current',
    AccountHolder: `Zoë Müller & Söhne ${index}`,
    Bank: 'Commerzbank',
    IBAN: iban(index),
    BIC: 'COBADEFFXXX',
    MandateReference: `EM${index}`,
    MandateDate: '2026-01-01',
  }),
  write: (lines) => {
    const [debit] = SAMPLE.debits
    if (!debit) throw new Error('the sample has a debit')
    const debits = Array.from({ length: lines }, (_, index) => ({
      ...debit,
      reference: `P1-${index}`,
      iban: iban(index),
    }))
    return writePain008({ ...SAMPLE, debits })
  },
}

async function addGateway(caller: Caller, { gateway, currency }: DebitFiles): Promise<string> {
  if (currency !== 'USD') await call(caller, 'POST', '/v1/currencies', { CurrencyCode: currency })
  return (await call<{ GatewayToken: string }>(caller, 'POST', '/v1/gateways', gateway)).GatewayToken
}

async function addDebited(caller: Caller, files: DebitFiles, index: number): Promise<Debited> {
  const customer = { Name: `Zoë Müller ${index}`, isCompany: true, CurrencyCode: files.currency }
  const { customerID } = await call<{ customerID: number }>(caller, 'POST', '/v1/customers', customer)
  const { paymentMethodID } = await call<{ paymentMethodID: number }>(
    caller,
    'POST',
    '/v1/paymentmethods/bankaccount',
    {
      customerID,
      isPrimary: true,
      BankAccount: files.account(index),
    },
  )
  const { invoiceID } = await call<{ invoiceID: number }>(caller, 'POST', '/v1/invoices', {
    customerID,
    Charges: [{ UnitCostEx: 1000 }],
  })
  return { customerID, paymentMethodID, invoiceID }
}

/** Adds a batch with a line for each account, and returns its token. */
async function addBatch(
  caller: Caller,
  { calendar, currency }: DebitFiles,
  GatewayToken: string,
  debited: readonly Debited[],
): Promise<string> {
  const ActionDate = addBankDays(calendar, new Date().toISOString().slice(0, 10), 10)
  const body = { CurrencyCode: currency, GatewayToken, ActionDate }
  const { BatchToken } = await call<{ BatchToken: string }>(caller, 'POST', '/v1/batches', body)
  await each(debited.length, async (index) => {
    const { invoiceID, ...line } = debited[index] as Debited
    const PaymentApplied = [{ invoiceID, amount: 1.15 }]
    await call(caller, 'POST', '/v1/batches/payments', { BatchToken, ...line, Amount: 1.15, PaymentApplied })
  })
  return BatchToken
}

const STATE = `select state, build_error as error from payment_batches where token = $1 and state in ('submitted', 'failed')`

/** Submits a batch and waits until its file is stored; CPU-seconds of service and database. */
async function buildCpu(service: Service, client: pg.Client, caller: Caller, BatchToken: string): Promise<number> {
  const { ActionDate } = await call<{ ActionDate: string }>(caller, 'GET', `/v1/batches/${BatchToken}`)
  await settle(service.connection)
  const cpu = () => service.nodeCpu() + service.databaseCpu()
  const before = cpu()
  await call(caller, 'PUT', '/v1/batches/submit', { BatchToken, ActionDate })
  for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
    const { rows } = await client.query<{ state: string; error: string | null }>(STATE, [BatchToken])
    if (rows[0]?.state === 'failed') throw new Error(`the batch was not built: ${rows[0].error}`)
    if (rows[0]) return cpu() - before
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
  }
  throw new Error('the batch was not built in a minute')
}

/** Writes, encrypts and inserts a file of so many lines, and nothing else; CPU-seconds of this process and the database. */
async function floorCpu(service: Service, client: pg.Client, files: DebitFiles, lines: number): Promise<number> {
  files.write(lines)
  await settle(service.connection)
  const before = service.databaseCpu()
  const own = process.cpuUsage()
  const cipher = createCipheriv('aes-256-gcm', randomBytes(32), randomBytes(12))
  const sealed = Buffer.concat([cipher.update(files.write(lines), 'utf8'), cipher.final(), cipher.getAuthTag()])
  await client.query('insert into bench_files values ($1)', [sealed])
  const { user, system } = process.cpuUsage(own)
  return (user + system) / 1e6 + service.databaseCpu() - before
}

export const benchSepa = (wish: { times: number; isSmoke: boolean }): Promise<void> =>
  benchBuilding(SEPA, 'pain.008', wish)

/** Measures building files of a kind and its floor in turns. */
export async function benchBuilding(
  files: DebitFiles,
  name: string,
  { times, isSmoke }: { times: number; isSmoke: boolean },
): Promise<void> {
  const lines = isSmoke ? 5 : LINES
  const service = await startService({ LOG_LEVEL: 'error' })
  try {
    await tellMachine(service.connection)
    const caller = await newCaller(service, 'live')
    const token = await addGateway(caller, files)
    const debited: Debited[] = []
    await each(lines, async (index) => {
      debited.push(await addDebited(caller, files, index))
    })
    await asOwner(service.connection, (client) => client.query('create table bench_files (bytes bytea)'))
    const [subject, floor]: [number[], number[]] = [[], []]
    await asOwner(service.connection, async (client) => {
      // The first round warms what is compared.
      for (let time = 0; time <= times; time += 1) {
        const batch = await addBatch(caller, files, token, debited)
        // As autovacuum does within the minute.
        await client.query('vacuum (analyze)')
        const [built, least] = [
          await buildCpu(service, client, caller, batch),
          await floorCpu(service, client, files, lines),
        ]
        if (time === 0) continue
        subject.push(built)
        floor.push(least)
      }
    })
    const inMs = (seconds: readonly number[]) => spread(seconds.map((value) => value * 1000))
    tellTable(
      [`CPU of a batch of ${lines} lines, ms`, ''],
      [
        ['submitted, built, checked, sealed, stored', inMs(subject)],
        ['floor: written, encrypted, inserted', inMs(floor)],
      ],
    )
    tell(`a batch costs ${spread(ratioOf(subject, floor))} of the floor`)
    if (isNoisy(floor)) tell('Noisy: the floor moved more than twofold.')
    const cpu = median(subject)
    const goal = `a ${name} of ${LINES} lines built, checked, sealed and stored: under ${GOAL_CPU_SECONDS} CPU-seconds`
    tellVerdicts([{ goal, reached: `${cpu.toFixed(2)} s`, isMet: cpu < GOAL_CPU_SECONDS }], { isSmoke })
  } finally {
    await service.stop()
  }
}
