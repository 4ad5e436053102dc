import { introduced } from '../../platform/http/tags.ts'
import { type RequestContext, writingOf } from '../../kernel/context.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Database, Queryable } from '../../platform/database/database.ts'
import { type Answer, noContent } from '../../platform/http/answer.ts'
import { listOperation } from '../../platform/http/list.ts'
import {
  longOperation,
  type Operation,
  type PathParams,
  readOperation,
  writeOperation,
} from '../../platform/http/operation.ts'
import type { BodyOf } from '../../platform/wire/read.ts'
import { isArchive } from '../../platform/archive/archive.ts'
import { answerLine, type LineAnswer, resolveAnswer } from './answer-line.ts'
import { openTexts } from './list-lines.ts'
import { countResultFiles, type FileFilter, listLinesOfFile, listResultFiles, lockListedLine } from './queries.ts'
import { fileBusy, type ResultDeps } from './deps.ts'
import { receiveFile } from './receive.ts'
import { receiveArchive } from './receive-archive.ts'
import { ofArchive, ofFile, receivedShape } from './received-wire.ts'
import { resultFileKind as file, resultLineKind as lineKind } from './record.ts'
import {
  fileFilters,
  GatewayQuery,
  listedFileShape,
  ResultLineIn,
  type OpenedLine,
  resultFileWithLinesShape,
} from './wire.ts'
import { invalid } from '../../kernel/fault.ts'

const tag = introduced('Result files', 'Files of banks and gateways that tell which debits failed and what was paid.')

const FILE_BYTES_MAX = 32 * 1024 * 1024
const ZIP_TYPES = ['application/zip', 'application/x-zip-compressed']
const FILE_TYPES = ['application/xml', 'text/xml', 'text/plain', 'application/octet-stream', ...ZIP_TYPES]

const LINES_AT_ONCE = 200

const isSentAsArchive = (contentType = ''): boolean =>
  ZIP_TYPES.includes(contentType.split(';')[0]?.trim().toLowerCase() ?? '')

type Deps = ResultDeps & { longDb: Database }

async function* linesOf(
  db: Queryable,
  deps: Pick<Deps, 'envelope'>,
  account: AccountId,
  fileId: Id,
): AsyncGenerator<readonly OpenedLine[]> {
  let after = 0n
  for (;;) {
    const lines = await listLinesOfFile(db, account, fileId, after, LINES_AT_ONCE)
    yield lines.map((line) => ({ ...line, ...openTexts(deps, account, line) }))
    const last = lines.at(-1)
    if (last === undefined || lines.length < LINES_AT_ONCE) return
    after = last.id
  }
}

async function answerFile(db: Queryable, context: RequestContext, deps: Deps, params: PathParams): Promise<Answer> {
  const row = await file.found(db, context, params)
  const lines = linesOf(db, deps, context.account.id, row.id)
  return { status: 200, pieces: resultFileWithLinesShape.pieces({ file: row, lines }, writingOf(context)) }
}

const reading = (deps: Deps): Operation[] => [
  listOperation({
    id: 'listResultFiles',
    path: '/v1/resultfiles',
    tag,
    summary: 'List the result files of banks, and reports of gateways that could not be applied',
    filters: fileFilters,
    filterOf: ({ isOpen, isToBeSentAgain }: BodyOf<typeof fileFilters>): FileFilter => ({ isOpen, isToBeSentAgain }),
    out: listedFileShape,
    rows: listResultFiles,
    count: countResultFiles,
  }),
  readOperation({
    id: 'getResultFile',
    method: 'GET',
    path: '/v1/resultfiles/{resultFileID}',
    tag,
    summary: 'Read a result file with its lines that wait, or waited, for a person; lines are kept for 90 days',
    success: { status: 200, schema: resultFileWithLinesShape.schema },
    record: (db, context, params) => file.found(db, context, params),
    read: (db, context, { params }) => answerFile(db, context, deps, params),
  }),
]

const writing = (deps: Deps): Operation[] => [
  longOperation({
    id: 'addResultFile',
    method: 'POST',
    path: '/v1/resultfiles',
    tag,
    summary:
      'Read a result file of a bank (pain.002, camt.052, camt.053, camt.054; NACHA of an ach-file gateway), or a ZIP archive of several, and apply what it matches; the same bytes again change nothing',
    rawBody: { types: FILE_TYPES, bytesMax: FILE_BYTES_MAX },
    query: GatewayQuery,
    success: {
      status: 201,
      schema: receivedShape.schema,
      unchanged: 'Nothing was new: the answer of the first time',
    },
    refusals: {
      409: 'The gateway reads no files, or no statement of the file is of its CreditorIBAN, no batch of its CompanyID',
    },
    longKind: 'bank_file',
    endsWithCaller: true,
    refusal: fileBusy,
    run: async (context, { query: { gatewayID }, bytes, contentType }, about) => {
      if (bytes === undefined || bytes.length === 0) throw invalid('required', 'The body is the file; it is empty.')
      const own = { ...deps, db: deps.longDb, about }
      if (isArchive(bytes) || isSentAsArchive(contentType)) {
        const archive = await receiveArchive(own, context, gatewayID, bytes)
        const body = receivedShape.write(ofArchive(archive), writingOf(context))
        return { status: archive.isNew ? 201 : 200, body }
      }
      const received = await receiveFile(own, context, gatewayID, bytes)
      const written = receivedShape.write(ofFile(received.file), writingOf(context))
      return received.isNew
        ? file.created(received.file, context, written)
        : file.answer(received.file, context, written)
    },
  }),
  writeOperation({
    id: 'answerResultLine',
    method: 'PUT',
    path: '/v1/resultfiles/{resultFileID}/lines/{lineID}',
    tag,
    summary: 'Apply a line to the payment that it returns, record it as a payment of a customer, or close it; once',
    body: ResultLineIn,
    success: { status: 204 },
    representation: {
      schema: resultFileWithLinesShape.schema,
      read: (tx, context, { params }) => answerFile(tx, context, deps, params),
    },
    refusals: {
      409: 'The line was answered before, the answer does not fit it, or money that may be the same was recorded before',
    },
    record: async (tx, context, { params }) => {
      const { id } = await file.found(tx, context, params)
      const lineId = lineKind.pathId(params)
      const line = await lockListedLine(tx, id, lineId)
      if (!line) throw lineKind.unknown(lineId)
      return line
    },
    references: (tx, _context, { body }, problems, line) => resolveAnswer(tx, line, body, problems),
    write: async (tx, context, _input, line, answer) => {
      await answerLine(tx, context, deps, line, answer as LineAnswer)
      return noContent()
    },
  }),
]

export const resultFileOperations = (deps: Deps): Operation[] => [...reading(deps), ...writing(deps)]
