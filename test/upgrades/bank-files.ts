/** A bank of its own spelling, which answers a collection: all that it knows stands in the file that was sent to it. */

/** Transaction as it stands in the file that went to the bank. */
export interface Sent {
  endToEnd: string
  mandate: string
  debtor: string
}

const between = (xml: string, name: string): string[] =>
  [...xml.matchAll(new RegExp(`<${name}(?: [^>]*)?>([^<]*)</${name}>`, 'g'))].map(([, text = '']) => text)
const one = (xml: string, name: string): string => between(xml, name)[0] ?? ''

/** Reads a pain.008 as its bank does. */
export function bankOf(file: string) {
  const [header = '', block = ''] = file.split('<PmtInf>')
  return {
    message: one(header, 'MsgId'),
    block: one(block, 'PmtInfId'),
    iban: one(block.slice(block.indexOf('<CdtrAcct>')), 'IBAN'),
    sent: file
      .split('<DrctDbtTxInf>')
      .slice(1)
      .map((xml): Sent => ({
        endToEnd: one(xml, 'EndToEndId'),
        mandate: one(xml, 'MndtId'),
        debtor: between(xml.slice(xml.indexOf('<Dbtr>')), 'Nm')[0] ?? '',
      })),
  }
}
export type Bank = ReturnType<typeof bankOf>

/** Facts of an entry; what is left out stands nowhere in it. */
export interface Entry {
  amount: string
  isCredit?: boolean
  on: string
  /** AcctSvcrRef of the entry. */
  reference?: string
  /** AcctSvcrRef of its details. */
  detailReference?: string
  /** Debit that it is about. */
  sent?: Sent
  /** The details name the mandate alone. */
  hasMandateOnly?: boolean
  /** Reason, which makes it a return. */
  code?: string
  /** Amount of the debit, where the entry's own is another. */
  original?: string
  text?: string
  name?: string
  /** It books the whole collection. */
  block?: string
}

const tag = (name: string, inside: string | undefined) => (inside ? `<${name}>${inside}</${name}>` : '')

function entryXml(entry: Entry, isNew: boolean): string {
  const { sent } = entry
  const refs =
    tag('AcctSvcrRef', entry.detailReference) +
    (sent ? tag('EndToEndId', entry.hasMandateOnly ? undefined : sent.endToEnd) + tag('MndtId', sent.mandate) : '')
  const name = entry.name ?? sent?.debtor
  const details =
    tag('Refs', refs) +
    (entry.detailReference ? `<Amt Ccy="EUR">${entry.amount}</Amt>` : '') +
    (entry.original ? `<AmtDtls><InstdAmt><Amt Ccy="EUR">${entry.original}</Amt></InstdAmt></AmtDtls>` : '') +
    tag('RltdPties', name && `<Dbtr>${isNew ? tag('Pty', tag('Nm', name)) : tag('Nm', name)}</Dbtr>`) +
    tag('RmtInf', tag('Ustrd', entry.text)) +
    tag('RtrInf', entry.code && `<Rsn>${tag('Cd', entry.code)}</Rsn>`)
  const inside = entry.block ? `<Btch>${tag('PmtInfId', entry.block)}</Btch>` : tag('TxDtls', details)
  return `<Ntry><Amt Ccy="EUR">${entry.amount}</Amt><CdtDbtInd>${entry.isCredit ? 'CRDT' : 'DBIT'}</CdtDbtInd><Sts>${isNew ? '<Cd>BOOK</Cd>' : 'BOOK'}</Sts>
<BookgDt><Dt>${entry.on}</Dt></BookgDt>${tag('AcctSvcrRef', entry.reference)}<NtryDtls>${inside}</NtryDtls></Ntry>`
}

const message = (format: string, root: string, kind: string) => (iban: string, id: string, entries: readonly Entry[]) =>
  `<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:${format}"><${root}><GrpHdr><MsgId>${id}</MsgId><CreDtTm>2027-01-20T18:00:00Z</CreDtTm></GrpHdr>
<${kind}><Id>${id}</Id><CreDtTm>2027-01-20T18:00:00</CreDtTm><Acct><Id><IBAN>${iban}</IBAN></Id></Acct>
${entries.map((entry) => entryXml(entry, format.endsWith('.08'))).join('\n')}</${kind}></${root}></Document>`

export const statement = message('camt.053.001.02', 'BkToCstmrStmt', 'Stmt')
export const notification = message('camt.054.001.08', 'BkToCstmrDbtCdtNtfctn', 'Ntfctn')

/** Writes a pain.002 in which payments are rejected. */
export const rejections = (bank: Bank, rejected: readonly { sent: Sent; code: string }[], on: string) =>
  `<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.10"><CstmrPmtStsRpt><GrpHdr><MsgId>R</MsgId><CreDtTm>${on}T08:00:00Z</CreDtTm></GrpHdr>
<OrgnlGrpInfAndSts><OrgnlMsgId>${bank.message}</OrgnlMsgId><OrgnlMsgNmId>pain.008.001.08</OrgnlMsgNmId><GrpSts>PART</GrpSts></OrgnlGrpInfAndSts>
<OrgnlPmtInfAndSts><OrgnlPmtInfId>${bank.block}</OrgnlPmtInfId><PmtInfSts>PART</PmtInfSts>
${rejected
  .map(
    ({ sent, code }) =>
      `<TxInfAndSts><OrgnlEndToEndId>${sent.endToEnd}</OrgnlEndToEndId><TxSts>RJCT</TxSts><StsRsnInf><Rsn><Cd>${code}</Cd></Rsn></StsRsnInf></TxInfAndSts>`,
  )
  .join('\n')}</OrgnlPmtInfAndSts></CstmrPmtStsRpt></Document>`
