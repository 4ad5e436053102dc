import { Fault } from '../../kernel/fault.ts'
import { steadyClock } from '../steady-clock.ts'

/**
 * Admission of work: a process takes none while its database is in maintenance, or has a schema of which the program knows too little. It stays up, and
 * its watch learns when that is over.
 */

export type ClosedState = 'maintenance' | 'outdated'

/** Answer that the watch gets about it. */
export interface SchemaAnswer {
  /** The newest migration that a program must know to work on the database. */
  least: number | null
  /** How long maintenance still lasts; null: there is none. */
  maintenanceSeconds: number | null
}

const RETRY_SECONDS_MAX = 30

/** Makes the refusal (503) of a process of which the database needs another version. */
export const outdated = (): Fault =>
  new Fault('unavailable', [
    {
      code: 'outdated',
      message: 'The database was upgraded, and this process is of a version before: try again shortly.',
      field: null,
    },
  ])

function inMaintenance(leftMs: number): Fault {
  const seconds = Math.max(1, Math.min(RETRY_SECONDS_MAX, Math.ceil(leftMs / 1_000)))
  const message = `The service is in maintenance: try again in ${seconds} seconds.`
  return new Fault('unavailable', [{ code: 'maintenance', message, field: null }], seconds)
}

/** Reports whether an error is the refusal of work that is not taken. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof Fault && ['outdated', 'maintenance'].includes(error.problems[0]?.code ?? '')

export class Admission {
  readonly #knows: number
  #isOutdated = false
  #maintenanceUntilMs = -Infinity
  #stops = new AbortController()

  /** `knows`: the newest migration that this program knows; left out: all. */
  constructor(knows = Infinity) {
    this.#knows = knows
  }

  /** Takes what the watch was answered just now. */
  learn({ least, maintenanceSeconds }: SchemaAnswer): void {
    this.#isOutdated = (least ?? 0) > this.#knows
    this.#maintenanceUntilMs = maintenanceSeconds === null ? -Infinity : steadyClock() + maintenanceSeconds * 1_000
    const { refusal } = this
    if (refusal) this.#stops.abort(refusal)
  }

  /** Why no work is taken; undefined if it is. */
  get state(): ClosedState | undefined {
    if (this.#isOutdated) return 'outdated'
    // It ends by its time also if the database cannot be asked.
    return steadyClock() < this.#maintenanceUntilMs ? 'maintenance' : undefined
  }

  /** The refusal of work; undefined if it is taken. */
  get refusal(): Fault | undefined {
    const { state } = this
    if (state === undefined) return undefined
    return state === 'outdated' ? outdated() : inMaintenance(this.#maintenanceUntilMs - steadyClock())
  }

  /** Throws the refusal of work, if there is one. */
  check(): void {
    const { refusal } = this
    if (refusal) throw refusal
  }

  /** A signal that is aborted, with the refusal, when work that has begun is to stop. */
  get signal(): AbortSignal {
    if (this.#stops.signal.aborted && this.state === undefined) this.#stops = new AbortController()
    return this.#stops.signal
  }
}
