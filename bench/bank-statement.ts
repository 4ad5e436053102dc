/** Statements of a bank, as large as a bench wants them. */

const entry = (n: number, isReturn: boolean): string => `
   <Ntry><NtryRef>${n}</NtryRef><Amt Ccy="USD">1.00</Amt><CdtDbtInd>${isReturn ? 'DBIT' : 'CRDT'}</CdtDbtInd><Sts>BOOK</Sts>
    <BookgDt><Dt>2027-01-29</Dt></BookgDt><ValDt><Dt>2027-01-29</Dt></ValDt><AcctSvcrRef>${isReturn ? 'R' : 'C'}${n}</AcctSvcrRef>
    <BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>${isReturn ? 'IDDT' : 'RCDT'}</Cd><SubFmlyCd>${isReturn ? 'UPDD' : 'ESCT'}</SubFmlyCd></Fmly></Domn></BkTxCd>
    <NtryDtls><TxDtls><Refs><EndToEndId>${isReturn ? `P1-${n}` : `INV-${n}`}</EndToEndId></Refs>
     <RltdPties><Dbtr><Nm>Customer ${n}</Nm></Dbtr></RltdPties><RmtInf><Ustrd>Transfer for invoice ${900_000 + n}</Ustrd></RmtInf>
     ${isReturn ? '<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>' : ''}</TxDtls></NtryDtls></Ntry>`

/** A statement of entries from one number to another; `times` distinguishes files of the same entries. */
export function statement(from: number, until: number, isReturn: boolean, times: number): string {
  const entries = Array.from({ length: until - from + 1 }, (_, index) => entry(from + index, isReturn))
  return `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.02"><BkToCstmrStmt><GrpHdr><MsgId>${times}</MsgId></GrpHdr><Stmt>
   <Acct><Id><IBAN>DE89370400440532013000</IBAN></Id></Acct>${entries.join('')}</Stmt></BkToCstmrStmt></Document>`
}
