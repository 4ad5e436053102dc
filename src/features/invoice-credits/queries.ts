import type { Id, InvoiceId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { arrayLiteral, sql } from '../../platform/database/sql.ts'

/** Lists lines of an invoice with what is credited and left of each, net, in minor units. */
export const listLinesToCredit = (tx: Transaction, invoiceId: InvoiceId, chargeIds: readonly Id[]) =>
  tx.rows<{ chargeId: Id; name: string; creditedBeforeMinor: bigint; leftMinor: bigint }>(sql`
    select charge_id as "chargeId", coalesce(name, description, '') as "name", credited_minor as "creditedBeforeMinor",
           net_minor - credited_minor as "leftMinor"
      from charges where account_id = ${tx.account} and invoice_id = ${invoiceId} and charge_id = any(${arrayLiteral(chargeIds)}::bigint[])`)
