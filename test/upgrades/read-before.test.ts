import { expect, test } from 'vitest'
import { clientOf, startTestService } from '../support/app.ts'
import { differencesOf, moveTo } from '../support/shop.ts'
import { type Entry, statement } from './bank-files.ts'
import { besideDump, loadDump, upgrade } from './dump.testing.ts'
import type { SentFile } from './firm.ts'

/** New bank files after an upgrade, about what was read before it: references without amounts, lines that wait, results of debits. */

const NAME = 'before-0.1.0'
const beside = besideDump(NAME)
const connection = await loadDump(NAME)
await upgrade(connection)
const service = await startTestService({
  connection,
  key: Buffer.from(beside.EncryptionKey, 'hex'),
  now: () => Date.parse(beside.MadeAt),
})
const { account, key } = beside.Accounts['placeholders'] as { account: number; key: string }
const client = clientOf(service.app, BigInt(account), key)
const files = beside.Files.filter((file) => file.account === account)
const { gatewayID } = files[0] as SentFile

const payments = beside.Answers['placeholders']?.['/v1/payments'] as { paymentID: number }[]
/** The debit of a line of the collection, counted from 1. */
const sent = (line: number) => {
  const { paymentID = 0 } = payments[line - 1] ?? {}
  return { endToEnd: `P${account}-${paymentID}`, mandate: `M-${line}`, debtor: `Payer ${line}` }
}
const statusOf = async (line: number) => (await client.get(`/v1/payments/${payments[line - 1]?.paymentID}`)).body.Status

let messages = 0
/** Sends a statement of entries that no file had; returns its counts and lines. */
async function read(...entries: Entry[]) {
  messages += 1
  const body = statement('DE89370400440532013000', `NEW-${messages}`, entries)
  const answer = await client.request('POST', `/v1/resultfiles?gatewayID=${gatewayID}`, body, {
    'content-type': 'application/xml',
  })
  expect(answer.status, answer.text).toBe(201)
  const { Matched, Applied, AlreadyKnown, Unmatched, resultFileID } = answer.body
  const { Lines } = (await client.get(`/v1/resultfiles/${resultFileID}`)).body
  return { counts: [Matched, Applied, AlreadyKnown, Unmatched], Lines }
}
const lineOf = async (name: string) => {
  const { answer } = files.find((file) => file.name === name) as SentFile
  return (await client.get(`/v1/resultfiles/${answer.resultFileID}`)).body.Lines[0].lineID as number
}

const credit: Entry = { isCredit: true, amount: '13.00', on: '2027-01-21', reference: 'R77', text: 'same' }
const returned = (line: number, more: Partial<Entry> = {}): Entry => ({
  amount: '115.00',
  on: '2027-01-21',
  sent: sent(line),
  code: 'AC04',
  reference: `NEW-${line}`,
  ...more,
})

test('a real reference that was read before makes a line known that is not dated after that day', async () => {
  expect((await read(credit)).counts).toEqual([0, 0, 1, 0])
  expect((await read({ ...credit, amount: '14.00' })).counts).toEqual([0, 0, 1, 0])
  await moveTo(client, '2027-02-01')
  expect((await read({ ...credit, on: '2027-01-25' })).counts).toEqual([0, 0, 0, 1])
})

test('a placeholder makes nothing known, nor does any reference what names a payment', async () => {
  expect((await read({ ...credit, reference: 'NONREF', text: 'other' })).counts).toEqual([0, 0, 0, 1])
  expect((await read({ ...credit, reference: '0', text: 'third' })).counts).toEqual([0, 0, 0, 1])
  expect(await statusOf(12)).toBe('Allocated')
  expect((await read(returned(12, { reference: 'R77' }))).counts).toEqual([1, 1, 0, 0])
  expect(await statusOf(12)).toBe('Failed')
})

test('a line like one that was listed before the upgrade has it as sameAs', async () => {
  const before = await lineOf('a credit at noon')
  const { counts, Lines } = await read({ ...credit, reference: 'NONREF' })
  expect([counts, Lines]).toMatchObject([[0, 0, 0, 1], [{ Kind: 'credit', Amount: 13, sameAs: before }]])
})

test('a return that a file brought before is kept with its day: that one again is nothing new, another is listed', async () => {
  expect((await read(returned(1))).counts).toEqual([1, 0, 0, 0])
  const another = await read(returned(1, { on: '2027-01-25', reference: 'NEW-1-2' }))
  expect(another).toMatchObject({
    counts: [0, 0, 0, 1],
    Lines: [{ Kind: 'return', paymentID: payments[0]?.paymentID }],
  })
})

test('a credit of what counts as received passes; one of what a status had failed is listed with its payment', async () => {
  const settled = { isCredit: true, on: '2027-01-13', code: '' }
  expect((await read(returned(11, settled))).counts).toEqual([1, 0, 0, 0])
  expect(await statusOf(11)).toBe('Allocated')
  const rejected = await read(returned(8, { ...settled, reference: 'NEW-8' }))
  expect(rejected).toMatchObject({
    counts: [0, 0, 0, 1],
    Lines: [{ Kind: 'credit', paymentID: payments[7]?.paymentID }],
  })
  expect(await statusOf(8)).toBe('Failed')
  expect(await differencesOf(service, client)).toEqual([])
})
