import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { minorText } from '../../kernel/money.ts'
import { checkPain008 } from './check-pain008.ts'
import { messageIdOf, paymentInformationIdOf, writePain008 } from './pain008.ts'
import { SAMPLE, someDebits } from './pain008.testing.ts'

const FILE = `<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.008.001.08"><CstmrDrctDbtInitn>
<GrpHdr><MsgId>0f8b1c52a7d94c52a91c3f0e8c2d7b11</MsgId><CreDtTm>2027-01-04T10:15:30Z</CreDtTm><NbOfTxs>2</NbOfTxs><CtrlSum>115.01</CtrlSum>
<InitgPty><Nm>Boehm + Soehne GmbH</Nm></InitgPty></GrpHdr>
<PmtInf><PmtInfId>0f8b1c52a7d94c52a91c3f0e8c2d7b11-1</PmtInfId><PmtMtd>DD</PmtMtd><NbOfTxs>2</NbOfTxs><CtrlSum>115.01</CtrlSum>
<PmtTpInf><SvcLvl><Cd>SEPA</Cd></SvcLvl><LclInstrm><Cd>CORE</Cd></LclInstrm><SeqTp>RCUR</SeqTp></PmtTpInf>
<ReqdColltnDt>2027-01-07</ReqdColltnDt><Cdtr><Nm>Boehm + Soehne GmbH</Nm></Cdtr>
<CdtrAcct><Id><IBAN>DE89370400440532013000</IBAN></Id></CdtrAcct><CdtrAgt><FinInstnId><BICFI>COBADEFFXXX</BICFI></FinInstnId></CdtrAgt>
<ChrgBr>SLEV</ChrgBr>
<CdtrSchmeId><Id><PrvtId><Othr><Id>DE98ZZZ09999999999</Id><SchmeNm><Prtry>SEPA</Prtry></SchmeNm></Othr></PrvtId></Id></CdtrSchmeId>
<DrctDbtTxInf><PmtId><InstrId>P7-101</InstrId><EndToEndId>P7-101</EndToEndId></PmtId><InstdAmt Ccy="EUR">115.00</InstdAmt>
<DrctDbtTx><MndtRltdInf><MndtId>EM 12/2026</MndtId><DtOfSgntr>2026-11-30</DtOfSgntr></MndtRltdInf></DrctDbtTx>
<DbtrAgt><FinInstnId><BICFI>ABNANL2A</BICFI></FinInstnId></DbtrAgt><Dbtr><Nm>Zoe Mueller-Lukasz</Nm></Dbtr>
<DbtrAcct><Id><IBAN>NL91ABNA0417164300</IBAN></Id></DbtrAcct><RmtInf><Ustrd>Invoices 702, 703</Ustrd></RmtInf></DrctDbtTxInf>
<DrctDbtTxInf><PmtId><InstrId>P7-102</InstrId><EndToEndId>P7-102</EndToEndId></PmtId><InstdAmt Ccy="EUR">0.01</InstdAmt>
<DrctDbtTx><MndtRltdInf><MndtId>EM13</MndtId><DtOfSgntr>2026-12-01</DtOfSgntr><AmdmntInd>true</AmdmntInd>
<AmdmntInfDtls><OrgnlDbtrAcct><Id><Othr><Id>SMNDA</Id></Othr></Id></OrgnlDbtrAcct></AmdmntInfDtls></MndtRltdInf></DrctDbtTx>
<DbtrAgt><FinInstnId><BICFI>NWBKGB2L</BICFI></FinInstnId></DbtrAgt>
<Dbtr><Nm>O&apos;Brien Ltd</Nm>
<PstlAdr><StrtNm>12 High Street</StrtNm><PstCd>SW1A 1AA</PstCd><TwnNm>London</TwnNm><Ctry>GB</Ctry></PstlAdr></Dbtr>
<DbtrAcct><Id><IBAN>GB29NWBK60161331926819</IBAN></Id></DbtrAcct><RmtInf><Ustrd>Invoice 704</Ustrd></RmtInf></DrctDbtTxInf>
</PmtInf>
</CstmrDrctDbtInitn></Document>
`

const withoutBreaks = (xml: string): string => xml.replaceAll('\n', '')

describe('the file', () => {
  test('of two debits, element by element', () => {
    expect(withoutBreaks(writePain008(SAMPLE))).toBe(withoutBreaks(FILE))
  })

  test('of the older version names banks and itself otherwise, and nothing else', () => {
    const older = withoutBreaks(writePain008({ ...SAMPLE, version: '02' }))
    const expected = FILE.replaceAll('BICFI>', 'BIC>').replace('pain.008.001.08', 'pain.008.001.02')
    expect(older).toBe(withoutBreaks(expected))
  })

  test('has identifiers that follow from the token of its batch, 35 characters at most', () => {
    const token = '0f8b1c52-a7d9-4c52-a91c-3f0e8c2d7b11'
    expect([messageIdOf(token), paymentInformationIdOf(token)]).toEqual([SAMPLE.messageId, SAMPLE.paymentInformationId])
    expect(paymentInformationIdOf(token).length).toBeLessThanOrEqual(35)
  })
})

describe('the check of a finished file', () => {
  test('finds nothing in what is written of right facts, and totals that are those of the debits', () => {
    fc.assert(
      fc.property(someDebits, (file) => {
        const xml = writePain008(file)
        expect(checkPain008(xml)).toEqual([])
        const total = file.debits.reduce((sum, { amountMinor }) => sum + amountMinor, 0n)
        expect(xml.match(/<CtrlSum>[^<]+/g)).toEqual(Array(2).fill(`<CtrlSum>${minorText(total, 2)}`))
        expect(xml.match(/<NbOfTxs>\d+/g)).toEqual(Array(2).fill(`<NbOfTxs>${file.debits.length}`))
      }),
    )
  })

  const right = writePain008(SAMPLE)
  const second = 'P7-102'
  test.each<[string, string | RegExp, string, string | null, RegExp]>([
    ['the count of the file', '<NbOfTxs>2<', '<NbOfTxs>3<', null, /NbOfTxs of GrpHdr/],
    ['the count of the payment information', /(<PmtInf>.*)<NbOfTxs>2</, '$1<NbOfTxs>1<', null, /NbOfTxs of PmtInf/],
    ['the sum of the file', '<CtrlSum>115.01<', '<CtrlSum>115.10<', null, /CtrlSum of GrpHdr/],
    ['the sum of the payment information', /(<PmtInf>.*)115\.01</, '$1115.02<', null, /CtrlSum of PmtInf/],
    ['a sum in another form', '<CtrlSum>115.01<', '<CtrlSum>115.010<', null, /CtrlSum is not a sum/],
    ['an amount of nothing', '>0.01<', '>0.00<', second, /InstdAmt is not an amount/],
    ['an amount over the bound', '>0.01<', '>1000000000.00<', second, /InstdAmt is not an amount/],
    ['an amount with three decimals', '>0.01<', '>0.010<', second, /InstdAmt is not an amount/],
    ['an amount below nothing', '>0.01<', '>-0.01<', second, /InstdAmt is not an amount/],
    ['another currency', /Ccy="EUR">0/, 'Ccy="USD">0', second, /InstdAmt is not in EUR/],
    ['a repeated identifier', /P7-102/g, 'P7-101', 'P7-101', /EndToEndId is that of another debit/],
    ['an identifier that is too long', /P7-102/g, 'P'.repeat(36), 'P'.repeat(36), /EndToEndId is no reference/],
    ['an identifier that ends with a stroke', 'EM13<', 'EM13/<', second, /MndtId is no reference/],
    ['an identifier with two strokes', 'EM13<', 'EM//3<', second, /MndtId is no reference/],
    ['a character of another script', 'Brien', 'Briën', second, /Nm has not 1 to 70/],
    ['a character that XML escapes', 'Brien', 'Br&amp;n', second, /Nm has not 1 to 70/],
    ['an empty name', /O&apos;Brien Ltd/, '', second, /Nm has not 1 to 70/],
    ['a name that is too long', 'Brien', 'B'.repeat(80), second, /Nm has not 1 to 70/],
    ['a remittance text that is too long', 'Invoice 704', 'x'.repeat(141), second, /Ustrd has not 1 to 140/],
    ['a day without settlement', '2027-01-07', '2027-01-09', null, /ReqdColltnDt is not a day on which TARGET/],
    ['a holiday', '2027-01-07', '2027-03-26', null, /ReqdColltnDt is not a day on which TARGET/],
    ['a day that there is not', '2027-01-07', '2027-02-30', null, /ReqdColltnDt is not a day on which TARGET/],
    ['a mandate signed after the collection', '2026-12-01', '2027-01-08', second, /DtOfSgntr is not a day up to/],
    ['an account with a slip', 'GB29NWBK', 'GB92NWBK', second, /IBAN is not an IBAN/],
    ['an account outside of SEPA', 'GB29NWBK60161331926819', 'TR330006100519786457841326', second, /IBAN/],
    ['a BIC that is none', 'NWBKGB2L', 'NWBKGB2', second, /BICFI is not a BIC/],
    ['a creditor identifier with a slip', 'DE98ZZZ', 'DE89ZZZ', null, /Id is not a creditor identifier/],
    ['a scheme that there is not', '>CORE<', '>COR1<', null, /Cd is not CORE or B2B/],
    ['a sequence type that SEPA does not use', '>RCUR<', '>RPRE<', null, /SeqTp is not RCUR/],
    ['half an amendment', '<AmdmntInd>true</AmdmntInd>', '', second, /names an amendment by half/],
    ['an amendment of another kind', 'SMNDA', 'SMNDB', second, /Id is not SMNDA/],
    ['a town that is missing', /<TwnNm>London<\/TwnNm>/, '', second, /PstlAdr has no TwnNm/],
    ['charges of another kind', 'SLEV', 'SHAR', null, /ChrgBr is not SLEV/],
    ['an element that is missing', /<MndtId>EM13<\/MndtId>/, '', second, /MndtRltdInf has no MndtId/],
    ['an element too many', '<SeqTp>RCUR</SeqTp>', '<SeqTp>RCUR</SeqTp><SeqTp>RCUR</SeqTp>', null, /holds SeqTp where/],
    ['an attribute too many', '<MsgId>', '<MsgId a="1">', null, /MsgId has an attribute/],
    ['a tag that is not closed', '</GrpHdr>', '', null, /cannot be read/],
    ['a comment', '<GrpHdr>', '<!-- x --><GrpHdr>', null, /cannot be read/],
    ['an entity', 'Brien', 'Br&eacute;n', null, /cannot be read/],
    ['a second root', /$/, '<a></a>', null, /cannot be read/],
    ['a cut end', /<\/Document>\s*$/, '', null, /cannot be read/],
    ['another namespace', 'pain.008.001.08', 'pain.008.001.09', null, /no pain\.008/],
  ])('finds %s', (_what, from, to, reference, message) => {
    const wrong = right.replace(from, to)
    expect(wrong).not.toBe(right)
    expect(checkPain008(wrong)).toContainEqual({ reference, message: expect.stringMatching(message) })
  })

  test('refuses in the older version a BIC that its schema refuses', () => {
    const [first] = SAMPLE.debits
    const file = { ...SAMPLE, debits: [{ ...first!, bic: 'ABNANL1O' }] }
    expect(checkPain008(writePain008(file))).toEqual([])
    expect(checkPain008(writePain008({ ...file, version: '02' }))).toEqual([
      { reference: 'P7-101', message: 'BIC is not a BIC' },
    ])
  })

  test('repeats no number of an account', () => {
    const wrong = right.replace('GB29NWBK', 'GB92NWBK').replace('DE89370400', 'DE98370400')
    expect(checkPain008(wrong)).toHaveLength(2)
    expect(JSON.stringify(checkPain008(wrong))).not.toMatch(/\d{6}/)
  })
})
