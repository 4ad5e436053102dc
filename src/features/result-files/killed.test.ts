import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { dyingAt } from '../../../test/support/dying-database.ts'
import { differencesOf } from '../../../test/support/shop.ts'
import { momentOf } from '../../kernel/context.ts'
import { sql } from '../../platform/database/sql.ts'
import { getAccount } from '../accounts/queries.ts'
import { NO_LINES_OF_SERVICE } from '../batches/hooks.ts'
import { receiveFile } from './receive.ts'
import { bank, entryXml, statementXml } from './result-files.testing.ts'

const service = await startTestService()

test('killed anywhere, the same bytes go on where it was: each line is done once, and the counts are those of one reading', async () => {
  const LINES = 4
  const file = (shop: Awaited<ReturnType<typeof bank>>) => {
    const plain = shop.token.replaceAll('-', '')
    const strange = Array.from({ length: 120 }, (_, n) =>
      entryXml({ isCredit: true, amount: BigInt(n + 1), text: `Transfer ${n}`, bankReference: `X${n}` }),
    )
    const [one, two] = shop.sent.map((line) => shop.reference(line)) as [string, string]
    return statementXml([
      entryXml({ reference: one, code: 'AC04', bankReference: 'A' }),
      ...strange.slice(0, 60),
      entryXml({ reference: two, code: 'AM04', amount: 11_600n, original: 11_500n, bankReference: 'B' }),
      ...strange.slice(60),
      entryXml({ isCredit: true, amount: 23_000n, family: 'IDDT', batch: { message: plain }, bankReference: 'C' }),
    ])
  }
  const counts = { Matched: 3, Applied: 3, Payments: 4, AlreadyKnown: 0, Unmatched: 121 }
  let hasBeenThrough = false
  for (let nth = 1; !hasBeenThrough; nth += 1) {
    const shop = await bank(service, LINES)
    const { id } = shop.client
    const bytes = Buffer.from(file(shop))
    const account = await getAccount(service.db.reader(id), id)
    const context = { account, moment: momentOf(account, Date.now), actor: 'key 1' } as any
    const deps = { ...service.calling, db: dyingAt(service.db, nth), linesOfService: NO_LINES_OF_SERVICE }
    const killed = await receiveFile(deps, context, BigInt(shop.gateway.gatewayID), bytes).catch(
      (error: Error) => error,
    )
    hasBeenThrough = !(killed instanceof Error)
    // A lease of a process that died lapses.
    await service.db.transaction(id, (tx) =>
      tx.rows(sql`update leases set leased_until = moment() - interval '1 second' where account_id = ${id}`),
    )
    const again = await shop.send(bytes.toString())
    expect([again.status, nth], again.text).toEqual([hasBeenThrough ? 200 : 201, nth])
    expect({ nth, ...again.body }).toMatchObject({ nth, ...counts })
    const lines = (await shop.client.get(`/v1/resultfiles/${again.body.resultFileID}`)).body.Lines
    expect([lines.length, new Set(lines.map(({ Reference }: any) => Reference)).size]).toEqual([121, 121])
    const statuses = shop.sent.map(
      async ({ paymentId }) => (await shop.client.get(`/v1/payments/${paymentId}`)).body.Status,
    )
    expect(await Promise.all(statuses)).toEqual(['Failed', 'Failed', 'Allocated', 'Allocated'])
    expect(await differencesOf(service, shop.client)).toEqual([])
    expect(nth).toBeLessThan(20)
  }
})
