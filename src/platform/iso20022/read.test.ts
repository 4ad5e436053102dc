import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { hasFixtures } from '../../../test/support/fixtures.ts'
import { entryXml as entry, linesOf, NAMESPACE, partsOf, statementXml } from './reading.testing.ts'
import { UnreadableFile } from './unreadable.ts'

/** Entries in their spellings, encodings, and what is refused however it is sent. */

const statement = (inside: string, before = '', namespace = NAMESPACE) => statementXml(inside, { before, namespace })

describe('an entry', () => {
  test('counts once it is booked, in the spelling of every version', () => {
    const statuses = ['BOOK', '<Cd>BOOK</Cd>', 'PDNG', '<Cd>PDNG</Cd>', '<Cd>INFO</Cd>']
    const file = statement(statuses.map((status) => entry('', { status })).join(''))
    expect(partsOf(file)).toHaveLength(2)
  })

  test('that is a return carries its reason, references and the amount before charges', () => {
    const details = `<NtryDtls><TxDtls><Refs><EndToEndId>P1-7</EndToEndId><MndtId>M-1</MndtId></Refs>
      <AmtDtls><InstdAmt><Amt Ccy="EUR">115.00</Amt></InstdAmt><TxAmt><Amt Ccy="EUR">118.00</Amt></TxAmt></AmtDtls>
      <BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>IDDT</Cd><SubFmlyCd>UPDD</SubFmlyCd></Fmly></Domn></BkTxCd>
      <RltdPties><Dbtr><Nm>Ada</Nm></Dbtr><Cdtr><Nm>We</Nm></Cdtr></RltdPties>
      <RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf></TxDtls></NtryDtls>`
    const reversed = `<RvslInd>true</RvslInd><AcctSvcrRef>REF</AcctSvcrRef>${details}`
    expect(partsOf(statement(entry(reversed, { amount: '118.00', direction: 'DBIT' })))).toEqual([
      {
        kind: 'part',
        entry: {
          account: 'DE89370400440532013000',
          on: '2027-01-29',
          amount: { amountMinor: 11_800n, currency: 'EUR' },
          isCredit: false,
          isUnreadable: false,
          bankReference: 'REF',
          details: 1,
          isWhole: false,
          knownMinor: 11_800n,
          unknownParts: 0,
        },
        index: 1,
        isUnreadable: false,
        amount: { amountMinor: 11_800n, currency: 'EUR' },
        original: { amountMinor: 11_500n, currency: 'EUR' },
        isCredit: false,
        isContrary: false,
        isReversal: true,
        hasReturnInformation: true,
        family: 'IDDT',
        subFamily: 'UPDD',
        code: 'AC04',
        references: { endToEnd: 'P1-7', instruction: null, paymentInformation: null, message: null, mandate: 'M-1' },
        bankReference: 'REF#1',
        written: { text: 'REF#1', isPlaceholder: false },
        name: 'Ada',
        text: null,
      },
    ])
  })

  test('of a whole collection has the references of its batch', () => {
    const batch = '<NtryDtls><Btch><MsgId>MSG</MsgId><PmtInfId>PMT</PmtInfId></Btch></NtryDtls>'
    const [line] = partsOf(statement(entry(batch, { amount: '1150' })))
    expect(line).toMatchObject({
      amount: { amountMinor: 115_000n },
      references: { endToEnd: null, message: 'MSG', paymentInformation: 'PMT' },
    })
  })

  test('with one detail gives it its amount and text', () => {
    const detail = '<TxDtls><Refs><EndToEndId>NOTPROVIDED</EndToEndId></Refs></TxDtls>'
    const [only] = partsOf(statement(entry(`<NtryDtls>${detail}</NtryDtls><AddtlNtryInf>Thanks</AddtlNtryInf>`)))
    expect([only?.amount?.amountMinor, only?.text, only?.references.endToEnd]).toEqual([11_500n, 'Thanks', null])
  })

  test('without a day of booking is of its value day, or of the day of the statement', () => {
    const without = entry().replace(/<BookgDt>.*<\/BookgDt>/, '')
    const valued = without.replace('</Ntry>', '<ValDt><DtTm>2027-01-30T23:00:00Z</DtTm></ValDt></Ntry>')
    expect(partsOf(statement(valued + without)).map(({ entry: { on } }) => on)).toEqual(['2027-01-30', '2027-02-01'])
  })

  test('may be one of thousands, laid out in any way', () => {
    const entries = Array.from({ length: 3_000 }, (_, n) => entry(`<AcctSvcrRef>R${n}</AcctSvcrRef>`))
    expect(partsOf(statement(entries.join(`\n${' '.repeat(20)}`)))).toHaveLength(3_000)
    const details = Array.from({ length: 3_000 }, () => '<TxDtls><Amt Ccy="EUR">1.00</Amt></TxDtls>')
    expect(partsOf(statement(entry(`<NtryDtls>${details.join(`\n${' '.repeat(20)}`)}</NtryDtls>`)))).toHaveLength(3_000)
  })

  test('may hold elements of other namespaces, which are passed over', () => {
    const strange = '<x:Ntry xmlns:x="urn:other"><x:TxDtls/></x:Ntry>'
    expect(partsOf(statement(entry(strange)))).toHaveLength(1)
    const prefixed = statement(entry())
      .replace(/<(\/?)(?=[A-Z])/g, '<$1n:')
      .replace('xmlns=', 'xmlns:n=')
    expect(partsOf(prefixed)).toEqual(partsOf(statement(entry())))
  })
})

describe('amounts', () => {
  test.each([
    ['115', 11_500n, 'EUR'],
    ['.5', 50n, 'EUR'],
    ['5.', 500n, 'EUR'],
    ['+1.10', 110n, 'EUR'],
    ['0.00000', 0n, 'EUR'],
    ['100.00', 100n, 'JPY'],
    ['1.005', 1_005n, 'KWD'],
  ])('%s is exact', (amount, minor, currency) => {
    expect(partsOf(statement(entry('', { amount, currency })))[0]?.amount).toEqual({ amountMinor: minor, currency })
  })

  test.each([
    ['1e5', 'EUR', true],
    ['-1.00', 'EUR', true],
    ['1,50', 'EUR', true],
    ['', 'EUR', true],
    ['.', 'EUR', true],
    ['0x10', 'EUR', true],
    ['١', 'EUR', true],
    ['NaN', 'EUR', true],
    ['1.123456', 'EUR', true],
    ['1.1234560', 'KWD', true],
    ['1234567890123456789', 'EUR', true],
    ['9'.repeat(400), 'EUR', true],
    ['1.005', 'EUR', false],
    ['0.12345', 'EUR', false],
    ['1.5', 'JPY', false],
    ['1000000000000', 'EUR', false],
    ['123456789012345678', 'EUR', false],
    ['1.00', 'EURO', false],
    ['1.00', 'XAU', false],
    ['1.00', 'CNH', false],
    ['1.00', '', false],
  ])(
    '%s %s cannot be used, and refuses a file only if it is no number and ours (%s)',
    (amount, currency, isMalformed) => {
      const inside = (reference: string) =>
        `<NtryDtls><TxDtls><Refs><EndToEndId>${reference}</EndToEndId></Refs></TxDtls></NtryDtls>`
      const file = (reference: string) => statement(entry(inside(reference), { amount, currency }) + entry())
      const unreadable = [{ isUnreadable: true, amount: null, entry: { isUnreadable: true } }, { isUnreadable: false }]
      expect(partsOf(file('INV-7'))).toMatchObject(unreadable)
      if (isMalformed) expect(() => linesOf(file('P1-7'))).toThrow(/no decimal number/)
      else expect(partsOf(file('P1-7'))).toMatchObject(unreadable)
    },
  )
})

describe('encodings', () => {
  const named = (declaration: string) =>
    statement(
      entry('<NtryDtls><TxDtls><RltdPties><Dbtr><Nm>Zoë €</Nm></Dbtr></RltdPties></TxDtls></NtryDtls>'),
      declaration,
    )
  const declared = (name: string) => named(`<?xml version="1.0" encoding="${name}"?>\n`)
  const swapped = (text: string) => Buffer.from(text, 'utf16le').swap16()

  test.each([
    ['UTF-8', Buffer.from(declared('UTF-8'))],
    ['UTF-8 with a mark', Buffer.from(`\uFEFF${declared('utf-8')}`)],
    ['UTF-8 without a declaration', Buffer.from(named(''))],
    ['Windows-1252', Buffer.from(declared('windows-1252').replace('€', '\u0080'), 'latin1')],
    ['ISO-8859-1', Buffer.from(declared('ISO-8859-1').replace('€', '\u0080'), 'latin1')],
    ['UTF-16 little', Buffer.from(`\uFEFF${declared('UTF-16')}`, 'utf16le')],
    ['UTF-16 little without a mark', Buffer.from(declared('UTF-16'), 'utf16le')],
    ['UTF-16 big', swapped(`\uFEFF${declared('UTF-16')}`)],
    ['UTF-16 big without a mark', swapped(declared('utf-16be'))],
  ])('%s is read', (_name, bytes) => {
    expect(partsOf(bytes)[0]?.name).toBe('Zoë €')
  })

  test.each([
    ['one that is not known', Buffer.from(declared('ISO-8859-99'))],
    ['a name of objects', Buffer.from(declared('constructor'))],
    ['UTF-16 that is none', Buffer.from(declared('UTF-16'))],
    ['UTF-8 that is UTF-16', Buffer.from(`\uFEFF${declared('UTF-8')}`, 'utf16le')],
    ['Latin-1 behind the mark of UTF-8', Buffer.from(`\uFEFF${declared('ISO-8859-1')}`)],
    ['bytes that are no UTF-8', Buffer.from(declared('UTF-8'), 'latin1')],
    ['half a character at the end', Buffer.concat([Buffer.from(statement(entry())), Buffer.from([0xe2, 0x82])])],
    ['half of a pair', Buffer.from(`\uFEFF${statement(entry())}\uD800`, 'utf16le')],
  ])('%s is refused', (_name, bytes) => {
    expect(() => linesOf(bytes)).toThrow(UnreadableFile)
  })
})

describe('hostile files are refused, in little time', () => {
  const MIB = 1024 * 1024
  const repeated = (text: string, times: number) => text.repeat(times)
  const files: [string, () => string][] = [
    ['nothing', () => ''],
    ['spaces alone', () => repeated(' ', 8 * MIB)],
    ['no XML', () => '{"Amount": 5}'],
    ['cut off', () => statement(entry()).slice(0, -10)],
    ['another document', () => '<html xmlns="http://www.w3.org/1999/xhtml"/>'],
    ['another version', () => statement(entry(), '', NAMESPACE.replace('.02', '.14'))],
    ['no namespace', () => statement(entry(), '', '')],
    ['another root', () => `<Ntry xmlns="${NAMESPACE}"/>`],
    ['two roots', () => statement(entry()) + statement(entry())],
    ['200,000 nested elements', () => statement(repeated('<a>', 200_000))],
    ['200,000 nested elements before the root is known', () => repeated('<a>', 200_000)],
    ['a document type', () => statement(entry(), '<!DOCTYPE Document>')],
    [
      'an entity bomb',
      () =>
        statement(
          entry('', { amount: '&c;' }),
          '<!DOCTYPE d [<!ENTITY a "aa"><!ENTITY b "&a;&a;"><!ENTITY c "&b;&b;">]>',
        ),
    ],
    ['an outside entity', () => statement(entry(), '<!DOCTYPE d SYSTEM "http://127.0.0.1/x">')],
    ['an entity that is none of XML', () => statement(entry('', { amount: '&nbsp;' }))],
    ['a huge document type', () => `<!DOCTYPE d [${repeated('<!ENTITY a "b">', 500_000)}]>`],
    ['a huge text', () => statement(entry(`<AddtlNtryInf>${repeated('a', 16 * MIB)}</AddtlNtryInf>`))],
    ['a huge text in pieces', () => statement(entry(`<AddtlNtryInf>${repeated('a<b/>', 2 * MIB)}</AddtlNtryInf>`))],
    ['a huge CDATA section', () => statement(entry(`<![CDATA[${repeated('<', 16 * MIB)}]]>`))],
    ['a huge comment', () => statement(entry(`<!--${repeated('<a>', 4 * MIB)}-->`))],
    ['many comments', () => statement(entry(repeated('<!---->', 2 * MIB)))],
    ['a huge attribute', () => statement(entry().replace('Ccy="EUR"', `Ccy="${repeated('E', 16 * MIB)}"`))],
    ['many attributes', () => statement(`<a ${Array.from({ length: 500_000 }, (_, n) => `b${n}=""`).join(' ')}/>`)],
    ['a huge name', () => `<${repeated('a', 16 * MIB)}/>`],
    ['many elements in one place', () => statement(repeated('<a/>', 2 * MIB))],
  ]

  test.each(files)('%s', (_name, make) => {
    const bytes = Buffer.from(make())
    const before = process.cpuUsage()
    let thrown: unknown
    try {
      linesOf(bytes)
    } catch (error) {
      thrown = error
    }
    const { user, system } = process.cpuUsage(before)
    expect(thrown).toBeInstanceOf(UnreadableFile)
    expect((thrown as UnreadableFile).message).toMatch(/^(The file|An? )/)
    // Far above what any needs on a machine that does nothing else, and far below what one without its bound takes.
    expect((user + system) / 1_000_000).toBeLessThan(0.5)
  })
})

test.skipIf(!hasFixtures)(
  'whatever is changed in a file, it is read or refused, and nothing else is thrown (needs ../shared/fixtures)',
  () => {
    const folder = new URL('../../../../shared/fixtures/iso20022/', import.meta.url)
    const files = ['camt/camt053.v8.xml', 'camt/camt054.v8.xml', 'pain002/postfinance-b-and-c-level-rjct-2019.xml'].map(
      (name) => readFileSync(new URL(name, folder)),
    )
    const change = fc.record({
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      length: fc.nat({ max: 60 }),
      by: fc.oneof(
        fc.uint8Array({ maxLength: 12 }),
        fc
          .constantFrom('<', '>', '&', ']]>', '<!--', '<![CDATA[', '<?', '1e5', 'Ccy=""', '<Ntry>', '</Ntry>', '\u0000')
          .map((text) => Buffer.from(text)),
      ),
    })
    fc.assert(
      fc.property(fc.constantFrom(...files), fc.array(change, { minLength: 1, maxLength: 6 }), (file, changes) => {
        let bytes = file
        for (const { at, length, by } of changes) {
          const start = Math.floor(at * bytes.length)
          bytes = Buffer.concat([bytes.subarray(0, start), by, bytes.subarray(start + length)])
        }
        try {
          linesOf(bytes)
        } catch (error) {
          expect(error).toBeInstanceOf(UnreadableFile)
        }
      }),
      { numRuns: 500 },
    )
  },
)
