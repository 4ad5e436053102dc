import { describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { dyingAt } from '../../../test/support/dying-database.ts'
import { differencesOf } from '../../../test/support/shop.ts'
import { momentOf } from '../../kernel/context.ts'
import { type PackedFile, zipOf } from '../../platform/archive/archive.testing.ts'
import { sql } from '../../platform/database/sql.ts'
import { getAccount } from '../accounts/queries.ts'
import { NO_LINES_OF_SERVICE } from '../batches/hooks.ts'
import { receiveArchive } from './receive-archive.ts'
import { bank, entryXml, reportXml, statementXml } from './result-files.testing.ts'

/** ZIP archives of result files: each file in one is a result file of its own. */

const service = await startTestService()

type Bank = Awaited<ReturnType<typeof bank>>

const sent = (shop: Bank, archive: Buffer, type = 'application/zip') => shop.send(archive, { 'content-type': type })
const statusOf = async ({ client, sent: lines }: Bank) =>
  Promise.all(lines.map(async ({ paymentId }) => (await client.get(`/v1/payments/${paymentId}`)).body.Status))

/** A return of one payment, a rejection of another, and a credit of nobody. */
function month(shop: Bank): [PackedFile, PackedFile, PackedFile] {
  const [returned, rejected] = shop.sent.map((line) => shop.reference(line)) as [string, string]
  const credit = entryXml({ isCredit: true, amount: 500n, text: 'Thanks', bankReference: 'C' })
  return [
    { name: 'c53.xml', content: statementXml([entryXml({ reference: returned, code: 'AC04', bankReference: 'R' })]) },
    { name: 'p02.xml', content: reportXml({ message: 'X', rejected: [{ reference: rejected, code: 'AM04' }] }) },
    {
      name: 'c54.xml',
      content: statementXml([credit, entryXml().replace(/<Sts>.*?<\/Sts>/, '')], { message: 'camt.054' }),
    },
  ]
}

describe('an archive', () => {
  test('is worked on file by file; what cannot be read stops no other; sent again it answers as before', async () => {
    const shop = await bank(service, 2, { settings: {} })
    const [statement, report, notification] = month(shop)
    const archive = zipOf(
      { name: 'january/', content: '' },
      statement,
      { name: 'january/notes.pdf', content: '%PDF-1.7' },
      { name: 'empty.xml', content: '' },
      report,
      { name: 'other.xml', content: statementXml([], { iban: 'DE02120300000000202051' }) },
      notification,
    )
    const reply = await sent(shop, archive)
    expect(reply.status, reply.text).toBe(201)
    const none = { Code: null, Message: null }
    const counts = {
      OtherAccounts: 0,
      Warnings: [],
      AlreadyKnown: 0,
      Unmatched: 0,
      Matched: 1,
      Applied: 1,
      Payments: 1,
    }
    const refused = {
      resultFileID: null,
      Format: null,
      Matched: null,
      Applied: null,
      Payments: null,
      AlreadyKnown: null,
      Unmatched: null,
      OtherAccounts: null,
      Warnings: null,
    }
    const id = expect.any(Number)
    expect(reply.body).toEqual({
      resultFileID: null,
      Sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      Format: 'zip',
      ...counts,
      Matched: 2,
      Applied: 2,
      Payments: 2,
      Unmatched: 1,
      Warnings: [{ Code: 'status_missing', Count: 1 }],
      Files: [
        { Name: 'c53.xml', resultFileID: id, Format: 'camt.053.001.02', ...counts, ...none },
        { Name: 'january/notes.pdf', ...refused, Code: 'file_unreadable', Message: expect.any(String) },
        { Name: 'p02.xml', resultFileID: id, Format: 'pain.002.001.10', ...counts, ...none },
        { Name: 'other.xml', ...refused, Code: 'other_account', Message: expect.any(String) },
        {
          Name: 'c54.xml',
          resultFileID: id,
          Format: 'camt.054.001.02',
          ...counts,
          Matched: 0,
          Applied: 0,
          Payments: 0,
          Unmatched: 1,
          Warnings: [{ Code: 'status_missing', Count: 1 }],
          ...none,
        },
      ],
    })
    expect(await statusOf(shop)).toEqual(['Failed', 'Failed'])
    const again = await sent(shop, archive, 'application/octet-stream')
    expect([again.status, again.body]).toEqual([200, reply.body])
    const single = await shop.send(report.content)
    expect(single.status).toBe(200)
    expect(single.body).toMatchObject({ resultFileID: reply.body.Files[2].resultFileID, Files: null, Applied: 1 })
    expect((await shop.client.get('/v1/resultfiles')).body).toHaveLength(3)
    expect(await differencesOf(service, shop.client)).toEqual([])
  })

  test('with something new beside what was read answers 201; a file that is in it twice counts once', async () => {
    const shop = await bank(service, 2, { settings: {} })
    const [statement, report] = month(shop)
    const first = await sent(shop, zipOf(statement, { ...statement, name: 'copy.xml' }))
    expect([first.status, first.body.Applied, first.body.Files.map((one: any) => one.Applied)]).toEqual([
      201,
      1,
      [1, 1],
    ])
    expect(new Set(first.body.Files.map((one: any) => one.resultFileID)).size).toBe(1)
    const more = await sent(shop, zipOf(statement, { ...report, name: statement.name }))
    expect([more.status, more.body.Applied]).toEqual([201, 2])
    expect(more.body.Files.map((one: any) => one.Name)).toEqual(['c53.xml', 'c53.xml'])
    expect(await statusOf(shop)).toEqual(['Failed', 'Failed'])
  })

  test('of which no file can be read is refused as its first is', async () => {
    const shop = await bank(service, 0, { settings: {} })
    const pdf = { name: 'a.pdf', content: '%PDF' }
    const other = { name: 'b.xml', content: statementXml([], { iban: 'DE02120300000000202051' }) }
    const code = ({ status, body }: any) => [status, body.Errors[0].Code]
    expect(code(await sent(shop, zipOf(pdf, other)))).toEqual([400, 'file_unreadable'])
    expect(code(await sent(shop, zipOf(other, pdf)))).toEqual([409, 'other_account'])
    const unknown = await shop.client.request('POST', '/v1/resultfiles?gatewayID=999999', zipOf(other) as any, {
      'content-type': 'application/zip',
    })
    expect(code(unknown)).toEqual([400, 'gateway_unknown'])
  })
})

describe('an archive changes nothing and is refused', () => {
  const hostile: [string, (file: PackedFile) => Buffer, string?][] = [
    ['that is encrypted', (file) => zipOf(file, { name: 'b', content: 'b', lie: { flags: 1 } })],
    ['with an archive in it', (file) => zipOf(file, { name: 'b.zip', content: zipOf(file) })],
    ['that says that a file is smaller', (file) => zipOf(file, { ...file, lie: { size: 10 } })],
    [
      'with a file of more than 32 MiB that says that it has 1 KB',
      (file) => zipOf(file, { name: 'b', content: Buffer.alloc(33 << 20), lie: { size: 1_000 } }),
    ],
    [
      'of more than 128 MiB',
      (file) => zipOf(file, ...Array.from({ length: 5 }, () => ({ name: 'b', content: Buffer.alloc(30 << 20) }))),
    ],
    ['of 101 files', (file) => zipOf(...Array.from({ length: 101 }, () => file))],
    ['without a file', () => zipOf({ name: 'a/', content: '' })],
    ['that is cut off', (file) => zipOf(file).subarray(0, -10)],
    ['that is none and is sent as one', (file) => Buffer.from(file.content), 'application/zip; charset=binary'],
  ]

  test.each(hostile)('%s', async (_name, make, type) => {
    const shop = await bank(service, 2, { settings: {} })
    const reply = await sent(shop, make(month(shop)[0]), type)
    expect([reply.status, reply.body.Errors?.[0].Code], reply.text).toEqual([400, 'archive_unreadable'])
    expect(await statusOf(shop)).toEqual(['Pending', 'Pending'])
    expect((await shop.client.get('/v1/resultfiles')).body).toEqual([])
  })

  test('other media types are told those that are read', async () => {
    const shop = await bank(service, 0)
    const reply = await sent(shop, zipOf(), 'application/x-tar')
    expect([reply.status, reply.body.Errors[0].Message]).toEqual([415, expect.stringContaining('application/zip')])
  })
})

test('an archive that is killed anywhere goes on where it was: its counts are those of one that was not', async () => {
  const shop = await bank(service, 2, { settings: {} })
  const { id } = shop.client
  const archive = zipOf(...month(shop))
  const account = await getAccount(service.db.reader(id), id)
  const context = { account, moment: momentOf(account, Date.now), actor: 'key 1' } as any
  let kills = 0
  for (let hasBeenThrough = false; !hasBeenThrough; kills += 1) {
    // Each process gets one transaction further than the one before it.
    const deps = { ...service.calling, db: dyingAt(service.db, 2 + (kills % 3)), linesOfService: NO_LINES_OF_SERVICE }
    const killed = await receiveArchive(deps, context, BigInt(shop.gateway.gatewayID), archive).catch(
      (error: Error) => error,
    )
    hasBeenThrough = !(killed instanceof Error)
    if (killed instanceof Error) expect(killed.message).toBe('killed')
    // A lease of a process that died lapses.
    await service.db.transaction(id, (tx) =>
      tx.rows(sql`update leases set leased_until = moment() - interval '1 second' where account_id = ${id}`),
    )
    expect(kills).toBeLessThan(30)
  }
  expect(kills).toBeGreaterThan(3)
  const { body } = await sent(shop, archive)
  expect(body).toMatchObject({ Matched: 2, Applied: 2, Payments: 2, AlreadyKnown: 0, Unmatched: 1 })
  expect(await statusOf(shop)).toEqual(['Failed', 'Failed'])
  expect(await differencesOf(service, shop.client)).toEqual([])
})
