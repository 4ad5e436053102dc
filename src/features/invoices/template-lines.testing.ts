import type { TestClient, TestService } from '../../../test/support/app.ts'
import { arrayLiteral, sql } from '../../platform/database/sql.ts'
import { addCredited } from './state-queries.ts'

/** Writes the lines of all invoices of customers out as rows, by giving nothing back of them. */
export const writeOut = (
  { db }: TestService,
  client: TestClient,
  customers: readonly { customerID: number }[],
): Promise<void> =>
  db.transaction(client.id, async (tx) => {
    const found = await tx.rows<{ id: bigint }>(
      sql`select charge_id as "id" from charges where account_id = ${client.id} and invoice_id is not null`,
    )
    const none = found.map(() => null)
    for (const { customerID } of customers)
      await addCredited(tx, BigInt(customerID), {
        chargeIds: arrayLiteral(found.map(({ id }) => id)),
        days: arrayLiteral(none),
        amountsMinor: arrayLiteral(found.map(() => 0n)),
      })
  })

/** Text of an answer without identifiers, which differ between accounts. */
export const shown = (text: string): string =>
  text
    .replaceAll(/("\w*ID": ?)\d+/g, '$1"#"')
    .replaceAll(/\b(subscription|invoice|line|payment|note|component|subscriptions\/|credits\/) ?#?\d+/gi, '$1 #')
    .replaceAll(/"key \d+"/g, '"key #"')
    .replaceAll(/"[CIP]\d+"/g, '"#"')
