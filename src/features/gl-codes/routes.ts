import { NO_GL_CODES } from '../../engine/books/codes.ts'
import { type RequestContext, writingOf } from '../../kernel/context.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { lookupOperation, type Operation, writeOperation } from '../../platform/http/operation.ts'
import { recordEvent } from '../events/record.ts'
import { getGlCodes, lockGlCodes, updateGlCodes } from './queries.ts'
import { glCodesEtag, glCodesFromWire, GlCodesIn, glCodesShape } from './wire.ts'
import { type Answer, noContent } from '../../platform/http/answer.ts'

const tag = 'Exports'

async function answerCodes(db: Queryable, context: RequestContext): Promise<Answer> {
  const codes = await getGlCodes(db, context.account.id)
  return { status: 200, body: glCodesShape.write(codes, writingOf(context)), etag: glCodesEtag(codes) }
}

export const glCodeOperations = (): Operation[] => [
  lookupOperation({
    id: 'getGlCodes',
    path: '/v1/glcodes',
    tag,
    summary:
      "Read the codes that ledger accounts and payment methods have in the accountant's chart, and the settings of DATEV",
    success: { status: 200, schema: glCodesShape.schema },
    read: answerCodes,
  }),
  writeOperation({
    id: 'editGlCodes',
    method: 'PUT',
    path: '/v1/glcodes',
    tag,
    summary:
      'Change codes of ledger accounts and payment methods, and settings of DATEV: only what is sent; the next export is written with them',
    body: GlCodesIn,
    representation: { schema: glCodesShape.schema, headers: ['ETag'], read: answerCodes },
    record: lockGlCodes,
    etag: glCodesEtag,
    write: async (tx, context, { body }, present) => {
      const codes = glCodesFromWire(body, present, NO_GL_CODES.datev)
      await updateGlCodes(tx, codes)
      const record = glCodesShape.write(codes, writingOf(context))
      await recordEvent(tx, context, { type: 'gl_codes.updated', recordId: tx.account, record })
      return noContent(glCodesEtag(codes))
    },
  }),
]
