import { Fault } from '../../kernel/fault.ts'
import type { Database } from '../../platform/database/database.ts'
import type { LongRun } from '../../platform/http/operation.ts'
import type { LinesOfService } from '../batches/hooks.ts'
import type { GatewayDeps } from '../gateways/call.ts'

export interface ResultDeps extends GatewayDeps {
  db: Database
  /** Learns of results of lines that the service made. */
  linesOfService: LinesOfService
  /** How a file is read for a caller: `gone` ends it after the portion that is worked on. */
  about?: LongRun
}

/** Makes the refusal of a second file while one is worked on. */
export const fileBusy = () =>
  new Fault(
    'busy',
    [
      {
        code: 'result_file_busy',
        message:
          'Another result file of this account is being worked on. Where that was cut off by a crash, send it again after 30 seconds.',
        field: null,
      },
    ],
    1,
  )
