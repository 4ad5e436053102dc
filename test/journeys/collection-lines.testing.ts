import { addDays } from '../../src/kernel/calendar.ts'
import type { Reply } from '../support/app.ts'
import { type Life, pickOf, rowsOf } from './collection-lives.testing.ts'

/** Debits of bank accounts in random lives: acts on batches and their lines, and what must hold of these after each step. */

/** Last four places that decide the outcome of a debit: paid, no money, closed, no mandate, paid and returned. */
const LAST_FOUR = ['1234', '1234', '9995', '9912', '9930', '9968']

export async function addAccount({ client }: Life, customerID: number, pick: number): Promise<Reply> {
  return client.post('/v1/paymentmethods/bankaccount', {
    customerID,
    isPrimary: true,
    BankAccount: {
      Method: 'debit_order',
      AccountType: 'Current',
      AccountHolder: 'Ada Lovelace',
      Bank: 'First Bank',
      AccountNumber: `6200${String(pick % 10)}${pickOf(LAST_FOUR, pick)}`,
      BranchCode: '250655',
    },
  })
}

const batchOf = async ({ client }: Life, pick: number, ...states: string[]): Promise<any> => {
  const all = (await client.get('/v1/batches?page_size=200')).body as any[]
  const found = pickOf(
    all.filter(({ State }) => states.includes(State)),
    pick,
  )
  return found && (await client.get(`/v1/batches/${found.BatchToken}`)).body
}

/** Moves the clock to where it stands: what was submitted is built. */
async function built(life: Life, reply: Reply): Promise<Reply> {
  await life.client.put('/v1/clock', { Now: `${life.today}T12:00:00Z` })
  return reply
}

const lineOf = async (life: Life, one: number, other: number): Promise<any> => {
  const batch = await batchOf(life, one, 'open', 'failed')
  const found = pickOf((batch?.Payments ?? []) as any[], other)
  return found && { batch, payment: (await life.client.get(`/v1/payments/${found.paymentID}`)).body }
}

type LineAct = (life: Life, n: number, m: number) => Promise<Reply | undefined>

export const LINE_ACTS = {
  account: (life, one, other) => addAccount(life, pickOf(life.customers, one) as number, other),
  submitBatch: async (life, one, other) => {
    const found = await batchOf(life, one, 'open')
    if (!found) return undefined
    const ActionDate = other % 3 === 0 ? addDays(found.ActionDate.slice(0, 10), other % 4) : found.ActionDate
    return built(life, await life.client.put('/v1/batches/submit', { BatchToken: found.BatchToken, ActionDate }))
  },
  moveBatch: async (life, one, other) => {
    const found = await batchOf(life, one, 'open', 'failed')
    const ActionDate = addDays(life.today, 1 + (other % 6))
    return found && life.client.put('/v1/batches', { ...found, ActionDate })
  },
  cancelBatch: async (life, one) => {
    const found = await batchOf(life, one, 'open', 'failed')
    return found && life.client.put('/v1/batches/cancel', { BatchToken: found.BatchToken })
  },
  editLine: async (life, one, other) => {
    const found = await lineOf(life, one, other)
    if (!found) return undefined
    const { paymentID, customerID, Amount, Allocations } = found.payment
    const amount = other % 4 === 0 ? Amount : Number(Math.max(0.01, Amount - (one % 20)).toFixed(2))
    const PaymentApplied = Allocations.slice(0, 1).map(({ allocationID }: any) => ({ allocationID, amount }))
    const { BatchToken } = found.batch
    return life.client.put('/v1/batches/payments', {
      paymentID,
      BatchToken,
      customerID,
      Amount: amount,
      PaymentApplied,
    })
  },
  dropLine: async (life, one, other) => {
    const found = await lineOf(life, one, other)
    return found && life.client.delete(`/v1/batches/payments/${found.payment.paymentID}`)
  },
  autoSubmit: (life, one) =>
    life.client.put(`/v1/gateways/${life.gatewayID}`, { Settings: { AutoSubmit: one % 2 === 0 } }),
} satisfies Record<string, LineAct>

/** Differences of lines from what must hold of them, whatever happened. */
const LINES = `
with l as (
  select l.*, b.state, b.action_date, p.gives_way, p.amount_minor, p.applied_minor, p.failed_on, p.settled_on, t.invoice_id,
         t.state as try_state
    from batch_lines l
    join payment_batches b on b.account_id = $1 and b.batch_id = l.batch_id
    join payments p on p.account_id = $1 and p.payment_id = l.payment_id
    left join collection_tries t on t.account_id = $1 and t.payment_id = l.payment_id
   where l.account_id = $1)
select format('line %s gives way: %s', payment_id, gives_way) as difference from l
 where gives_way <> (is_service_made and state in ('open', 'failed'))
union all
select format('line %s of the service is of %s and pays %s', payment_id, amount_minor, applied_minor) from l
 where gives_way and amount_minor <> applied_minor
union all
select format('line %s has a try that is %s', payment_id, coalesce(try_state, 'none')) from l
 where (try_state is not null) <> is_service_made or (try_state = 'open') <> (settled_on is null and failed_on is null)
union all
select format('invoice %s waits for its line of %s and is planned for %s', l.invoice_id, l.action_date, i.next_try_date)
  from l join invoices i on i.account_id = $1 and i.invoice_id = l.invoice_id
 where l.gives_way and i.next_try_date is distinct from l.action_date
union all
select format('try %s is a line and stands in no batch', payment_id) from collection_tries t
 where t.account_id = $1 and t.is_line and not exists (select 1 from l where l.payment_id = t.payment_id)`

export const differencesOfLines = async (life: Life): Promise<string[]> =>
  (await rowsOf(life, LINES)).map(({ difference }) => difference as string)
