import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { hasFixtures } from '../../../test/support/fixtures.ts'
import { check, linesOf } from './reading.testing.ts'
import { UnreadableFile } from './unreadable.ts'

const FIXTURE = new URL(
  '../../../../shared/fixtures/iso20022/pain002/postfinance-b-and-c-level-rjct-2019.xml',
  import.meta.url,
)

const published = hasFixtures ? readFileSync(FIXTURE, 'utf8') : ''

describe.skipIf(!hasFixtures)('a bank’s published response (needs ../shared/fixtures)', () => {
  const versions = Array.from({ length: 16 }, (_, version) => String(version).padStart(2, '0'))
  const inVersion = (version: string) => published.replaceAll('pain.002.001.10', `pain.002.001.${version}`)

  test.each(versions.slice(3, 14))('is read as version %s by its namespace', (version) => {
    const file = check(inVersion(version))
    expect([...file.lines()].flat()).toEqual([
      {
        kind: 'status',
        scope: 'payments',
        status: 'RJCT',
        isInherited: false,
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
        apart: [],
      },
    ])
    expect(file.format).toBe(`pain.002.001.${version}`)
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
    const status = { kind: 'status', isInherited: false, on: '2027-01-29', original: null, name: null, apart: [] }
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
      {
        ...status,
        scope: 'payments',
        status: 'PART',
        code: 'FF01',
        references: { ...none, paymentInformation: 'PMT' },
      },
      { ...status, scope: 'message', status: 'RJCT', code: 'FF01', references: none },
    ])
  })

  test('a report without a status, or without its body, is refused', () => {
    expect(() => linesOf(report('<OrgnlGrpInfAndSts><OrgnlMsgId>MSG</OrgnlMsgId></OrgnlGrpInfAndSts>'))).toThrow(
      /no status/,
    )
    expect(() => linesOf(report('').replaceAll('CstmrPmtStsRpt', 'BkToCstmrStmt'))).toThrow(/CstmrPmtStsRpt/)
  })
})

describe('a status that a payment or block has from what it stands in', () => {
  const BATCH = '0123456789abcdef0123456789abcdef'
  const reason = (code?: string) => (code ? `<StsRsnInf><Rsn><Cd>${code}</Cd></Rsn></StsRsnInf>` : '')
  const own = (name: string, status?: string) => (status ? `<${name}>${status}</${name}>` : '')
  const payment = (n: number, status?: string, code?: string) =>
    `<TxInfAndSts><OrgnlEndToEndId>P1-${n}</OrgnlEndToEndId>${own('TxSts', status)}${reason(code)}</TxInfAndSts>`
  const block = (inside: string, { status, code, id = BATCH }: { status?: string; code?: string; id?: string } = {}) =>
    `<OrgnlPmtInfAndSts><OrgnlPmtInfId>${id}</OrgnlPmtInfId>${own('PmtInfSts', status)}${reason(code)}${inside}</OrgnlPmtInfAndSts>`
  const group = ({ status, code, id = BATCH }: { status?: string; code?: string; id?: string } = {}) =>
    `<OrgnlGrpInfAndSts><OrgnlMsgId>${id}</OrgnlMsgId>${own('GrpSts', status)}${reason(code)}</OrgnlGrpInfAndSts>`
  const told = (...inside: string[]) =>
    linesOf(report(inside.join(''))).map((line) => {
      if (line.kind !== 'status') throw new Error('a report has statuses alone')
      const { scope, status, isInherited, code, references } = line
      const name = scope === 'payment' ? references.endToEnd : scope
      return [name, status, code, ...(isInherited ? ['inherited'] : [])]
    })

  test('is its block’s, else the file’s, and its reason is its own, else its block’s, else the file’s', () => {
    const payments = [payment(1, undefined, 'AC01'), payment(2), payment(3, 'RJCT'), payment(4, 'CANC', 'CUST')]
    expect(told(group(), block(payments.join(''), { status: 'RJCT', code: 'FF01' }))).toEqual([
      ['P1-1', 'RJCT', 'AC01', 'inherited'],
      ['P1-2', 'RJCT', 'FF01', 'inherited'],
      ['P1-3', 'RJCT', 'FF01'],
      ['P1-4', 'CANC', 'CUST'],
      ['payments', 'RJCT', 'FF01'],
    ])
    expect(told(group({ status: 'CANC', code: 'CUST' }), block(payment(1) + payment(2, undefined, 'AM04')))).toEqual([
      ['P1-1', 'CANC', 'CUST', 'inherited'],
      ['P1-2', 'CANC', 'AM04', 'inherited'],
      ['payments', 'CANC', 'CUST', 'inherited'],
      ['message', 'CANC', 'CUST'],
    ])
  })

  test('does not depend on the order in which they stand', () => {
    const blocked = block(payment(1, undefined, 'AC01'), { status: 'RJCT', code: 'FF01' })
    const turned = blocked.replace(/(<PmtInfSts>.*<\/StsRsnInf>)(<TxInfAndSts>.*<\/TxInfAndSts>)/, '$2$1')
    expect(turned).not.toBe(blocked)
    expect(told(group(), turned)).toEqual(told(group(), blocked))
    const rejected = group({ status: 'RJCT', code: 'FF01' })
    expect(told(block(payment(1)), rejected)).toEqual(told(rejected, block(payment(1))))
  })

  test('is passed over if it changes nothing; unknown words and BLCK come once, if that names a batch', () => {
    for (const status of ['ACCP', 'ACTC', 'PDNG', 'RCVD', 'ACWC'])
      expect(told(group(), block(payment(1) + payment(2, undefined, 'X1'), { status }))).toEqual([
        ['payments', status, null],
      ])
    for (const status of ['BLCK', 'XXXX']) {
      expect(told(group(), block(payment(1), { status }))).toEqual([['payments', status, null]])
      expect(told(group({ id: 'A' }), block(payment(1), { status, id: 'B' }))).toEqual([
        ['P1-1', status, null, 'inherited'],
        ['payments', status, null],
      ])
    }
  })

  test('is PART for a payment with a reason alone in what is partly done, or has no status', () => {
    const payments = payment(1, undefined, 'AC01') + payment(2) + payment(3, 'ACCP', 'X1')
    const lines = [
      ['P1-1', 'PART', 'AC01', 'inherited'],
      ['P1-3', 'ACCP', 'X1'],
    ]
    expect(told(group(), block(payments, { status: 'PART' }))).toEqual([...lines, ['payments', 'PART', null]])
    expect(told(group({ status: 'PART' }), block(payments))).toEqual([...lines, ['message', 'PART', null]])
    expect(told(group(), block(payments))).toEqual(lines)
  })

  test('is not that of a payment of ours with a status of its own that ends nothing', () => {
    const payments = payment(1, 'ACSP') + payment(2, 'RJCT') + payment(3) + payment(4, 'ACSP').replace('P1-4', 'X')
    const lines = linesOf(
      report(group({ status: 'RJCT' }) + block(payments, { status: 'RJCT' }) + block(payment(5, 'PDNG'))),
    )
    const apart = lines.map((line) => line.kind === 'status' && line.apart.map(({ endToEnd }) => endToEnd))
    expect(apart.filter((names) => names && names.length > 0)).toEqual([['P1-1'], ['P1-5'], ['P1-1', 'P1-5']])
  })

  test('is the same of a report that is too large to be kept', () => {
    const payments = payment(1, undefined, 'AC01') + payment(2)
    const rejected = block(payments, { status: 'RJCT' }).replace(
      /(<PmtInfSts>.*?<\/PmtInfSts>)(.*)<\/Orgnl/,
      '$2$1</Orgnl',
    )
    const many = block(payment(9, 'ACCP').repeat(20_001), { status: 'ACCP' })
    const small = told(rejected)
    expect(small).toHaveLength(3)
    expect(told(rejected, many, rejected, group({ code: 'FF01' }))).toEqual([
      ['P1-1', 'RJCT', 'AC01', 'inherited'],
      ['P1-2', 'RJCT', 'FF01', 'inherited'],
      ['payments', 'RJCT', 'FF01'],
      ...Array.from({ length: 20_001 }, () => ['P1-9', 'ACCP', 'FF01']),
      ['payments', 'ACCP', 'FF01'],
      ['P1-1', 'RJCT', 'AC01', 'inherited'],
      ['P1-2', 'RJCT', 'FF01', 'inherited'],
      ['payments', 'RJCT', 'FF01'],
    ])
  })
})

describe('what of a report cannot be used', () => {
  const payment = (reference: string, amount: string) => `<OrgnlPmtInfAndSts><TxInfAndSts>
    <OrgnlEndToEndId>${reference}</OrgnlEndToEndId><TxSts>RJCT</TxSts>
    <OrgnlTxRef><Amt><InstdAmt Ccy="EUR">${amount}</InstdAmt></Amt></OrgnlTxRef></TxInfAndSts></OrgnlPmtInfAndSts>`

  test('an original amount is as if it were not there; a number that is none refuses what names a payment of ours', () => {
    expect(linesOf(report(payment('P1-7', '0.12345')))).toMatchObject([{ original: null }])
    expect(linesOf(report(payment('X', '1e5')))).toMatchObject([{ original: null }])
    expect(() => linesOf(report(payment('P1-7', '1e5')))).toThrow(/no decimal number/)
  })

  test('its day is none', () => {
    const day = '2027-01-29T23:59:00.000+01:00'
    expect(linesOf(report(payment('X', '1')).replace(day, '2027-02-31'))).toMatchObject([{ on: null }])
    expect(linesOf(report(payment('X', '1')).replace(`<CreDtTm>${day}</CreDtTm>`, ''))).toMatchObject([{ on: null }])
  })

  test('placeholders are no references', () => {
    const file = report(payment('NOTPROVIDED', '1')).replace(
      '<TxInfAndSts>',
      '<OrgnlPmtInfId>n/a</OrgnlPmtInfId><TxInfAndSts>',
    )
    const nothing = { endToEnd: null, instruction: null, paymentInformation: null, message: null, mandate: null }
    expect(linesOf(file)).toMatchObject([{ references: nothing }])
  })
})

test.each([
  ['urn:iso:std:iso:20022:tech:xsd:pain.002.002.03', 'pain.002.002.03'],
  ['urn:iso:std:iso:20022:tech:xsd:pain.002.003.03', 'pain.002.003.03'],
  ['http://www.six-interbank-clearing.com/de/pain.002.001.03.ch.02.xsd', 'pain.002.001.03.ch.02'],
])('%s is read as a version of its own', (namespace, format) => {
  const file = report('<OrgnlGrpInfAndSts><GrpSts>RJCT</GrpSts></OrgnlGrpInfAndSts>').replace(/urn:[^"]*/, namespace)
  expect(check(file)).toMatchObject({ format, otherAccounts: 0, isOfOthersOnly: false })
  for (const wrong of [`${namespace}x`, namespace.replace('pain', 'pian'), namespace.toUpperCase()])
    expect(() => check(file.replace(namespace, wrong))).toThrow(UnreadableFile)
})
