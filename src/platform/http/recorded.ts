import recorded from './recorded-examples.json' with { type: 'json' }

/** A call of the story that the examples of the document are recorded from. */
export interface RecordedCall {
  path: string
  body?: unknown
  status: number
  answer?: unknown
  /** The answer with preview=true, asked before. */
  preview?: unknown
}

/** Calls by operation, as "npm run record:examples" has written them. */
export const RECORDED: Readonly<Record<string, RecordedCall>> = recorded
