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

test.each(edits.map((edit) => [edit.id, edit] as const))('%s', async (_, edit) => {
  const path = pathOf(edit, world) as string
  const { status, body, text } = await world.client.get(path)
  expect(status, text).toBe(200)
  const reply = await world.client.put(path, writeJson(body) as string, { prefer: 'handling=strict' })
  const codes = reply.status < 400 ? [] : reply.body.Errors.map(({ Code, Field }: any) => `${Code} ${Field}`)
  expect(codes.filter((code: string) => code.startsWith('unknown_field'))).toEqual([])
  expect(reply.headers['perennial-ignored']).toBeUndefined()
})
