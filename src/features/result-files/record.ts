import { readableKind } from '../../platform/http/record.ts'
import { findResultFile } from './queries.ts'
import { lineEventShape, resultFileShape } from './wire.ts'

export const resultFileKind = readableKind({
  code: 'result_file',
  name: 'result file',
  param: 'resultFileID',
  path: '/v1/resultfiles',
  out: resultFileShape,
  idOf: ({ id }) => id,
  find: (db, { account }, id) => findResultFile(db, account.id, id),
})

/** Lines as events keep them: they are found by the file alone. */
export const resultLineKind = readableKind({
  code: 'result_line',
  name: 'result line',
  identified: 'line of the result file',
  param: 'lineID',
  path: '/v1/resultfiles/{resultFileID}/lines',
  out: lineEventShape,
  idOf: ({ id }) => id,
  find: async () => undefined,
})
