import { assert } from '../kernel/assert.ts'
import { addDays, type IsoDate } from '../kernel/calendar.ts'
import { type AnsweredEntry, answerFile } from '../rails/nacha/answers.ts'
import { ENTRY, type FieldPlace } from '../rails/nacha/layout.ts'
import type { DemoClient } from './client.ts'
import type { Life, World } from './life.ts'

/** Debits of American customers: NACHA files, which the firm hands to its bank every week, and what the bank answers. */

/** The firm as its bank knows it. The routing numbers check, and belong to no bank. */
const COMPANY = { name: 'Brightquay', id: '1970012500', bank: 'Pier Street Bank', routing: '123456780' }
const PAYERS_ROUTING = '012345672'

/** Batches open early and are settled late enough for somebody who looks at them once a week. */
const SETTINGS = {
  CompanyName: COMPANY.name,
  CompanyID: COMPANY.id,
  OdfiRouting: COMPANY.routing,
  DestinationName: COMPANY.bank,
  LeadDays: 8,
  SettleAfterDays: 6,
}
const DAYS_A_WEEK = 7

/** Of so many debits one comes back, and of one the account is corrected, by their places in the row. */
const ROUND = 9
const RETURNED_PLACE = 2
const CORRECTED_PLACE = 5

/** Adds the gateway of these debits, and returns its identifier. */
export async function addDebitGateway(client: DemoClient): Promise<number> {
  const body = { GatewayType: 'ach-file', isPrimary: true, Settings: SETTINGS }
  return (await client.post('/v1/gateways', body)).gatewayID
}

/** Adds the account that is debited, of a customer who pays so. */
export function addBankAccount({ self, after }: Life): void {
  const { body } = self.prospect
  if (body['PaymentMethod'] !== 'bank_account') return
  after(0, ({ client, today }, { customerID }) =>
    client.post('/v1/paymentmethods/bankaccount', {
      customerID,
      isPrimary: true,
      BankAccount: {
        Method: 'ach',
        AccountType: 'Checking',
        AccountHolder: [body['Name'], body['LastName']].filter((part) => part !== undefined).join(' '),
        Bank: 'Ridge County Bank',
        AccountNumber: `44${String(body['Reference']).replace(/\D/g, '')}0`,
        RoutingNumber: PAYERS_ROUTING,
        MandateDate: today,
      },
    }),
  )
}

/** A file that was handed to the bank. */
interface Handed {
  actionDate: IsoDate
  entries: readonly Record<keyof typeof ENTRY, string>[]
}

/** Makes what the firm does about its debits each week: it hands files over, brings the bank's answers, and submits what is due before it looks again. */
export function weekOfDebits(gatewayID: number): (world: World) => Promise<void> {
  const handed = new Map<string, Handed>()
  let debits = 0
  /** Returns the bank's answer to a debit, by its place in the row of all. */
  const answerTo = (entry: Handed['entries'][number]): AnsweredEntry[] => {
    debits += 1
    const { trace, reference, amount, account, name: accountHolder } = entry
    const about = { trace, reference, accountHolder }
    const place = debits % ROUND
    if (place === RETURNED_PLACE)
      return [{ ...about, code: 'R01', amountMinor: BigInt(amount), text: 'INSUFFICIENT FUNDS' }]
    // The number that the bank now has the account under.
    if (place === CORRECTED_PLACE) return [{ ...about, code: 'C01', corrected: `9${account.slice(1)}` }]
    return []
  }
  return async ({ client, today }) => {
    const batches = await client.all('/v1/batches')
    for (const { State, BatchToken, ActionDate } of batches)
      if (State === 'submitted' && !handed.has(BatchToken)) {
        const entries = entriesIn(await client.text(`/v1/batches/${BatchToken}/file`))
        handed.set(BatchToken, { actionDate: ActionDate.slice(0, 10), entries })
      }
    for (const [token, { actionDate, entries }] of handed) {
      if (actionDate > today || entries.length === 0) continue
      handed.set(token, { actionDate, entries: [] })
      const answers = entries.flatMap(answerTo)
      if (answers.length > 0)
        await client.sendText(
          `/v1/resultfiles?gatewayID=${gatewayID}`,
          answerFile(answers, { company: COMPANY, answering: PAYERS_ROUTING, day: today }),
        )
    }
    for (const { State, BatchToken, ActionDate, LastMoment } of batches)
      if (State === 'open' && LastMoment.slice(0, 10) <= addDays(today, DAYS_A_WEEK))
        await client.put('/v1/batches/submit', { BatchToken, ActionDate: ActionDate.slice(0, 10) })
  }
}

/** Returns the debits in a file that this service wrote. */
function entriesIn(file: string): Handed['entries'] {
  const at = (line: string, [from, to]: FieldPlace) => line.slice(from - 1, to).trim()
  const lines = file.split('\r\n').filter((line) => line.startsWith('6'))
  assert(lines.length > 0, 'a file of debits has entries')
  return lines.map(
    (line) =>
      Object.fromEntries(
        Object.entries(ENTRY).map(([field, place]) => [field, at(line, place)]),
      ) as Handed['entries'][number],
  )
}
