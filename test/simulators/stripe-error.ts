/** An answer that refuses: its status and the fields of `error`. */
export class StripeRefusal extends Error {
  readonly status: number
  readonly error: Record<string, unknown>

  constructor(status: number, error: { type?: string; code?: string; message: string; [field: string]: unknown }) {
    super(error.message)
    this.status = status
    this.error = { type: 'invalid_request_error', ...error }
  }
}

/** A thing that is not there: named in the path 404, named in a parameter 400. */
export const missing = (kind: string, id: string, param: string, status: 400 | 404) =>
  new StripeRefusal(status, { code: 'resource_missing', param, message: `No such ${kind}: '${id}'` })

/** A request that cannot be done. Most of Stripe's refusals have no code. */
export const refused = (message: string, fields: { code?: string; param?: string } = {}) =>
  new StripeRefusal(400, { ...fields, message })
