import { expect, test } from 'vitest'
import { answeredOnly, NO_READER, own, recordsColumn, recordShape } from './columns.ts'
import { outId, outText } from './write.ts'

interface Item {
  id: bigint
  number: bigint
}
interface Row {
  name: string
  number: bigint
  items: readonly Item[]
}

const item = recordShape<Item>()(undefined, {
  id: own(outId(), 'id'),
  number: answeredOnly(own(outId(), 'number')),
})
const shape = recordShape<Row>()('Record', {
  number: answeredOnly(own(outId(), 'number')),
  name: own(outText(), 'name'),
  items: recordsColumn(item, ({ items }) => items),
})
const row: Row = { name: 'a', number: 7n, items: [{ id: 1n, number: 9n }] }

async function textOf(pieces: AsyncIterable<string>): Promise<string> {
  let text = ''
  for await (const piece of pieces) text += piece
  return text
}

test('columns that answers alone have are in no record that is kept, at any depth, alone, in lists and in pieces', async () => {
  const answered = '{"number":7,"name":"a","items":[{"id":1,"number":9}]}'
  const recorded = '{"name":"a","items":[{"id":1}]}'
  expect(shape.write(row, NO_READER)).toBe(answered)
  expect(shape.recorded.write(row, NO_READER)).toBe(recorded)
  expect(shape.recorded.list.write([row, row], NO_READER)).toBe(`[${recorded},${recorded}]`)
  expect(await textOf(shape.recorded.pieces(row, NO_READER))).toBe(recorded)
  expect(await textOf(shape.pieces(row, NO_READER))).toBe(answered)
})

test('a record that has none is kept as it is answered, by the same declaration', () => {
  const plain = recordShape<Row>()(undefined, { name: own(outText(), 'name') })
  expect(plain.recorded).toBe(plain)
  expect(shape.recorded.recorded).toBe(shape.recorded)
})
