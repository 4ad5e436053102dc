import type { Adapters, GatewayAdapter } from './contract.ts'
import { manual } from './manual.ts'

/** Makes the table of the gateways of this version, by their type. */
export const makeAdapters = (...others: readonly GatewayAdapter[]): Adapters =>
  new Map([manual, ...others].map((adapter) => [adapter.type, adapter]))
