import { Problems } from '../src/kernel/fault.ts'
import { NewPaymentIn } from '../src/features/payments/wire.ts'
import { IgnoredNames } from '../src/platform/wire/ignored-names.ts'
import { parseJson } from '../src/platform/wire/json.ts'
import { median, spread, tellTable, tellVerdicts } from './measure/figures.ts'
import { tellMachine } from './measure/machine.ts'
import { startService } from './measure/service.ts'
import { call } from './neighbours.ts'

/** Looking for names that nobody knows in the body of a payment, beside the CPU of the payment and of reading a customer. */

const READINGS = 200_000
const REQUESTS = 1_000
const MOST = 0.01

const body = { Amount: 10, CurrencyCode: 'USD', Date: '2027-01-01', Method: 'eft', Ref: 'A-1', Allocations: [] }

interface Sample {
  /** CPU-microseconds each. */
  payment: number
  read: number
  /** Of looking, on top of reading a body. */
  without: number
  withOne: number
}

async function microseconds(cpuSeconds: () => number, count: number, work: () => unknown): Promise<number> {
  const before = cpuSeconds()
  for (let n = 0; n < count; n += 1) await work()
  return ((cpuSeconds() - before) * 1e6) / count
}

function own(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

/** CPU-microseconds of reading a body, with or without a look for unknown names. */
function reading(count: number, text: string, ignored?: IgnoredNames): number {
  const before = own()
  for (let n = 0; n < count; n += 1) {
    ignored?.begin()
    const context = { problems: new Problems(), timeZone: 'UTC', isStrict: false, isSecret: false }
    NewPaymentIn.read(parseJson(text)!, '', ignored ? { ...context, ignored } : context)
    if (ignored && ignored.count > 0) ignored.header()
  }
  return ((own() - before) * 1e6) / count
}

export async function benchIgnoredNames({ times, isSmoke }: { times: number; isSmoke: boolean }): Promise<void> {
  const service = await startService({ BOOTSTRAP_ACCOUNT_MODE: 'test' })
  try {
    await tellMachine(service.connection)
    const shop = { port: service.port, authorization: service.authorization }
    const { customerID } = await call<{ customerID: number }>(shop, 'POST', '/v1/customers', {
      Name: 'Acme',
      isCompany: true,
    })
    const sent = { ...body, customerID, Date: new Date().toISOString().slice(0, 10) }
    const [plain, mistyped] = [JSON.stringify(sent), JSON.stringify({ ...sent, AutoAply: true })]
    const cpu = () => service.nodeCpu() + service.databaseCpu()
    const [readings, requests] = isSmoke ? [1_000, 10] : [READINGS, REQUESTS]
    const samples: Sample[] = []
    for (let turn = 0; turn <= times; turn += 1) {
      const bare = reading(readings, plain)
      samples.push({
        payment: await microseconds(cpu, requests, () => call(shop, 'POST', '/v1/payments', sent)),
        read: await microseconds(cpu, requests, () => call(shop, 'GET', `/v1/customers/${customerID}`)),
        without: reading(readings, plain, new IgnoredNames()) - bare,
        withOne: reading(readings, mistyped, new IgnoredNames()) - bare,
      })
    }
    // The first turn warms up.
    samples.shift()
    const of = (part: keyof Sample) => samples.map((sample) => sample[part])
    tellTable(
      ['CPU each, µs', ''],
      [
        ['a payment, service and database', spread(of('payment'))],
        ['reading a customer, service and database', spread(of('read'))],
        ['looking for unknown names where there are none', spread(of('without'))],
        ['the same where there is one', spread(of('withOne'))],
      ],
    )
    const [ofPayment, ofRead] = [
      median(of('withOne')) / median(of('payment')),
      median(of('without')) / median(of('read')),
    ]
    tellVerdicts(
      [
        {
          goal: 'a name ignored ≤ 1 % of a payment',
          reached: `${(ofPayment * 100).toFixed(2)} %`,
          isMet: ofPayment <= MOST,
        },
        { goal: 'looking ≤ 1 % of a read', reached: `${(ofRead * 100).toFixed(2)} %`, isMet: ofRead <= MOST },
      ],
      { isSmoke },
    )
  } finally {
    await service.stop()
  }
}
