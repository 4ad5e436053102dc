import { type Calling, callingFrom } from '../features/gateways/calling.ts'
import type { Config } from '../platform/config.ts'
import type { Database } from '../platform/database/database.ts'
import { makeOutbound } from '../platform/outbound/outbound.ts'

/** Makes what a command calls gateways with; it takes places as a process that works jobs does. */
export const callingOf = (
  { outboundAllow: allow, gatewayEndpoints: endpoints }: Config,
  db: Pick<Database, 'onWatch'>,
): Calling => callingFrom(db, ['work'], { outbound: makeOutbound({ allow }), endpoints })
