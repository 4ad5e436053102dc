import { expect } from 'vitest'
import type { TestService } from '../../../test/support/app.ts'
import { moveTo } from '../../../test/support/shop.ts'
import { account } from '../batches/batches.testing.ts'
import { CREDITOR } from '../gateways/creditor.testing.ts'

/** Shops whose debits left as a file, and the files of a bank that answer them, as banks really write them. */

export const NAMESPACE = 'urn:iso:std:iso:20022:tech:xsd:'

/** Answer to a file that was taken, with its lines. */
export interface SentFile {
  resultFileID: number
  OtherAccounts: number
  Warnings: unknown[]
  /** Matched, Applied, Payments, AlreadyKnown, Unmatched. */
  counts: number[]
  Lines: any[]
}

/** A shop of some customers who each owe EUR 115.00, in one batch for 13 January 2027 that was downloaded on the 5th. */
export async function shopOf(service: TestService, customers: number, { day = '2027-01-22', settings = {} } = {}) {
  const { client, must, build } = await account(service)
  await moveTo(client, '2027-01-04')
  await must('post', '/v1/currencies', { CurrencyCode: 'EUR' })
  const Settings = { ...CREDITOR, ...settings }
  const gateway = await must('post', '/v1/gateways', { GatewayType: 'sepa-file', isPrimary: true, Settings })
  const { GatewayToken, gatewayID } = gateway
  const ActionDate = '2027-01-13'
  const { BatchToken } = await must('post', '/v1/batches', { CurrencyCode: 'EUR', GatewayToken, ActionDate })
  const lines: { paymentID: number; invoiceID: number; customerID: number }[] = []
  for (let n = 1; n <= customers; n += 1) {
    const { customerID } = await must('post', '/v1/customers', { Name: `C${n}`, isCompany: true, CurrencyCode: 'EUR' })
    const BankAccount = {
      Method: 'sepa',
      AccountType: 'Current',
      AccountHolder: `Payer ${n}`,
      IBAN: 'NL91ABNA0417164300',
      BIC: 'ABNANL2A',
      Bank: 'A bank',
      MandateReference: `M-${n}`,
      MandateDate: '2027-01-02',
    }
    const wanted = { customerID, isPrimary: true, BankAccount }
    const { paymentMethodID } = await must('post', '/v1/paymentmethods/bankaccount', wanted)
    const Charges = [{ UnitCostEx: 115 }]
    const invoice = { customerID, CurrencyCode: 'EUR', CollectionMethod: 'cash', Charges }
    const { invoiceID } = await must('post', '/v1/invoices', invoice)
    const PaymentApplied = [{ invoiceID, amount: 115 }]
    const line = { BatchToken, customerID, paymentMethodID, Amount: 115, PaymentApplied }
    const { paymentID } = await must('post', '/v1/batches/payments', line)
    lines.push({ paymentID, invoiceID, customerID })
  }
  if (customers > 0) await must('put', '/v1/batches/submit', { BatchToken, ActionDate })
  await build()
  const move = async (to: string) => moveTo(client, to)
  await move('2027-01-05')
  const { text: sent } = await client.get(`/v1/batches/${BatchToken}/file`)
  const [, block = ''] = /<PmtInfId>([^<]*)/.exec(sent) ?? []
  const [, message = ''] = /<MsgId>([^<]*)/.exec(sent) ?? []
  if (day !== '2027-01-05') await move(day)
  const of = (n: number) => lines[n - 1] as (typeof lines)[number]
  const post = (file: string, to = gatewayID) =>
    client.request('POST', `/v1/resultfiles?gatewayID=${to}`, file, { 'content-type': 'application/xml' })
  const send = async (file: string, to = gatewayID): Promise<SentFile> => {
    const reply = await post(file, to)
    expect(reply.status, reply.text).toBe(201)
    const { Matched, Applied, Payments, AlreadyKnown, Unmatched } = reply.body
    const { Lines } = (await client.get(`/v1/resultfiles/${reply.body.resultFileID}`)).body
    return { ...reply.body, counts: [Matched, Applied, Payments, AlreadyKnown, Unmatched], Lines: Lines as any[] }
  }
  return {
    client,
    must,
    move,
    post,
    send,
    gateway,
    block,
    message,
    BatchToken,
    /** The reference of a line, as the bank gets it. */
    E: (n: number) => `P${client.id}-${of(n).paymentID}`,
    line: of,
    payment: async (n: number) => (await client.get(`/v1/payments/${of(n).paymentID}`)).body,
    statuses: async () =>
      Promise.all(lines.map(async ({ paymentID }) => (await client.get(`/v1/payments/${paymentID}`)).body.Status)),
    invoice: async (n: number) => (await client.get(`/v1/invoices/${of(n).invoiceID}`)).body,
    attempt: async (n: number) => (await client.get(`/v1/invoices/${of(n).invoiceID}/attempts`)).body[0],
    answer: (file: { resultFileID: number }, lineID: number, body: object) =>
      client.put(`/v1/resultfiles/${file.resultFileID}/lines/${lineID}`, body),
  }
}

export type CaseShop = Awaited<ReturnType<typeof shopOf>>

const tag = (name: string, inside: string | undefined) => (inside === undefined ? '' : `<${name}>${inside}</${name}>`)

export interface PartFacts {
  e2e?: string
  ref?: string
  mandate?: string
  amount?: string
  instructed?: string
  isCredit?: boolean
  /** Code of a return. */
  returned?: string
  name?: string
  text?: string
  family?: string
}

const amountXml = (name: string, text: string, currency = 'EUR') => `<${name} Ccy="${currency}">${text}</${name}>`
const direction = (isCredit: boolean | undefined) =>
  isCredit === undefined ? '' : `<CdtDbtInd>${isCredit ? 'CRDT' : 'DBIT'}</CdtDbtInd>`
const family = (code: string | undefined) =>
  code === undefined
    ? ''
    : `<BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>${code}</Cd><SubFmlyCd>OTHR</SubFmlyCd></Fmly></Domn></BkTxCd>`

/** Writes the details of an entry. */
export const part = (facts: PartFacts): string => {
  const references = tag('AcctSvcrRef', facts.ref) + tag('EndToEndId', facts.e2e) + tag('MndtId', facts.mandate)
  return `<TxDtls><Refs>${references}</Refs>${facts.amount === undefined ? '' : amountXml('Amt', facts.amount)}${direction(facts.isCredit)}
    ${facts.instructed === undefined ? '' : `<AmtDtls><InstdAmt>${amountXml('Amt', facts.instructed)}</InstdAmt></AmtDtls>`}${family(facts.family)}
    ${facts.name === undefined ? '' : `<RltdPties><Dbtr><Nm>${facts.name}</Nm></Dbtr></RltdPties>`}
    ${facts.text === undefined ? '' : `<RmtInf><Ustrd>${facts.text}</Ustrd></RmtInf>`}
    ${facts.returned === undefined ? '' : `<RtrInf><Rsn><Cd>${facts.returned}</Cd></Rsn></RtrInf>`}</TxDtls>`
}

export interface EntryWish {
  amount: string
  isCredit?: boolean
  on?: string
  ref?: string
  family?: string
  parts?: readonly PartFacts[]
  batch?: { block?: string; message?: string; count?: number }
}

/** Writes a booked entry. */
export function entry({
  amount,
  isCredit = false,
  on = '2027-01-20',
  ref,
  parts = [],
  batch,
  ...more
}: EntryWish): string {
  const whole = batch ? `<Btch>${tag('MsgId', batch.message)}${tag('PmtInfId', batch.block)}</Btch>` : ''
  const details = whole + parts.map(part).join('')
  return `<Ntry>${amountXml('Amt', amount)}${direction(isCredit)}<Sts>BOOK</Sts><BookgDt><Dt>${on}</Dt></BookgDt>${tag('AcctSvcrRef', ref)}${family(more.family)}
    ${details === '' ? '' : `<NtryDtls>${details}</NtryDtls>`}</Ntry>`
}

/** A return of a line, or a credit. */
export const returned = (e2e: string, more: Partial<EntryWish> = {}, code = 'AC04') =>
  entry({ amount: '115.00', parts: [{ e2e, returned: code }], ...more })
export const settled = (e2e: string, more: Partial<EntryWish> = {}) =>
  entry({ amount: '115.00', isCredit: true, on: '2027-01-13', parts: [{ e2e }], ...more })

const MESSAGES = {
  'camt.052': ['BkToCstmrAcctRpt', 'Rpt'],
  'camt.053': ['BkToCstmrStmt', 'Stmt'],
  'camt.054': ['BkToCstmrDbtCdtNtfctn', 'Ntfctn'],
} as const
export type CamtName = keyof typeof MESSAGES

/** Writes the statement of one account. */
export const statementOf = (iban: string, entries: readonly string[], message: CamtName = 'camt.053') => {
  const [, record] = MESSAGES[message]
  return `<${record}><Id>S</Id><CreDtTm>2027-01-20T18:00:00</CreDtTm><Acct><Id><IBAN>${iban}</IBAN></Id></Acct>${entries.join('')}</${record}>`
}

/** Writes a file of statements. */
export function fileOf(statements: readonly string[], message: CamtName = 'camt.053', version = '02'): string {
  const [body] = MESSAGES[message]
  return `<?xml version="1.0" encoding="UTF-8"?><Document xmlns="${NAMESPACE}${message}.001.${version}"><${body}><GrpHdr><MsgId>M</MsgId></GrpHdr>${statements.join('')}</${body}></Document>`
}

/** Writes a file of one statement of the shop's account. */
export const statement = (entries: readonly string[], message: CamtName = 'camt.053'): string =>
  fileOf([statementOf(CREDITOR.CreditorIBAN, entries, message)], message)

export interface StatusFacts {
  e2e: string
  status?: string
  code?: string
}

const reason = (code: string | undefined) =>
  code === undefined ? '' : `<StsRsnInf><Rsn><Cd>${code}</Cd></Rsn></StsRsnInf>`

/** Writes a report of statuses. */
export const report = ({
  message = 'OTHER',
  status,
  code,
  block = 'OTHER',
  blockStatus,
  blockCode,
  payments = [],
  version = 'pain.002.001.10',
  at = '2027-01-11T10:00:00',
}: {
  message?: string
  status?: string
  code?: string
  block?: string
  blockStatus?: string
  blockCode?: string
  payments?: readonly StatusFacts[]
  version?: string
  at?: string
}): string => `<Document xmlns="${NAMESPACE}${version}"><CstmrPmtStsRpt><GrpHdr><MsgId>R</MsgId><CreDtTm>${at}</CreDtTm></GrpHdr>
  <OrgnlGrpInfAndSts><OrgnlMsgId>${message}</OrgnlMsgId><OrgnlMsgNmId>pain.008.001.08</OrgnlMsgNmId>${tag('GrpSts', status)}${reason(code)}</OrgnlGrpInfAndSts>
  <OrgnlPmtInfAndSts><OrgnlPmtInfId>${block}</OrgnlPmtInfId>${tag('PmtInfSts', blockStatus)}${reason(blockCode)}
  ${payments.map((one) => `<TxInfAndSts><OrgnlEndToEndId>${one.e2e}</OrgnlEndToEndId>${tag('TxSts', one.status)}${reason(one.code)}</TxInfAndSts>`).join('')}
  </OrgnlPmtInfAndSts></CstmrPmtStsRpt></Document>`
