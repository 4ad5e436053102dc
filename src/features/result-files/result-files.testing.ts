import { expect } from 'vitest'
import type { TestClient, TestService } from '../../../test/support/app.ts'
import { addCustomer } from '../../../test/support/shop.ts'
import { minorText } from '../../kernel/money.ts'
import type { Id } from '../../kernel/ids.ts'
import { sql } from '../../platform/database/sql.ts'
import { acting } from '../money/money.testing.ts'
import { addPayment } from '../money/payments.ts'
import { CREDITOR } from '../gateways/creditor.testing.ts'

/** Batches as they have left for a bank, and the files that it answers with. */

export const IBAN = 'DE89370400440532013000'

export interface SentLine {
  paymentId: Id
  customerID: number
  invoiceID: number
}

/** An account, or the one given, with a gateway whose batch of some lines of EUR 115.00 was submitted for 25 January 2027. */
export async function bank(
  service: TestService,
  lines = 1,
  more: { mandates?: boolean; settings?: object; clockAt?: string; client?: TestClient } = {},
) {
  const client = more.client ?? (await service.newAccount({ clockAt: more.clockAt ?? '2027-01-20T12:00:00.000Z' }))
  if (!more.client) await client.post('/v1/currencies', { CurrencyCode: 'EUR' })
  const wanted = more.settings
    ? { GatewayType: 'sepa-file', Settings: { ...CREDITOR, ...more.settings } }
    : { GatewayType: 'manual', CurrencyCodes: ['EUR'] }
  const added = await client.post('/v1/gateways', wanted)
  expect(added.status, added.text).toBe(201)
  const gateway = added.body
  const { batchId, token } = await sentBatch(service, client, gateway)
  const sent: SentLine[] = []
  for (let n = 1; n <= lines; n += 1)
    sent.push(
      await sentLine(
        service,
        client,
        { batchId, gatewayId: BigInt(gateway.gatewayID) },
        more.mandates ? `M-${n}` : null,
      ),
    )
  const send = (file: string | Buffer, headers: Record<string, string> = {}) =>
    client.request('POST', `/v1/resultfiles?gatewayID=${gateway.gatewayID}`, file as string, {
      'content-type': 'application/xml',
      ...headers,
    })
  return {
    client,
    gateway,
    batchId,
    token,
    sent,
    send,
    reference: (line: SentLine) => `P${client.id}-${line.paymentId}`,
  }
}

async function sentBatch(
  service: TestService,
  client: TestClient,
  gateway: { gatewayID: number; GatewayToken: string },
) {
  const [row] = await service.db.transaction(client.id, (tx) =>
    tx.rows<{ batchId: Id; token: string }>(sql`
      insert into payment_batches (account_id, gateway_id, gateway_token, currency, action_date, state, created_at, submitted_at, sent_count, sent_minor)
      values (${client.id}, ${BigInt(gateway.gatewayID)}, ${gateway.GatewayToken}::uuid, 'EUR', '2027-01-25', 'submitted', '2027-01-20', '2027-01-20', 0, 0)
      returning batch_id as "batchId", token::text as "token"`),
  )
  if (!row) throw new Error('a batch is added')
  return row
}

/** Adds a line of an invoice of EUR 115.00 to a batch that has left. */
async function sentLine(
  service: TestService,
  client: TestClient,
  { batchId, gatewayId }: { batchId: Id; gatewayId: Id },
  mandate: string | null = null,
): Promise<SentLine> {
  const customerID = await addCustomer(client, { CurrencyCode: 'EUR' })
  const invoice = await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 115 }], CurrencyCode: 'EUR' })
  expect(invoice.status, invoice.text).toBe(201)
  const { invoiceID } = invoice.body
  const paymentId = await acting(service, client, async (tx, context) => {
    const { id } = await addPayment(
      tx,
      context,
      {
        customerId: BigInt(customerID),
        paidAt: '2027-01-25T00:00:00.000Z',
        dated: '2027-01-25',
        currency: 'EUR',
        amountMinor: 11_500n,
        method: 'bank_account',
        origin: 'batch',
        ref: null,
        memo: null,
      },
      {
        list: [{ id: null, target: { kind: 'invoice', id: BigInt(invoiceID) }, amountMinor: 11_500n }],
        isServiceMade: true,
      },
      { charge: { gatewayId } },
    )
    await tx.rows(sql`
      insert into batch_lines (account_id, payment_id, batch_id, customer_id, payment_method_id, sent_mandate)
      values (${tx.account}, ${id}, ${batchId}, ${BigInt(customerID)}, 1, ${mandate})`)
    await tx.rows(sql`
      update payment_batches set sent_count = sent_count + 1, sent_minor = sent_minor + 11500
       where account_id = ${tx.account} and batch_id = ${batchId}`)
    return id
  })
  return { paymentId, customerID, invoiceID }
}

export interface EntryFacts {
  amount?: bigint
  original?: bigint
  isCredit?: boolean
  on?: string
  reference?: string
  bankReference?: string
  mandate?: string
  code?: string
  family?: string
  subFamily?: string
  name?: string
  text?: string
  batch?: { message?: string; payments?: string }
}

const tag = (name: string, inside: string | undefined) => (inside === undefined ? '' : `<${name}>${inside}</${name}>`)
const amountTag = (name: string, amountMinor: bigint) => `<${name} Ccy="EUR">${minorText(amountMinor, 2)}</${name}>`

/** Writes an entry of a statement; a code makes it a return. */
export function entryXml(facts: EntryFacts = {}): string {
  const { amount = 11_500n, isCredit = false, on = '2027-01-29', family, subFamily = 'ESDD' } = facts
  const kind = family && `<Domn><Cd>PMNT</Cd><Fmly><Cd>${family}</Cd><SubFmlyCd>${subFamily}</SubFmlyCd></Fmly></Domn>`
  const details = [
    tag('Refs', tag('EndToEndId', facts.reference) + tag('MndtId', facts.mandate)),
    facts.original === undefined ? '' : `<AmtDtls><InstdAmt>${amountTag('Amt', facts.original)}</InstdAmt></AmtDtls>`,
    facts.name === undefined ? '' : `<RltdPties><Dbtr><Nm>${facts.name}</Nm></Dbtr></RltdPties>`,
    facts.text === undefined ? '' : `<RmtInf><Ustrd>${facts.text}</Ustrd></RmtInf>`,
    facts.code === undefined ? '' : `<RtrInf><Rsn><Cd>${facts.code}</Cd></Rsn></RtrInf>`,
  ]
  const batch =
    facts.batch && `<Btch>${tag('MsgId', facts.batch.message)}${tag('PmtInfId', facts.batch.payments)}</Btch>`
  return `<Ntry>${amountTag('Amt', amount)}<CdtDbtInd>${isCredit ? 'CRDT' : 'DBIT'}</CdtDbtInd><Sts>BOOK</Sts>
    <BookgDt><Dt>${on}</Dt></BookgDt>${tag('AcctSvcrRef', facts.bankReference)}${tag('BkTxCd', kind || undefined)}
    <NtryDtls>${batch ? batch : `<TxDtls>${details.join('')}</TxDtls>`}</NtryDtls></Ntry>`
}

/** Writes a statement of an account. */
export const statementXml = (entries: readonly string[], { iban = IBAN, message = 'camt.053' } = {}): string => {
  const [body, record] = message === 'camt.053' ? ['BkToCstmrStmt', 'Stmt'] : ['BkToCstmrDbtCdtNtfctn', 'Ntfctn']
  return `<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:${message}.001.02"><${body}><GrpHdr><MsgId>M</MsgId></GrpHdr><${record}>
<CreDtTm>2027-02-01T18:00:00</CreDtTm><Acct><Id><IBAN>${iban}</IBAN></Id></Acct>
${entries.join('\n')}</${record}></${body}></Document>`
}

/** Writes a report of statuses: of a whole message, of its block, or of payments. */
export const reportXml = ({
  message,
  status,
  payments,
  paymentsStatus,
  rejected = [],
}: {
  message: string
  status?: string
  payments?: string
  paymentsStatus?: string
  rejected?: readonly { reference: string; code: string; status?: string; amount?: string }[]
}): string => {
  const transactions = rejected.map(
    ({ reference, code, status: own = 'RJCT', amount }) =>
      `<TxInfAndSts><OrgnlEndToEndId>${reference}</OrgnlEndToEndId><TxSts>${own}</TxSts><StsRsnInf><Rsn><Cd>${code}</Cd></Rsn></StsRsnInf>
       ${amount ? `<OrgnlTxRef><Amt><InstdAmt Ccy="EUR">${amount}</InstdAmt></Amt></OrgnlTxRef>` : ''}</TxInfAndSts>`,
  )
  const block = `<OrgnlPmtInfAndSts><OrgnlPmtInfId>${payments ?? 'X'}</OrgnlPmtInfId>${tag('PmtInfSts', paymentsStatus)}${transactions.join('')}</OrgnlPmtInfAndSts>`
  return `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.10"><CstmrPmtStsRpt>
    <GrpHdr><MsgId>R</MsgId><CreDtTm>2027-01-26T08:00:00Z</CreDtTm></GrpHdr>
    <OrgnlGrpInfAndSts><OrgnlMsgId>${message}</OrgnlMsgId><OrgnlMsgNmId>pain.008</OrgnlMsgNmId>${tag('GrpSts', status)}</OrgnlGrpInfAndSts>
    ${payments || transactions.length > 0 ? block : ''}</CstmrPmtStsRpt></Document>`
}
