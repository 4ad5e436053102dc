import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { hasFixtures } from '../../../test/support/fixtures.ts'
import { readResultFile } from './read.ts'
import { UnreadableFile } from './unreadable.ts'

const FIXTURE = new URL(
  '../../../../shared/fixtures/iso20022/pain002/postfinance-b-and-c-level-rjct-2019.xml',
  import.meta.url,
)

const published = hasFixtures ? readFileSync(FIXTURE, 'utf8') : ''
const linesOf = (text: string) => [...readResultFile(Buffer.from(text)).lines].flat()

describe.skipIf(!hasFixtures)('a bank’s published response (needs ../shared/fixtures)', () => {
  const versions = Array.from({ length: 16 }, (_, version) => String(version).padStart(2, '0'))
  const inVersion = (version: string) => published.replaceAll('pain.002.001.10', `pain.002.001.${version}`)

  test.each(versions.slice(3, 14))('is read as version %s by its namespace', (version) => {
    const reading = readResultFile(Buffer.from(inVersion(version)))
    expect([...reading.lines].flat()).toEqual([
      {
        kind: 'status',
        scope: 'payments',
        status: 'RJCT',
        code: 'AC01',
        on: '2022-05-02',
        original: null,
        references: {
          endToEnd: null,
          instruction: null,
          paymentInformation: 'PMTINF-02',
          message: 'MSG-02-QRR-SCOR',
          mandate: null,
        },
        name: null,
      },
    ])
    expect(reading.format).toBe(`pain.002.001.${version}`)
  })

  test.each([...versions.slice(0, 3), ...versions.slice(14)])('is refused as version %s', (version) => {
    expect(() => linesOf(inVersion(version))).toThrow(UnreadableFile)
  })
})

const report = (inside: string, version = '03') =>
  `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.${version}"><CstmrPmtStsRpt>
     <GrpHdr><MsgId>R</MsgId><CreDtTm>2027-01-29T23:59:00.000+01:00</CreDtTm></GrpHdr>${inside}</CstmrPmtStsRpt></Document>`

describe('statuses', () => {
  const payment = (mandate: string, debtor: string) => `<TxInfAndSts>
    <OrgnlInstrId>I-7</OrgnlInstrId><OrgnlEndToEndId>P3-7</OrgnlEndToEndId><TxSts>RJCT</TxSts>
    <StsRsnInf><Orgtr><Nm>Bank</Nm></Orgtr></StsRsnInf><StsRsnInf><Rsn><Prtry>MD1</Prtry></Rsn></StsRsnInf>
    <OrgnlTxRef><Amt><InstdAmt Ccy="EUR">115.5</InstdAmt></Amt>${mandate}${debtor}</OrgnlTxRef></TxInfAndSts>`

  test.each([
    ['03', '<MndtRltdInf><MndtId>M-1</MndtId></MndtRltdInf>', '<Dbtr><Nm>Ada</Nm></Dbtr>'],
    [
      '13',
      '<MndtRltdInf><DrctDbtMndt><MndtId>M-1</MndtId></DrctDbtMndt></MndtRltdInf>',
      '<Dbtr><Pty><Nm>Ada</Nm></Pty></Dbtr>',
    ],
  ])('of payments come before those of what holds them (%s)', (version, mandate, debtor) => {
    const lines = linesOf(
      report(
        `<OrgnlGrpInfAndSts><OrgnlMsgId>MSG</OrgnlMsgId><OrgnlMsgNmId>pain.008</OrgnlMsgNmId><GrpSts>RJCT</GrpSts>
           <StsRsnInf><Rsn><Cd>FF01</Cd></Rsn></StsRsnInf></OrgnlGrpInfAndSts>
         <OrgnlPmtInfAndSts><OrgnlPmtInfId>PMT</OrgnlPmtInfId><PmtInfSts>PART</PmtInfSts>${payment(mandate, debtor)}</OrgnlPmtInfAndSts>`,
        version,
      ),
    )
    const status = { kind: 'status', on: '2027-01-29', original: null, name: null, code: null }
    const none = { endToEnd: null, instruction: null, paymentInformation: null, message: 'MSG', mandate: null }
    expect(lines).toEqual([
      {
        ...status,
        scope: 'payment',
        status: 'RJCT',
        code: 'MD1',
        original: { amountMinor: 11_550n, currency: 'EUR' },
        references: {
          endToEnd: 'P3-7',
          instruction: 'I-7',
          paymentInformation: 'PMT',
          message: 'MSG',
          mandate: 'M-1',
        },
        name: 'Ada',
      },
      { ...status, scope: 'payments', status: 'PART', references: { ...none, paymentInformation: 'PMT' } },
      { ...status, scope: 'message', status: 'RJCT', code: 'FF01', references: none },
    ])
  })

  test('a report without statuses has no lines, one without its body is refused', () => {
    expect(linesOf(report('<OrgnlGrpInfAndSts><OrgnlMsgId>MSG</OrgnlMsgId></OrgnlGrpInfAndSts>'))).toEqual([])
    expect(() => linesOf(report('').replaceAll('CstmrPmtStsRpt', 'BkToCstmrStmt'))).toThrow(/CstmrPmtStsRpt/)
  })
})
