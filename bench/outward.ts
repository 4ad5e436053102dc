import { median, tell, tellTable, tellVerdicts } from './measure/figures.ts'
import { tellMachine } from './measure/machine.ts'
import { startService } from './measure/service.ts'
import { call, measure, newCaller, newCustomer, type Sample } from './neighbours.ts'
import type { Caller } from './subject/hostile.ts'

/** Effect of a gateway that answers late on everybody else: point reads and payments alone, and beside 50 cards that wait to be stored. */

const OPEN = 50
const TIMES_ALONE = 2
const LATENCY_MS = 20_000

/** Keeps requests open that wait for the gateway, until it is stopped; the last ones are waited for. */
function keepOpen(caller: Caller, customerID: number, count: number) {
  let isOver = false
  let answered = 0
  const CreditCard = {
    CardType: 'Visa',
    Number: '4242424242424242',
    NameOnCard: 'Ada',
    LastNameOnCard: 'Lovelace',
    ExpiryMonth: 12,
    ExpiryYear: 2099,
  }
  const one = async (index: number) => {
    for (let round = 0; !isOver; round += 1) {
      const headers = { 'idempotency-key': `${index} ${round} ${Math.random()}` }
      await call(caller, 'POST', '/v1/paymentmethods/creditcard', { customerID, isPrimary: false, CreditCard }, headers)
      answered += 1
    }
  }
  const all = Promise.all(Array.from({ length: count }, (_, index) => one(index)))
  return async () => {
    isOver = true
    await all
    return answered
  }
}

const cells = ({ readMs, paymentMs, loopMs }: Sample) => [readMs, paymentMs, loopMs].map((ms) => ms.toFixed(1))

const middle = (samples: readonly Sample[]): Sample => ({
  readMs: median(samples.map(({ readMs }) => readMs)),
  paymentMs: median(samples.map(({ paymentMs }) => paymentMs)),
  loopMs: median(samples.map(({ loopMs }) => loopMs)),
})

/** Measures a quiet account alone and beside the waiting requests, in turns. */
export async function benchOutward({ times, isSmoke }: { times: number; isSmoke: boolean }): Promise<void> {
  const service = await startService({ BOOTSTRAP_ACCOUNT_MODE: 'test', LOG_LEVEL: 'error' })
  try {
    await tellMachine(service.connection)
    const quiet = await newCaller(service, 'live')
    const waiting = await newCaller(service, 'test')
    const [quietID, waitingID] = [await newCustomer(quiet), await newCustomer(waiting)]
    const gateways = await call<{ gatewayID: number }[]>(waiting, 'GET', '/v1/gateways')
    const LatencyMs = isSmoke ? 200 : LATENCY_MS
    await call(waiting, 'PUT', `/v1/gateways/${gateways[0]?.gatewayID}`, { Settings: { LatencyMs } })
    const work = () => measure(service, quiet, quietID, isSmoke ? 0.3 : 10)
    await work()
    const [alone, beside]: [Sample[], Sample[]] = [[], []]
    for (let round = 0; round < times; round += 1) {
      alone.push(await work())
      const stop = keepOpen(waiting, waitingID, isSmoke ? 5 : OPEN)
      beside.push(await work())
      tell(`${await stop()} cards were stored, each after ${LatencyMs} ms`)
    }
    tellTable(
      ['99 of 100 within, ms', 'point read', 'payment', 'event loop'],
      [
        ['alone', ...cells(middle(alone))],
        [`beside ${OPEN} that wait for a gateway`, ...cells(middle(beside))],
      ],
    )
    tellVerdicts(
      (['readMs', 'paymentMs'] as const).map((figure) => {
        const [one, other] = [middle(alone)[figure], middle(beside)[figure]]
        return {
          goal: `99 of 100 ${figure === 'readMs' ? 'point reads' : 'payments'} within ${TIMES_ALONE} × of alone beside ${OPEN} requests that wait for a gateway`,
          reached: `${other.toFixed(1)} ms, ${(other / one).toFixed(1)} × of ${one.toFixed(1)} ms`,
          isMet: other <= TIMES_ALONE * one,
        }
      }),
      { isSmoke },
    )
  } finally {
    await service.stop()
  }
}
