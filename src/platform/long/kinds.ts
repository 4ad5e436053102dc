import { hostname } from 'node:os'
import { Fault } from '../../kernel/fault.ts'
import type { PlaceBounds } from '../places.ts'

/** Kinds of long operations: what each is called, and how many of those that callers ask for run at a time. */

/** Long operations that callers ask for. */
export const ASKED_KINDS = ['clock', 'export', 'bank_file'] as const
export type AskedKind = (typeof ASKED_KINDS)[number]

/** All long operations, as metrics and `perennial running` name them. */
export const LONG_KINDS = [...ASKED_KINDS, 'billing_run', 'verification', 'backup'] as const
export type LongKind = (typeof LONG_KINDS)[number]

/** Words for several operations of a kind. */
export const KIND_WORDS: Record<LongKind, string> = {
  clock: 'clock moves',
  export: 'exports',
  bank_file: 'bank files',
  billing_run: 'billing runs',
  verification: 'verifications',
  backup: 'backups',
}

const OF_PROCESS = 2

/**
 * Of an account one runs or waits. Whoever waits are other accounts, and none waits longer than any other work does. Test accounts leave a place
 * to the others; only they move clocks.
 */
const BOUNDS: PlaceBounds = { running: OF_PROCESS, waiting: 50, perOwner: 1, patienceMs: 20_000 }

export const LONG_BOUNDS: Record<AskedKind, PlaceBounds> = {
  clock: BOUNDS,
  export: { ...BOUNDS, runningOfLimited: 1 },
  bank_file: { ...BOUNDS, runningOfLimited: 1 },
}

/** Connections of long operations: one for each place, and some for the leases of those that run and wait. */
export const LONG_CONNECTIONS = ASKED_KINDS.length * OF_PROCESS + 2

/** Makes the refusal (503) of an operation that there is no room for, or whose turn did not come in time. */
export const tooManyOf = (kind: AskedKind) => (): Fault =>
  new Fault(
    'unavailable',
    [{ code: 'too_busy', message: `Too many ${KIND_WORDS[kind]} are at work; try again shortly.`, field: null }],
    2,
  )

const HOST_LENGTH_MAX = 40

/** This process, as others name it: its host and its number there. */
export const processName = (): string => `${hostname().slice(0, HOST_LENGTH_MAX)}:${process.pid}`

/** Returns the name of a connection on which a backup is made: by it all processes see the backup, for as long as the connection is there. */
export const backupName = (): string => `perennial backup ${processName()}`
