import type pg from 'pg'
import { hasFunction } from '../database/is-there.ts'
import { doubtful, type Finding } from './finding.ts'

/** Gateways that are held: what was to be collected through them waits. */

export async function checkHolds(client: pg.Client): Promise<Finding[]> {
  if (!(await hasFunction(client, 'perennial.list_held_gateways()'))) return []
  const { rows } = await client.query<{ id: string; account: string; heldFor: string }>(
    `select gateway_id::text as "id", account_id::text as "account", held_for as "heldFor" from perennial.list_held_gateways()`,
  )
  return rows.map(({ id, account, heldFor }) =>
    doubtful(
      'gateways',
      `no money moves through gateway ${id} of account ${account}: it is held (${heldFor})`,
      `compare its console with what the service has, then run: perennial gateway release ${id}`,
    ),
  )
}
