/** Why a request is refused. Each kind has one HTTP status, see platform/http/errors.ts. */
export type FaultKind =
  | 'invalid'
  | 'unauthenticated'
  | 'forbidden'
  | 'missing'
  | 'method'
  | 'conflict'
  | 'gone'
  | 'stale'
  | 'too_large'
  | 'not_json'
  | 'reused'
  | 'throttled'
  | 'busy'
  | 'unavailable'
  | 'broken'

/** Problem with one input: a sentence for a person, a stable code for a program, and the field that it is about. */
export interface Problem {
  message: string
  code: string
  field: string | null
}

/** A refusal: thrown by rules and actions, rendered once by the HTTP layer and the command line. */
export class Fault extends Error {
  readonly kind: FaultKind
  readonly problems: readonly Problem[]
  readonly retryAfterSeconds: number | undefined

  constructor(kind: FaultKind, problems: readonly Problem[], retryAfterSeconds?: number) {
    super(problems.map((problem) => problem.message).join(' '))
    this.kind = kind
    this.problems = problems
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** Makes a fault: the record's state, or a uniqueness rule, forbids it (409). */
export const conflict = (code: string, message: string, field: string | null = null) =>
  new Fault('conflict', [{ code, message, field }])

/** Makes a fault: the input itself is wrong (400). */
export const invalid = (code: string, message: string, field: string | null = null) =>
  new Fault('invalid', [{ code, message, field }])

/** Makes a fault: the record that the request is about does not exist for this account (404). */
export const missing = (code: string, message: string, field: string | null = null) =>
  new Fault('missing', [{ code, message, field }])

/** Gathers the problems of one request, so that all of them are reported together. */
export class Problems {
  readonly found: Problem[] = []
  readonly #unfit: Problem[] = []
  readonly #fields = new Set<string | null>()

  /** Notes a problem. A field that was sent and refused is not called missing as well: its value was left out for that problem. */
  add(code: string, field: string | null, message: string): void {
    if (code === 'required' && field !== null && this.#fields.has(field)) return
    this.#fields.add(field)
    this.found.push({ code, message, field })
  }

  /**
   * Notes a reference in a body to a record that is there and does not fit: of another customer, or of a kind or currency that cannot be taken. Rule:
   * it is a conflict, and is refused once nothing is wrong with the input itself.
   */
  unfit(code: string, field: string | null, message: string): void {
    this.#unfit.push({ code, message, field })
  }

  throwIfAny(): void {
    if (this.found.length > 0) throw new Fault('invalid', this.found)
    if (this.#unfit.length > 0) throw new Fault('conflict', this.#unfit)
  }
}
