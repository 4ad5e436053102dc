import { randomUUID } from 'node:crypto'
import type { AccountId } from '../../kernel/ids.ts'
import type { Database, Transaction } from './database.ts'
import { type Fragment, fragment, namesOf, sql } from './sql.ts'

/**
 * Leases: rows that name the process which does some work of an account that only one may do at a time. Neither a connection nor a
 * transaction is held meanwhile. The holder renews its lease; that of a holder that died lapses. The database's clock decides for all processes:
 * `moment()`, which an engine over several servers asks before a statement leaves for the server of the account. There it stands still while the
 * statement waits for a row.
 */

/** A third of a lease. */
const RENEW_EVERY_MS = 10_000

export interface Lease {
  readonly name: string
  readonly holder: string
}

const LENGTH = '30 seconds'

/**
 * By so much more than its length a lease may last and still be held: the longest transaction (`TRANSACTION_MS`). A statement that waited for the row
 * while its holder renewed it compares with an earlier moment. A lease that ends later still was taken before the clock stepped back.
 */
const WAITED_AT_MOST = '10 minutes'

/** The end of a lease that is taken or renewed now. */
export const UNTIL = fragment`moment(${namesOf(`'${LENGTH}'`)})`

/** Returns the condition that a column holds the end of a lease, or of a wait, that lasts. Null: none. */
export const isHeld = (column: string, length = LENGTH): Fragment =>
  namesOf(
    `(${column} is not null and ${column} > moment() and ${column} <= moment(interval '${length}' + '${WAITED_AT_MOST}'))`,
  )

/** Returns the condition that a column holds no end of a lease, or of a wait, that lasts. */
export const isOver = (column: string, length = LENGTH): Fragment =>
  namesOf(
    `(${column} is null or ${column} <= moment() or ${column} > moment(interval '${length}' + '${WAITED_AT_MOST}'))`,
  )

/** Takes a lease, for others to see from the commit on; undefined while another holds it. */
export async function takeLease(tx: Transaction, name: string): Promise<Lease | undefined> {
  const holder = randomUUID()
  const taken =
    (await tx.first(sql`
      update leases set holder = ${holder}, leased_until = ${UNTIL}
       where account_id = ${tx.account} and name = ${name} and ${isOver('leased_until')} returning holder`)) ??
    (await tx.first(sql`
      insert into leases (account_id, name, holder, leased_until) values (${tx.account}, ${name}, ${holder}, ${UNTIL})
      on conflict (account_id, name) do nothing returning holder`))
  return taken ? { name, holder } : undefined
}

/** Renews a lease; false when it has lapsed and another took it. In the transaction of a step it proves that the step may still be done. */
export const renewLease = async (tx: Transaction, { name, holder }: Lease): Promise<boolean> =>
  (await tx.first(sql`
    update leases set leased_until = ${UNTIL}
     where account_id = ${tx.account} and name = ${name} and holder = ${holder} returning holder`)) !== undefined

/** Ends a lease; false when it has lapsed and another took it. */
export const releaseLease = async (tx: Transaction, { name, holder }: Lease): Promise<boolean> =>
  (await tx.first(sql`
    delete from leases where account_id = ${tx.account} and name = ${name} and holder = ${holder} returning holder`)) !==
  undefined

/** Runs work under a lease that was taken, renewing it meanwhile. Work that fails ends it; work that is done ends it in its last transaction. */
export async function underLease<T>(
  db: Pick<Database, 'transaction'>,
  account: AccountId,
  lease: Lease,
  work: () => Promise<T>,
): Promise<T> {
  // A renewal that fails is made up for by the next; if none succeeds, the steps of the work find that the lease is lost.
  const renew = () => void db.transaction(account, (tx) => renewLease(tx, lease)).catch(() => {})
  const timer = setInterval(renew, RENEW_EVERY_MS)
  try {
    return await work()
  } catch (error) {
    await db.transaction(account, (tx) => releaseLease(tx, lease)).catch(() => {})
    throw error
  } finally {
    clearInterval(timer)
  }
}
