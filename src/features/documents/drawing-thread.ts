import { deserialize } from 'node:v8'
import { workerData } from 'node:worker_threads'
import { type FurtherFonts, useFurtherFonts } from '../../platform/pdf/further-fonts.ts'
import { SheetTooLong } from '../../platform/pdf/sheet.ts'
import { workInThread } from '../../platform/low-priority.ts'
import type { ThreadReply } from '../../platform/threads.ts'
import { renderCreditNote } from './credit-note-pdf.ts'
import { drawMandate } from '../emandates/draw-mandate.ts'
import type { Drawn } from './document.ts'
import { renderInvoice } from './invoice-pdf.ts'
import { renderStatement } from './statement-pdf.ts'

/** The program of the threads that draw documents: one document in, its PDF out. An entry point of the build. */

const fonts = (workerData ?? undefined) as FurtherFonts | undefined
useFurtherFonts(fonts)
workInThread(answer)

async function answer(input: Uint8Array): Promise<ThreadReply> {
  const drawable = deserialize(input) as Drawn
  const first = await reply(drawable)
  if (!('error' in first) || fonts === undefined) return first
  // A font of the operator's may have letters that cannot be drawn, or may be gone: the document is drawn without them.
  useFurtherFonts(undefined)
  const second = await reply(drawable)
  useFurtherFonts(fonts)
  return second
}

async function reply(drawable: Drawn): Promise<ThreadReply> {
  try {
    // A copy: the bytes may lie in memory that is shared with others and cannot be handed over.
    return { bytes: new Uint8Array(await draw(drawable)) }
  } catch (error) {
    return error instanceof SheetTooLong ? { refusal: 'too_long' } : { error: error as Error }
  }
}

function draw(drawable: Drawn): Buffer | Promise<Uint8Array> {
  switch (drawable.kind) {
    case 'invoice':
      return renderInvoice(drawable.document)
    case 'credit_note':
      return renderCreditNote(drawable.document)
    case 'statement':
      return renderStatement(drawable.document)
    case 'emandate':
      return drawMandate(drawable)
  }
}
