import { expect, test } from 'vitest'
import { startTestService } from '../support/app.ts'
import { operationsOf, readDocument } from './document.ts'
import { writeJson } from './samples.ts'
import { makeWorld, pathOf } from './world.ts'

/** A record that was read can be sent back: of nothing that an answer has does the PUT of the same address say that nobody knows it. */

const service = await startTestService()
const operations = operationsOf(await readDocument(service))
const world = await makeWorld(service, operations, 'sent-back')

const readable = new Set(operations.filter(({ method }) => method === 'GET').map(({ path }) => path))
const edits = operations.filter(
  ({ method, path, body }) => method === 'PUT' && readable.has(path) && body !== undefined,
)

test('there are such records', () => {
  expect(edits.map(({ id }) => id)).toEqual(expect.arrayContaining(['editCustomer', 'editInvoice', 'editSubscription']))
})

/** Returns the address of a record that is there, and the record: parts of a path are drawn one by one, and not every component has a second version. */
async function readOne(edit: (typeof edits)[number]) {
  for (let n = 0; ; n += 1) {
    const path = pathOf(edit, world) as string
    const { status, body, text } = await world.client.get(path)
    if (status === 200) return { path, body }
    if (n === 20) throw new Error(`${path} ${status} ${text}`)
  }
}

test.each(edits.map((edit) => [edit.id, edit] as const))('%s', async (_, edit) => {
  const { path, body } = await readOne(edit)
  const reply = await world.client.put(path, writeJson(body) as string, { prefer: 'handling=strict' })
  const codes = reply.status < 400 ? [] : reply.body.Errors.map(({ Code, Field }: any) => `${Code} ${Field}`)
  expect(codes.filter((code: string) => code.startsWith('unknown_field'))).toEqual([])
  expect(reply.headers['perennial-ignored']).toBeUndefined()
})
