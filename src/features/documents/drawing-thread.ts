import { setPriority } from 'node:os'
import { deserialize } from 'node:v8'
import { parentPort } from 'node:worker_threads'
import { assert } from '../../kernel/assert.ts'
import { SheetTooLong } from '../../platform/pdf/sheet.ts'
import type { ThreadReply } from '../../platform/threads.ts'
import { renderCreditNote } from './credit-note-pdf.ts'
import type { Drawable } from './document.ts'
import { renderInvoice } from './invoice-pdf.ts'
import { renderStatement } from './statement-pdf.ts'

/** The program of the threads that draw documents: one document in, its PDF out. An entry point of the build. */

/** Of a thread beside the one that answers requests, which is to go first. */
const PRIORITY = 10

// On Linux a thread has a priority of its own; elsewhere this would be the whole process's.
if (process.platform === 'linux') setPriority(PRIORITY)

const port = parentPort
assert(port, 'documents are drawn in a thread')
port.on('message', (input: Uint8Array) => port.postMessage(answer(input)))

function answer(input: Uint8Array): ThreadReply {
  try {
    // A copy: the bytes may lie in memory that is shared with others and cannot be handed over.
    return { bytes: new Uint8Array(draw(deserialize(input) as Drawable)) }
  } catch (error) {
    return error instanceof SheetTooLong ? { refusal: 'too_long' } : { error: error as Error }
  }
}

function draw(drawable: Drawable): Buffer {
  switch (drawable.kind) {
    case 'invoice':
      return renderInvoice(drawable.document)
    case 'credit_note':
      return renderCreditNote(drawable.document)
    case 'statement':
      return renderStatement(drawable.document)
  }
}
