import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { differencesOf } from '../../../test/support/shop.ts'
import { momentOf } from '../../kernel/context.ts'
import type { Database } from '../../platform/database/database.ts'
import { getAccount } from '../accounts/queries.ts'
import { NO_LINES_OF_SERVICE } from '../batches/hooks.ts'
import { receiveFile } from './receive.ts'
import { bank, entryXml, statementXml } from './result-files.testing.ts'

const service = await startTestService()

/** A database whose caller hangs up as the nth transaction begins. */
function hangingUpAt(db: Database, nth: number, hangUp: () => void): Database {
  let count = 0
  return {
    ...db,
    transaction: (account, work, settings) => {
      if ((count += 1) === nth) hangUp()
      return db.transaction(account, work, settings)
    },
  }
}

test('a caller who hangs up ends the file after its portion, at each of them; sent again it goes on, and each line is done once', async () => {
  const STRANGE = 1_200
  let hasBeenThrough = false
  for (let nth = 1; !hasBeenThrough; nth += 1) {
    const shop = await bank(service, 2)
    const { id } = shop.client
    const [one, two] = shop.sent.map((line) => shop.reference(line)) as [string, string]
    const file = statementXml([
      entryXml({ reference: one, code: 'AC04', bankReference: 'A' }),
      ...Array.from({ length: STRANGE }, (_, n) =>
        entryXml({ isCredit: true, amount: BigInt(n + 1), text: `Transfer ${n}`, bankReference: `X${n}` }),
      ),
      entryXml({ reference: two, isCredit: true, amount: 11_500n, original: 11_500n, bankReference: 'B' }),
    ])
    const account = await getAccount(service.db.reader(id), id)
    const context = { account, moment: momentOf(account, Date.now), actor: 'key 1' } as any
    const caller = new AbortController()
    const gone = new Error('gone')
    const about = { gone: caller.signal, progress: () => {}, isAbout: () => {} }
    const db = hangingUpAt(service.db, nth, () => caller.abort(gone))
    const deps = { ...service.calling, db, about, linesOfService: NO_LINES_OF_SERVICE }
    const outcome = await receiveFile(deps, context, BigInt(shop.gateway.gatewayID), Buffer.from(file)).catch(
      (error: Error) => error,
    )
    hasBeenThrough = !caller.signal.aborted
    if (outcome instanceof Error) expect(outcome).toBe(gone)
    // At once: nothing is held for a caller who has gone.
    const again = await shop.send(file)
    expect([again.status, nth], again.text).toEqual([outcome instanceof Error ? 201 : 200, nth])
    expect({ nth, ...again.body }).toMatchObject({ nth, Matched: 2, Applied: 2, AlreadyKnown: 0, Unmatched: STRANGE })
    expect(await differencesOf(service, shop.client)).toEqual([])
    expect(nth).toBeLessThan(20)
  }
})
