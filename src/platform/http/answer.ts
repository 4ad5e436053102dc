import type { Readable } from 'node:stream'

/** Answer of a handler. The text is already written, see wire/write.ts. */
export interface Answer {
  status: number
  /** A stream is what the server itself makes of `pieces`. */
  body?: string | Buffer | Readable
  /** The body of a read that may be long, written while it is read: the snapshot lasts until all of it has left. */
  pieces?: AsyncGenerator<string> | AsyncGenerator<Buffer>
  /** Makes the body once everything is read and no connection is held for it; the signal is raised when the caller has gone. */
  makeBody?(gone: AbortSignal): Promise<Buffer>
  contentType?: string
  etag?: string
  headers?: Record<string, string>
  /** The answer holds a secret: a kept copy of it is encrypted. */
  isSecret?: boolean
  /** The answer shows the result that the change would have; the transaction is rolled back. */
  isPreview?: boolean
}

export const noContent = (etag?: string): Answer => ({ status: 204, ...(etag ? { etag } : {}) })
