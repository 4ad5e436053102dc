import pino from 'pino'
import type { TestClient, TestService } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'
import { removalDuty } from '../payment-methods/removal.ts'
import { verifyAccount } from '../../checks.ts'
import { expect } from 'vitest'
import { giveBackDuty } from './duty.ts'

/** Sales as tests see them: the book of the sandbox, the work of the duties, and what the account has of it. */

export const APPROVED = '4242424242424242'
export const DECLINED = '4000000000000341'
export const BY_AMOUNT = '4000000000000077'

export const ONLY = { VaultingType: 'VaultNone', SaleType: 'SaleOnly' }

export const eventsOf = async (client: TestClient, type: string) =>
  (await client.get(`/v1/events?type=${type}`)).body.map(({ RecordID }: any) => RecordID)

export const paymentsOf = async (client: TestClient, customerID: number) =>
  (await client.get(`/v1/customers/${customerID}/payments`)).body

/** Makes the means to work on the sales of a service, and to read what became of them. */
export function salesOf(service: TestService) {
  const duty = { db: service.db, log: pino({ level: 'silent' }), realClock: Date.now }

  /** Reads the book of the sandbox of an account. */
  async function book({ id }: TestClient) {
    const rows = (text: ReturnType<typeof sql>) => service.db.reader(id).rows<any>(text)
    const [charges, refunds, cards] = await Promise.all([
      rows(sql`select state, amount_minor as "amount" from sandbox_charges where account_id = ${id} `),
      rows(sql`select reference from sandbox_refunds where account_id = ${id} and state = 'succeeded'`),
      rows(sql`select token from sandbox_cards where account_id = ${id} and removed_at is null`),
    ])
    return {
      charges: charges.map(({ state, amount }) => `${state} ${amount}`).toSorted(),
      refunds: refunds.length,
      cards: cards.length,
    }
  }

  const work = () => giveBackDuty(service.calling).run(duty, () => {})
  const remove = () => removalDuty(service.calling).run(duty, () => {})
  const faulty = async (client: TestClient, Fault: string) => {
    const [gateway] = (await client.get('/v1/gateways')).body
    expect((await client.put(`/v1/gateways/${gateway.gatewayID}`, { Settings: { Fault } })).status).toBe(204)
  }
  /** Lets pass what a sale waits for, and what a process that was killed has claimed. */
  const letPass = ({ id }: TestClient) =>
    service.db.transaction(id, (tx) =>
      tx.rows(
        sql`update capture_sales set leased_until = null, next_ask_at = moment() where account_id = ${id} and next_ask_at is not null`,
      ),
    )
  async function differences({ id }: TestClient): Promise<unknown[]> {
    const found: unknown[] = []
    await verifyAccount(service.db, id, (difference) => found.push(difference))
    return found
  }

  return { book, work, remove, faulty, letPass, differences }
}
