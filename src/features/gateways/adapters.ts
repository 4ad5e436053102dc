import type { Database } from '../../platform/database/database.ts'
import type { Envelope } from '../../platform/envelope/envelope.ts'
import type { Adapters, GatewayAdapter } from './contract.ts'
import { manual } from './manual.ts'
import { sandboxAdapter } from './sandbox.ts'
import { sepaFile } from './sepa-file.ts'

/** Makes the table of the gateways of this version, by their type; others stand in the place of those of their type. */
export const makeAdapters = (
  { db, envelope }: { db: Database; envelope: Envelope },
  ...others: readonly GatewayAdapter[]
): Adapters =>
  new Map(
    [manual, sepaFile, sandboxAdapter(db, envelope.keyedHash('sandbox')), ...others].map((adapter) => [
      adapter.type,
      adapter,
    ]),
  )
