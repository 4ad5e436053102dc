import type { RealClock } from '../../kernel/context.ts'
import { Fault, invalid } from '../../kernel/fault.ts'
import type { Database } from '../../platform/database/database.ts'
import { CountedWindows, networkOf } from '../../platform/http/counted-windows.ts'
import { LargeBodies } from '../../platform/http/body-bounds.ts'
import type { Intake } from '../../platform/http/intake.ts'
import { Places } from '../../platform/places.ts'
import type { SteadyClock } from '../../platform/steady-clock.ts'
import type { GatewayDeps } from '../gateways/call.ts'
import { receiveReport, REPORT_BYTES_MAX } from './receive.ts'

/** The address to which gateways report. It is open to everybody, so nobody learns there more than that a report was not accepted. */

/** Reports of one address that are not accepted within a minute before it is slowed down; those that are always pass. */
const WRONG_MAX = 10
/** Of the process: nobody who floods the address takes the connections that others need. What is beyond is the sender's to slow down (429). */
const AT_A_TIME = { running: 4, waiting: 200, patienceMs: 10_000 }
/** Of the process: bodies above 64 KiB that are held at a time. */
const LARGE_AT_A_TIME = 8
/** All who send wait in one line. */
const ALL = 0n

/** Makes the refusal of reports beyond those that are taken and wait: their gateway sends them again. */
const tooManyWait = () =>
  new Fault(
    'throttled',
    [{ code: 'too_many_reports', message: 'Too many reports arrive at a time; try again shortly.', field: null }],
    2,
  )

interface Deps extends GatewayDeps {
  db: Database
  realClock: RealClock
  clock: SteadyClock
}

export function reportIntake(deps: Deps): Intake {
  const places = new Places(AT_A_TIME, tooManyWait)
  const wrong = new CountedWindows(deps.clock)
  return {
    path: '/gateways/{GatewayToken}/events',
    bytesMax: REPORT_BYTES_MAX,
    largeBodies: new LargeBodies(LARGE_AT_A_TIME, tooManyWait),
    take: async ({ params, raw, headers, address }) => {
      const token = params['GatewayToken'] ?? ''
      if (await places.run(ALL, () => receiveReport(deps, { token, raw, headers }))) return
      const { count, secondsLeft } = wrong.add(networkOf(address))
      if (count <= WRONG_MAX) throw invalid('report_not_accepted', 'The report was not accepted.')
      const message = `Too many reports that were not accepted; try again in ${secondsLeft} seconds.`
      throw new Fault('throttled', [{ code: 'too_many_reports', message, field: null }], secondsLeft)
    },
  }
}
