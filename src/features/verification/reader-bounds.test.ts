import pg from 'pg'
import { afterAll, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { differencesOf, shop } from '../../../test/support/shop.ts'
import { clientConfig } from '../../platform/database/open-database.ts'
import { reported } from './tamper.testing.ts'

/** Verification of what readers find by bounds: a check has none of them, so that it does not agree with a reader that passes something over. */

const service = await startTestService()
const superuser = new pg.Client(clientConfig(service.connection, undefined))
await superuser.connect()
afterAll(() => superuser.end())

const BLOCK = 4096n
/** Most identifiers of a pack of events. */
const MOST = 256n

/** Lets all identifiers of events below one be drawn, and counts the blocks below. */
async function sealBelow(id: bigint): Promise<void> {
  await superuser.query(`select setval('event_rows_event_id_seq', $1)`, [id])
  // The first look notes what has been drawn, the second finds that nobody draws any more.
  for (let look = 0; look < 2; look += 1) await superuser.query(`select seal_list('events')`)
}

/** Counts again the blocks from one on, as it was when everything before was counted. */
async function sealAgain(block: bigint): Promise<void> {
  await superuser.query(`delete from list_blocks where list = 'events' and block >= $1`, [block])
  await superuser.query(`update list_watermarks set sealed_until = $1 where list = 'events'`, [block * BLOCK])
  await superuser.query(`select seal_list('events')`)
}

test('a reader whose bound is one too small passes over the end of a pack, and that is found', async () => {
  const { client } = await shop(service)
  const block = 10n
  const first = block * BLOCK - MOST + 1n
  // A full pack whose last event is the first of a block, and one event of its own behind it.
  await superuser.query(
    `insert into event_packs (account_id, first_event_id, last_event_id, first_invoice_id, happened_at, actor, records)
     values ($1, $2, $3, 1, now(), 'test', '[{}]')`,
    [client.id, first, block * BLOCK],
  )
  await superuser.query(
    `insert into event_rows (account_id, event_id, type, record_id, happened_at, actor, record)
     values ($1, $2, 'account.updated', $1, now(), 'test', '{}')`,
    [client.id, block * BLOCK + 1n],
  )
  await sealBelow(block * BLOCK + 1n)
  await sealBelow((block + 1n) * BLOCK + 1n)
  const counted = async () =>
    reported((await differencesOf(service, client)).filter(({ check }) => check === 'counted lists'))
  expect(await counted()).toEqual([])

  await superuser.query(`update counted_lists set pack_ids = pack_ids - 1 where list = 'events'`)
  await sealAgain(block)
  expect(await counted()).toEqual([
    `counted lists: list ${block}: records of events counted in this block says 1, should say 2`,
  ])
  await superuser.query(`update counted_lists set pack_ids = pack_ids + 1 where list = 'events'`)
  await sealAgain(block)
  expect(await counted()).toEqual([])
})
