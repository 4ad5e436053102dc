import type { IsoDate } from '../../kernel/calendar.ts'
import type { CustomerId, Id } from '../../kernel/ids.ts'
import type { MethodKind } from '../../kernel/rails.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { fragment, sql } from '../../platform/database/sql.ts'

/** Facts of a payment method that decide whether an invoice can be collected by it. */
export interface MethodFacts {
  id: Id
  customerId: CustomerId
  kind: MethodKind
  isRejected: boolean
  /** Of a card, and of an account that its gateway keeps: that gateway, and the gateway's name of it, which never leaves the service. */
  gatewayId: Id | null
  gatewayToken: string | null
  /** Of a sepa account: its mandate, as far as it is known. */
  mandateReference: string | null
  mandateDate: IsoDate | null
}

const METHOD = fragment`
  m.payment_method_id as "id", m.customer_id as "customerId", m.kind, m.state = 'rejected' as "isRejected", m.gateway_id as "gatewayId",
  m.gateway_token as "gatewayToken", m.mandate_reference as "mandateReference", m.mandate_date as "mandateDate"`

export const findMethodFacts = (db: Queryable, account: Id, id: Id) =>
  db.first<MethodFacts>(sql`
    select ${METHOD} from payment_methods m where m.account_id = ${account} and m.payment_method_id = ${id}`)

/** A customer's own choice of gateway, and the customer's primary method; null where there is none. */
export interface CustomerChoice {
  customerId: CustomerId
  gatewayId: Id | null
  primary: MethodFacts | null
}

/** Lists the choices of customers, in one statement whatever their number. */
export const listCustomerChoices = async (
  tx: Transaction,
  customerIds: readonly CustomerId[],
): Promise<Map<CustomerId, CustomerChoice>> =>
  new Map(
    (
      await tx.rows<MethodFacts & { customerGatewayId: Id | null; ownerId: CustomerId; id: Id | null }>(sql`
        select c.customer_id as "ownerId", c.primary_gateway_id as "customerGatewayId", ${METHOD}
          from customers c
          left join payment_methods m on m.account_id = ${tx.account} and m.customer_id = c.customer_id and m.is_primary
         where c.account_id = ${tx.account} and c.customer_id = any(${`{${customerIds.join(',')}}`}::bigint[])`)
    ).map(({ ownerId, customerGatewayId, ...method }) => [
      ownerId,
      { customerId: ownerId, gatewayId: customerGatewayId, primary: method.id === null ? null : method },
    ]),
  )
