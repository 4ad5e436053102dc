import { expect, test } from 'vitest'
import { getAccount } from '../../src/features/accounts/queries.ts'
import { NO_LINES_OF_SERVICE } from '../../src/features/batches/hooks.ts'
import { receiveFile } from '../../src/features/result-files/receive.ts'
import { momentOf, type RequestContext } from '../../src/kernel/context.ts'
import { sql } from '../../src/platform/database/sql.ts'
import { clientOf, startTestService, type TestClient } from '../support/app.ts'
import { dyingAt } from '../support/dying-database.ts'
import { differencesOf } from '../support/shop.ts'
import { besideDump, loadDump, upgrade } from './dump.testing.ts'
import type { SentFile } from './firm.ts'

/**
 * The repair of what was swallowed: the bank files that the program before 0.1.0 had read, sent again after the upgrade. What should have been applied is,
 * what a person has to see is listed, and nothing is booked twice.
 */

const NAME = 'before-0.1.0'
const beside = besideDump(NAME)

async function upgraded() {
  const connection = await loadDump(NAME)
  await upgrade(connection)
  const key = Buffer.from(beside.EncryptionKey, 'hex')
  return startTestService({ connection, key, now: () => Date.parse(beside.MadeAt) })
}

const service = await upgraded()
const clients = Object.fromEntries(
  Object.entries(beside.Accounts).map(([name, { account, key }]) => [
    name,
    clientOf(service.app, BigInt(account), key),
  ]),
)
const client = (name: string) => clients[name] as TestClient
const clientOfFile = ({ account }: SentFile) =>
  Object.values(clients).find(({ id }) => id === BigInt(account)) as TestClient

const send = (file: SentFile) =>
  clientOfFile(file).request('POST', `/v1/resultfiles?gatewayID=${file.gatewayID}`, file.body, {
    'content-type': 'application/xml',
  })

type Counts = [matched: number, applied: number, known: number, listed: number]
const countsOf = ({ Matched, Applied, AlreadyKnown, Unmatched }: SentFile['answer']): Counts => [
  Matched,
  Applied,
  AlreadyKnown,
  Unmatched,
]

/** Counts of the files that the program of the time had counted known lines in, once they are sent again. */
const AGAIN: Record<string, Counts> = {
  'a return with the reference of its settlement': [1, 1, 0, 0],
  'the second return, NONREF': [1, 1, 0, 0],
  'two credits, NONREF': [0, 0, 0, 2],
  'another detail, NOTPROVIDED': [1, 1, 0, 0],
  // A real reference, and nothing of ours is named: the page for people says how such money is found.
  'the next day numbered from 1': [0, 0, 1, 0],
  'a credit at noon, NONREF': [0, 0, 0, 1],
  'the same credit at night, NONREF': [0, 0, 0, 1],
  'the same credit at night': [0, 0, 1, 0],
  // The return of that day again; a credit like one that waits by now; one that is known.
  'all of a day again': [1, 0, 1, 1],
  // A return of a debit that a person had taken back meanwhile.
  'another return, 0': [2, 1, 0, 0],
  'a credit after a rejection, NONREF': [0, 0, 0, 1],
  'the statement of both': [1, 0, 1, 0],
  'the same return at night': [1, 0, 0, 0],
  'live: another credit': [0, 0, 0, 1],
}

const marked = async (name: string): Promise<number[]> =>
  (await client(name).get('/v1/resultfiles?isToBeSentAgain=true&page_size=200')).body.map(
    ({ resultFileID }: { resultFileID: number }) => resultFileID,
  )
const idsOfAgain = (name: string): number[] =>
  beside.Files.filter((file) => file.account === beside.Accounts[name]?.account && file.name in AGAIN).map(
    ({ answer }) => answer.resultFileID,
  )
const counted = async () =>
  (await service.db.unscoped.rows<{ n: bigint }>(sql`select count_files_to_send_again() as "n"`))[0]?.n

/** Everything of an account that money shows in. */
async function booksOf(name: string) {
  const list = async (path: string) => (await client(name).get(`${path}?page_size=200`)).body
  const statuses = async (path: string, id: string): Promise<Record<string, string>> =>
    Object.fromEntries((await list(path)).map((one: Record<string, string>) => [one[id], one['Status']]))
  const balances: { Account: string; Balance: number }[] = await list('/v1/ledger/balances')
  return {
    payments: await statuses('/v1/payments', 'paymentID'),
    invoices: await statuses('/v1/invoices', 'invoiceID'),
    cash: balances.find(({ Account }) => Account === 'cash')?.Balance ?? 0,
  }
}

test('finished files with known lines are marked, filtered and counted, and others are not', async () => {
  for (const name of Object.keys(clients)) expect([name, await marked(name)]).toEqual([name, idsOfAgain(name)])
  expect(await counted()).toBe(BigInt(Object.keys(AGAIN).length))
  const others = (await client('references').get('/v1/resultfiles?isToBeSentAgain=false')).body
  expect(others).toHaveLength(
    beside.Files.filter(({ account }) => account === beside.Accounts['references']?.account).length -
      idsOfAgain('references').length,
  )
})

test('sent again, the lines that were taken for known are worked on, each once, and the mark goes', async () => {
  const before = {
    placeholders: await booksOf('placeholders'),
    references: await booksOf('references'),
    live: await booksOf('live'),
  }
  for (const file of beside.Files) {
    const again = await send(file)
    expect([file.name, again.status, countsOf(again.body)], again.text).toEqual([
      file.name,
      200,
      AGAIN[file.name] ?? countsOf(file.answer),
    ])
    expect(again.body.resultFileID).toBe(file.answer.resultFileID)
  }
  for (const name of Object.keys(clients)) expect(await marked(name)).toEqual([])
  expect(await counted()).toBe(0n)

  // Payments 2, 4 and 5 of the collection were taken back by the bank; no other is touched, and nothing is booked for what is listed.
  const { placeholders } = before
  const ids = Object.keys(placeholders.payments)
  const taken = [1, 3, 4].map((index) => ids[index] as string)
  const after = await booksOf('placeholders')
  expect(after.payments).toEqual({ ...placeholders.payments, ...Object.fromEntries(taken.map((id) => [id, 'Failed'])) })
  const unpaid = [1, 3, 4].map((index) => Object.keys(placeholders.invoices)[index] as string)
  expect(after.invoices).toEqual({
    ...placeholders.invoices,
    ...Object.fromEntries(unpaid.map((id) => [id, 'Past Due'])),
  })
  expect(after.cash).toBe(placeholders.cash - 3 * 115)
  expect(await booksOf('references')).toEqual(before.references)
  expect(await booksOf('live')).toEqual(before.live)
  for (const name of Object.keys(clients)) expect(await differencesOf(service, client(name))).toEqual([])
})

test('what is listed says what it is: credits, the same one twice as such, and the money that came after a rejection with its payment', async () => {
  const linesOf = async (name: string) => {
    const { answer } = beside.Files.find((file) => file.name === name) as SentFile
    const { Lines } = (await client('placeholders').get(`/v1/resultfiles/${answer.resultFileID}`)).body
    return Lines as Record<string, unknown>[]
  }
  const [ten, eleven] = await linesOf('two credits, NONREF')
  expect([ten, eleven]).toMatchObject([
    { Kind: 'credit', Amount: 10, State: 'open', sameAs: null },
    { Kind: 'credit', Amount: 11, State: 'open', sameAs: null },
  ])
  const [noon] = await linesOf('a credit at noon, NONREF')
  expect(await linesOf('the same credit at night, NONREF')).toMatchObject([{ Amount: 12, sameAs: noon?.['lineID'] }])
  expect(await linesOf('all of a day again')).toMatchObject([{ Amount: 10, sameAs: ten?.['lineID'] }])
  expect(await linesOf('a credit after a rejection, NONREF')).toMatchObject([
    { Kind: 'credit', Amount: 115, State: 'open', paymentID: expect.any(Number) },
  ])
})

test('sent a third time, nothing changes', async () => {
  const events = () =>
    Promise.all(
      Object.values(clients).map(
        async (one) => (await one.get('/v1/events?total=true&page_size=1')).headers['total-count'],
      ),
    )
  const before = await events()
  for (const file of beside.Files) {
    const again = await send(file)
    expect([file.name, again.status, countsOf(again.body)]).toEqual([
      file.name,
      200,
      AGAIN[file.name] ?? countsOf(file.answer),
    ])
  }
  expect(await events()).toEqual(before)
})

test('killed at any transaction, a file goes on where it was: the counts and books of one that was not', async () => {
  const another = await upgraded()
  let kills = 0
  for (const file of beside.Files.filter(({ name }) => name in AGAIN)) {
    const id = BigInt(file.account)
    const account = await getAccount(another.db.reader(id), id)
    const context = {
      account,
      moment: momentOf(account, () => Date.parse(beside.MadeAt)),
      actor: 'key 1',
    } as RequestContext
    for (let nth = 1; ; nth += 1) {
      const deps = { ...another.calling, db: dyingAt(another.db, nth), linesOfService: NO_LINES_OF_SERVICE }
      const received = await receiveFile(deps, context, BigInt(file.gatewayID), Buffer.from(file.body)).catch(
        (error: Error) => error,
      )
      // A lease of a process that died lapses.
      await another.db.transaction(id, (tx) =>
        tx.rows(sql`update leases set leased_until = clock_timestamp() - interval '1 second' where account_id = ${id}`),
      )
      if (received instanceof Error) {
        expect(received.message).toBe('killed')
        kills += 1
        continue
      }
      const { matched, applied, alreadyKnown, unmatched, isToBeSentAgain } = received.file
      expect([file.name, received.isNew, isToBeSentAgain, [matched, applied, alreadyKnown, unmatched]]).toEqual([
        file.name,
        false,
        false,
        AGAIN[file.name],
      ])
      break
    }
  }
  expect(kills).toBeGreaterThan(2 * Object.keys(AGAIN).length)
  for (const { account, key } of Object.values(beside.Accounts)) {
    const one = clientOf(another.app, BigInt(account), key)
    const [books, others] = await Promise.all(
      [one, clientOf(service.app, BigInt(account), key)].map((own) => own.get('/v1/ledger/balances')),
    )
    expect(books?.body).toEqual(others?.body)
    expect(await differencesOf(another, one)).toEqual([])
  }
})
