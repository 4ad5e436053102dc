import { type GlCodes, NO_GL_CODES } from '../../engine/books/codes.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'

/** Adds the settings that have come since the codes were written. */
const withSettings = (codes: GlCodes): GlCodes => ({ ...codes, datev: { ...NO_GL_CODES.datev, ...codes.datev } })

/** Returns the codes of an account; until it sets any it has none, and the settings that every account starts with. */
export const getGlCodes = async (db: Queryable, account: AccountId): Promise<GlCodes> =>
  withSettings(
    (await db.first<GlCodes>(
      sql`select accounts, debtor, methods, datev from gl_codes where account_id = ${account}`,
    )) ?? NO_GL_CODES,
  )

/** Locks the codes of an account against other changes of them, and returns them. The row is made where there is none to lock. */
export async function lockGlCodes(tx: Transaction): Promise<GlCodes> {
  await tx.rows(sql`
    insert into gl_codes (account_id, accounts, methods, datev)
    values (${tx.account}, '{}', '{}', ${JSON.stringify(NO_GL_CODES.datev)}::jsonb) on conflict (account_id) do nothing`)
  await tx.rows(sql`select 1 from gl_codes where account_id = ${tx.account} for no key update`)
  return getGlCodes(tx, tx.account)
}

export const updateGlCodes = (tx: Transaction, codes: GlCodes) =>
  tx.rows(sql`
    update gl_codes
       set accounts = ${JSON.stringify(codes.accounts)}::jsonb, debtor = ${codes.debtor}, methods = ${JSON.stringify(codes.methods)}::jsonb,
           datev = ${JSON.stringify(codes.datev)}::jsonb
     where account_id = ${tx.account}`)
