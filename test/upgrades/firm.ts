import { bankOf, type Sent } from './bank-files.ts'

/** The firms of a dump: what is done by requests at a running program of the time, so that its database has every kind of record. */

// The answers of a program of another time are read by name.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any

export type Ask = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Json>

/** Bank file as it was sent, with the answer of the time. */
export interface SentFile {
  name: string
  account: number
  gatewayID: number
  body: string
  answer: Json
}

export interface BankAccount {
  account: number
  iban: string
  bic: string
}

/** A line of a batch, and who owes it. */
interface Owed {
  customerID: number
  invoiceID: number
  paymentID: number
}

const AMOUNT = 115

/** A customer with a mandate who owes an invoice. */
async function debtor(ask: Ask, { iban, bic }: BankAccount, n: number) {
  const { customerID } = await ask('POST', '/v1/customers', {
    Name: `Payer ${n}`,
    isCompany: true,
    CurrencyCode: 'EUR',
    Email: `payer${n}@example.org`,
  })
  const { paymentMethodID } = await ask('POST', '/v1/paymentmethods/bankaccount', {
    customerID,
    isPrimary: true,
    BankAccount: {
      Method: 'sepa',
      AccountType: 'Current',
      AccountHolder: `Payer ${n}`,
      Bank: 'A bank',
      IBAN: iban,
      BIC: bic,
      MandateReference: `M-${n}`,
      MandateDate: '2027-01-02',
    },
  })
  const owed = { customerID, CurrencyCode: 'EUR', CollectionMethod: 'cash', Charges: [{ UnitCostEx: AMOUNT }] }
  const { invoiceID } = await ask('POST', '/v1/invoices', owed)
  return { customerID, paymentMethodID, invoiceID }
}

/** A gateway of type sepa-file, and a batch of as many lines of EUR 115.00 for 13 January 2027, whose file was downloaded. */
export async function collection(ask: Ask, own: BankAccount, lines: number) {
  const gateway = await ask('POST', '/v1/gateways', {
    GatewayType: 'sepa-file',
    isPrimary: true,
    Settings: {
      CreditorName: 'Engines GmbH',
      CreditorIBAN: own.iban,
      CreditorBIC: own.bic,
      CreditorIdentifier: 'DE98ZZZ09999999999',
    },
  })
  const batch = { CurrencyCode: 'EUR', GatewayToken: gateway.GatewayToken, ActionDate: '2027-01-13' }
  const { BatchToken } = await ask('POST', '/v1/batches', batch)
  const owed: Owed[] = []
  for (let n = 1; n <= lines; n += 1) {
    const { customerID, paymentMethodID, invoiceID } = await debtor(
      ask,
      { ...own, iban: 'NL91ABNA0417164300', bic: 'ABNANL2A' },
      n,
    )
    const line = { BatchToken, customerID, paymentMethodID, Amount: AMOUNT }
    const PaymentApplied = [{ invoiceID, amount: AMOUNT }]
    const { paymentID } = await ask('POST', '/v1/batches/payments', { ...line, PaymentApplied })
    owed.push({ customerID, invoiceID, paymentID })
  }
  await ask('PUT', '/v1/batches/submit', { BatchToken, ActionDate: batch.ActionDate })
  const { text } = await untilThere(() =>
    ask('GET', `/v1/batches/${BatchToken}/file`, undefined, { accept: 'application/xml' }),
  )
  const bank = bankOf(text)
  return { gateway, BatchToken, owed, bank: { ...bank, sent: inOrder(bank.sent, own.account, owed) } }
}

const inOrder = (sent: Sent[], account: number, owed: readonly Owed[]): Sent[] =>
  owed.map(({ paymentID }) => {
    const found = sent.find(({ endToEnd }) => endToEnd === `P${account}-${paymentID}`)
    if (!found) throw new Error(`The file has no payment ${paymentID}`)
    return found
  })

/** Asks again until a worker has done what is asked for. */
export async function untilThere(ask: () => Promise<Json>): Promise<Json> {
  for (let tries = 0; ; tries += 1)
    try {
      return await ask()
    } catch (error) {
      if (tries > 200) throw error
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
}
