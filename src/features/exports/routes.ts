import { introduced } from '../../platform/http/tags.ts'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { missing } from '../../kernel/fault.ts'
import { plural } from '../../kernel/text.ts'
import { listOperation } from '../../platform/http/list.ts'
import { longOperation, type Operation, readOperation, writeOperation } from '../../platform/http/operation.ts'
import { readableKind } from '../../platform/http/record.ts'
import type { Portions } from '../../platform/wire/write.ts'
import { type ExportDeps, exportBusy, makeExport, removeExport } from './actions.ts'
import { countExports, type ExportRow, findExport, listExports, piecesOfFile } from './queries.ts'
import { exportFromWire, ExportIn, exportShape, FileQuery, listedExportShape } from './wire.ts'
import { noContent } from '../../platform/http/answer.ts'

const tag = introduced('Exports', "What is handed to an accountant's program, and the codes of its chart of accounts.")

const kind = readableKind({
  code: 'export',
  name: 'export',
  param: 'exportID',
  path: '/v1/exports',
  out: exportShape,
  idOf: ({ id }) => id,
  find: (db, { account }, id) => findExport(db, account.id, id),
})

const expand = promisify(gunzip)

async function* bytesOf(pieces: Portions<{ compressed: Buffer }>): AsyncGenerator<Buffer> {
  for await (const some of pieces) for (const { compressed } of some) yield (await expand(compressed)) as Buffer
}

const MEDIA = { csv: 'text/csv; charset=utf-8', datev: 'text/csv; charset=windows-1252' } as const

const nameOf = ({ format, number }: ExportRow, part: number): string =>
  format === 'datev' ? `EXTF_Buchungsstapel_${number}_${part}.csv` : `export-${number}-${part}.csv`

const file = readOperation({
  id: 'getExportFile',
  hasStrictQuery: true,
  isExpensive: true,
  path: '/v1/exports/{exportID}/file',
  tag,
  summary: 'Download a file of an export as it was handed over: the same bytes for ever',
  query: FileQuery,
  success: { status: 200, media: ['text/csv'] },
  record: (db, context, params) => kind.found(db, context, params),
  read: async (db, context, { params, query }) => {
    const batch = await kind.found(db, context, params)
    const part = query.part ?? 1
    if (part > batch.files)
      throw missing(
        'part_unknown',
        `Export ${batch.id} has ${plural(batch.files, 'file')}; there is no part ${part}.`,
        'part',
      )
    return {
      status: 200,
      pieces: bytesOf(piecesOfFile(db, context.account.id, batch.id, part)),
      contentType: MEDIA[batch.format],
      headers: { 'content-disposition': `attachment; filename="${nameOf(batch, part)}"` },
    }
  },
})

export const exportOperations = (deps: ExportDeps): Operation[] => [
  longOperation({
    id: 'addExport',
    hasStrictQuery: true,
    method: 'POST',
    path: '/v1/exports',
    tag,
    summary:
      'Export the entries of a currency that no export has yet, up to a day; 200 with the newest export where there are none, and then nothing is made',
    body: ExportIn,
    success: {
      status: 201,
      schema: exportShape.schema,
      unchanged: 'Nothing is new: the newest export of the currency',
    },
    refusals: {
      409: 'Codes are missing, which are listed; there is nothing to export, or nothing yet, and no export before; or another export of the account is being made',
    },
    longKind: 'export',
    endsWithCaller: true,
    refusal: exportBusy,
    run: async (context, { body }, about) => {
      const { batch, isNew } = await makeExport(deps, context, exportFromWire(body), about)
      return isNew ? kind.created(batch, context) : kind.answer(batch, context)
    },
  }),
  listOperation({
    id: 'listExports',
    hasStrictQuery: true,
    path: '/v1/exports',
    tag,
    summary: 'List the exports of all currencies, the oldest first',
    out: listedExportShape,
    rows: listExports,
    count: countExports,
  }),
  {
    ...kind.readOperation({ id: 'getExport', tag, summary: 'Read an export, with what differs' }),
    hasStrictQuery: true,
  },
  file,
  writeOperation({
    id: 'deleteExport',
    hasStrictQuery: true,
    method: 'DELETE',
    path: '/v1/exports/{exportID}',
    tag,
    summary: 'Delete the newest export of its currency: its entries come with the next one',
    refusals: { 409: 'It is not the newest of its currency' },
    record: (tx, context, { params }) => kind.found(tx, context, params),
    write: async (tx, context, _input, batch) => {
      await removeExport(tx, context, batch)
      return noContent()
    },
  }),
]
