import type { RequestContext } from '../../kernel/context.ts'
import { Fault } from '../../kernel/fault.ts'
import type { Database } from '../../platform/database/database.ts'
import type { Lease } from '../../platform/database/lease.ts'
import type { LongRun } from '../../platform/http/operation.ts'
import type { LinesOfService } from '../batches/hooks.ts'
import type { GatewayDeps } from '../gateways/call.ts'
import type { Gateway } from '../gateways/queries.ts'
import type { ResultFile } from './queries.ts'

/** Parts that the files of this room are handed, and the refusal that several of them make. */

export interface ResultDeps extends GatewayDeps {
  db: Database
  /** Learns of results of lines that the service made. */
  linesOfService: LinesOfService
  /** How a file is read for a caller: `gone` ends it after the portion that is worked on. */
  about?: LongRun
}

/** File that is being worked on. */
export interface Reading {
  deps: ResultDeps
  context: RequestContext
  gateway: Gateway
  file: ResultFile
  lease: Lease
  /** It is read once more, and these are lines that the first reading took for known. */
  isAgain: boolean
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
