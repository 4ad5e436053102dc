import type { TestClient, TestService } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'

/** The ledger of an account in the order posted, one line an entry: day, event, debit → credit, tax, minor amount. */
export async function ledgerOf(service: TestService, client: TestClient): Promise<string[]> {
  const rows = await service.db.reader(client.id).rows<{ line: string }>(sql`
      select concat_ws(' ', dated, event || case when is_reversal then '_reversed' else '' end, debit || '→' || credit, tax_name, amount_minor) as "line"
        from ledger_entries where account_id = ${client.id} order by entry_id`)
  return rows.map(({ line }) => line)
}
