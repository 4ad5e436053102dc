/** A bank as it answers a collection: all that it knows stands in the file that was downloaded. */

/** Transaction as it stands in the file that went to the bank. */
export interface Sent {
  endToEnd: string
  amount: string
  mandate: string
  debtor: string
}

const between = (xml: string, name: string): string[] =>
  [...xml.matchAll(new RegExp(`<${name}(?: [^>]*)?>([^<]*)</${name}>`, 'g'))].map(([, text = '']) => text)
const one = (xml: string, name: string): string => between(xml, name)[0] ?? ''

/** Reads a pain.008 as its bank does. */
export function bankOf(file: string) {
  const transactions = file.split('<DrctDbtTxInf>').slice(1)
  const sent = transactions.map((xml): Sent => ({
    endToEnd: one(xml, 'EndToEndId'),
    amount: one(xml, 'InstdAmt'),
    mandate: one(xml, 'MndtId'),
    debtor: between(xml.slice(xml.indexOf('<Dbtr>')), 'Nm')[0] ?? '',
  }))
  const [header = '', block = ''] = file.split('<PmtInf>')
  return {
    message: one(header, 'MsgId'),
    block: one(block, 'PmtInfId'),
    count: one(block, 'NbOfTxs'),
    sum: one(block, 'CtrlSum'),
    iban: one(block.slice(block.indexOf('<CdtrAcct>')), 'IBAN'),
    sent,
  }
}
export type Bank = ReturnType<typeof bankOf>

const document = (message: string, inside: string) =>
  `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:${message}">${inside}</Document>`

/** A pain.002.001.13: one transaction is rejected, another accepted. */
export const report = (bank: Bank, rejected: Sent, code: string, accepted: Sent) => {
  const transaction = ({ endToEnd, amount }: Sent, status: string, reason = '') =>
    `<TxInfAndSts><OrgnlInstrId>${endToEnd}</OrgnlInstrId><OrgnlEndToEndId>${endToEnd}</OrgnlEndToEndId><TxSts>${status}</TxSts>${reason}
     <OrgnlTxRef><Amt><InstdAmt Ccy="EUR">${amount}</InstdAmt></Amt></OrgnlTxRef></TxInfAndSts>`
  const reason = `<StsRsnInf><Rsn><Cd>${code}</Cd></Rsn></StsRsnInf>`
  return document(
    'pain.002.001.13',
    `<CstmrPmtStsRpt><GrpHdr><MsgId>R1</MsgId><CreDtTm>2027-01-05T07:00:00Z</CreDtTm></GrpHdr>
     <OrgnlGrpInfAndSts><OrgnlMsgId>${bank.message}</OrgnlMsgId><OrgnlMsgNmId>pain.008.001.08</OrgnlMsgNmId><GrpSts>PART</GrpSts></OrgnlGrpInfAndSts>
     <OrgnlPmtInfAndSts><OrgnlPmtInfId>${bank.block}</OrgnlPmtInfId><PmtInfSts>PART</PmtInfSts>
     ${transaction(rejected, 'RJCT', reason)}${transaction(accepted, 'ACSP')}</OrgnlPmtInfAndSts></CstmrPmtStsRpt>`,
  )
}

interface Entry {
  amount: string
  isCredit: boolean
  on: string
  reference: string
  details: string
}

const entry = ({ amount, isCredit, on, reference, details }: Entry, isNew: boolean) =>
  `<Ntry><Amt Ccy="EUR">${amount}</Amt><CdtDbtInd>${isCredit ? 'CRDT' : 'DBIT'}</CdtDbtInd><Sts>${isNew ? '<Cd>BOOK</Cd>' : 'BOOK'}</Sts>
   <BookgDt><Dt>${on}</Dt></BookgDt><AcctSvcrRef>${reference}</AcctSvcrRef>
   <BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>IDDT</Cd><SubFmlyCd>${isCredit ? 'ESDD' : 'UPDD'}</SubFmlyCd></Fmly></Domn></BkTxCd>
   <NtryDtls>${details}</NtryDtls></Ntry>`

/** The collection as one amount. */
export const collected = (bank: Bank, amount: string, on: string): Entry => ({
  amount,
  isCredit: true,
  on,
  reference: 'COLL-1',
  details: `<Btch><PmtInfId>${bank.block}</PmtInfId></Btch>`,
})

/** A debit that came back, with the amount that was collected. */
export const returned = (
  sent: Sent,
  code: string,
  on: string,
  more: { amount?: string; mandateOnly?: true } = {},
): Entry => ({
  amount: more.amount ?? sent.amount,
  isCredit: false,
  on,
  reference: `RET-${sent.mandate}`,
  details: `<TxDtls><Refs>${more.mandateOnly ? '' : `<EndToEndId>${sent.endToEnd}</EndToEndId>`}<MndtId>${sent.mandate}</MndtId></Refs>
    <AmtDtls><InstdAmt><Amt Ccy="EUR">${sent.amount}</Amt></InstdAmt></AmtDtls>
    <RltdPties><Dbtr>@<Nm>${sent.debtor}</Nm>@</Dbtr></RltdPties><RtrInf><Rsn><Cd>${code}</Cd></Rsn></RtrInf></TxDtls>`,
})

/** A camt.054.001.08. */
export const notification = (bank: Bank, entries: readonly Entry[], id: string) =>
  document(
    'camt.054.001.08',
    `<BkToCstmrDbtCdtNtfctn><GrpHdr><MsgId>${id}</MsgId><CreDtTm>2027-01-08T12:00:00Z</CreDtTm></GrpHdr>
     <Ntfctn><Id>${id}</Id><CreDtTm>2027-01-08T12:00:00Z</CreDtTm><Acct><Id><IBAN>${bank.iban}</IBAN></Id></Acct>
     ${entries.map((one) => entry(one, true)).join('')}</Ntfctn></BkToCstmrDbtCdtNtfctn>`,
  )
    .replaceAll('<Dbtr>@', '<Dbtr><Pty>')
    .replaceAll('@</Dbtr>', '</Pty></Dbtr>')

/** A camt.053.001.02. */
export const statement = (bank: Bank, entries: readonly Entry[], id: string) =>
  document(
    'camt.053.001.02',
    `<BkToCstmrStmt><GrpHdr><MsgId>${id}</MsgId><CreDtTm>2027-01-08T22:00:00Z</CreDtTm></GrpHdr>
     <Stmt><Id>${id}</Id><CreDtTm>2027-01-08T22:00:00Z</CreDtTm><Acct><Id><IBAN>${bank.iban}</IBAN></Id></Acct>
     <Bal><Tp><CdOrPrtry><Cd>CLBD</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">1000.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>2027-01-08</Dt></Dt></Bal>
     ${entries.map((one) => entry(one, false)).join('')}</Stmt></BkToCstmrStmt>`,
  ).replaceAll('@', '')
