import { describe, expect, test } from 'vitest'
import {
  check,
  detailsXml,
  entryXml,
  IBAN,
  linesOf,
  partsOf,
  partXml,
  recordXml,
  statementXml,
} from './reading.testing.ts'
import { UnreadableFile } from './unreadable.ts'

/** Entries and their parts: what each is worth, which way it goes, and what is over. */

const OURS = 'P1-7'

const amountsOf = (file: string) => partsOf(file).map(({ amount }) => (amount ? Number(amount.amountMinor) : null))
const overOf = (file: string) =>
  linesOf(file).flatMap((line) =>
    line.kind === 'over' ? [[Number(line.entry.knownMinor), line.entry.unknownParts, line.bankReference]] : [],
  )

describe('the amount of a part', () => {
  test.each<[string, Parameters<typeof detailsXml>, (number | null)[]]>([
    ['is its own', [{ amount: '40.00' }, { amount: '75.00' }], [4_000, 7_500]],
    ['is else that of its transaction', [{ transaction: '40' }, { transaction: '75' }], [4_000, 7_500]],
    [
      'is its own before that of its transaction',
      [{ amount: '40', transaction: '41' }, { amount: '75' }],
      [4_000, 7_500],
    ],
    ['is that of its entry if it is the only one', [{}], [11_500]],
    ['is its own also if it is the only one', [{ amount: '100' }], [10_000]],
    [
      'is that instructed if all have one and they add up',
      [{ instructed: '40' }, { instructed: '75' }],
      [4_000, 7_500],
    ],
    [
      'is that instructed of those without one, if all have one and they add up',
      [{ instructed: '40' }, { instructed: '75', amount: '74' }],
      [4_000, 7_400],
    ],
    [
      'is not that instructed if they do not add up',
      [{ endToEnd: OURS, instructed: '40' }, { instructed: '74' }],
      [null, null],
    ],
    ['is not that instructed if one has none', [{ endToEnd: OURS, instructed: '115' }, {}], [null, null]],
    [
      'is not that instructed in another currency',
      [
        { endToEnd: OURS, instructed: '40', currency: 'USD' },
        { instructed: '75', currency: 'USD' },
      ],
      [null, null],
    ],
    [
      'is not known in another currency',
      [{ endToEnd: OURS, amount: '40', currency: 'CHF' }, { amount: '75' }],
      [null, 7_500],
    ],
    ['is that of the entry for the only one in another currency', [{ amount: '120', currency: 'CHF' }], [11_500]],
    [
      'is that of the entry for the only one in a currency that is none',
      [{ amount: '120', currency: 'CNH' }],
      [11_500],
    ],
  ])('%s', (_name, parts, expected) => {
    expect(amountsOf(statementXml(entryXml(detailsXml(...parts))))).toEqual(expected)
  })

  test('with its original amount beside it, if that can be used', () => {
    const originals = (...parts: Parameters<typeof detailsXml>) =>
      partsOf(statementXml(entryXml(detailsXml(...parts)))).map(({ original }) => original?.amountMinor)
    expect(originals({ amount: '40', instructed: '41' }, { amount: '75' })).toEqual([4_100n, undefined])
    for (const currency of ['XAU', 'HRK', 'CNH', 'BYR', ''])
      expect(originals({ endToEnd: OURS, instructed: '1.5', currency })).toEqual([undefined])
    expect(originals({ endToEnd: OURS, instructed: '0.12345' })).toEqual([undefined])
  })

  test('is the entry’s, whole, if one is not known and none names a payment of ours', () => {
    const file = (first: string) =>
      statementXml(
        entryXml(
          `${detailsXml({ endToEnd: first }, { amount: '75', endToEnd: 'INV-2' })}<AddtlNtryInf>Sum</AddtlNtryInf>`,
          { reference: 'REF' },
        ),
      )
    expect(linesOf(file('INV-1'))).toMatchObject([
      {
        kind: 'part',
        index: 1,
        amount: { amountMinor: 11_500n },
        bankReference: 'REF#1',
        text: 'Sum',
        entry: { isWhole: true, details: 2, unknownParts: 0 },
      },
    ])
    expect(linesOf(file(OURS))).toMatchObject([
      {
        kind: 'part',
        index: 1,
        amount: null,
        bankReference: 'REF#1',
        entry: { isWhole: false, unknownParts: 1, knownMinor: 7_500n },
      },
      { kind: 'part', index: 2, amount: { amountMinor: 7_500n }, bankReference: 'REF#2' },
      { kind: 'over', bankReference: 'REF#over' },
    ])
  })

  test('of a whole entry keeps the batch that all of its parts name, and that one is a return', () => {
    const part = (batch: string, more = '') =>
      partXml({ more: `${more}` }).replace('<TxDtls>', `<TxDtls><Refs><PmtInfId>${batch}</PmtInfId></Refs>`)
    const whole = (...parts: string[]) => partsOf(statementXml(entryXml(`<NtryDtls>${parts.join('')}</NtryDtls>`)))
    expect(whole(part('B'), part('B'))).toMatchObject([
      { references: { paymentInformation: 'B' }, hasReturnInformation: false },
    ])
    expect(whole(part('B'), part('C', '<RtrInf/>'))).toMatchObject([
      { references: { paymentInformation: null }, hasReturnInformation: true },
    ])
  })
})

describe('what is over', () => {
  test.each<[string, Parameters<typeof detailsXml>, unknown[]]>([
    ['is nothing if the parts add up', [{ amount: '40' }, { amount: '75' }], []],
    ['comes after parts of less', [{ amount: '40' }, { amount: '74' }], [[11_400, 0, 'REF#over']]],
    ['comes after parts of more', [{ amount: '100' }, { amount: '75' }], [[17_500, 0, 'REF#over']]],
    ['comes after an only part of another amount', [{ amount: '100' }], [[10_000, 0, 'REF#over']]],
    ['counts parts of the other direction negative', [{ amount: '130' }, { amount: '15', direction: 'DBIT' }], []],
    [
      'counts an only part of the other direction negative',
      [{ amount: '15', direction: 'DBIT' }],
      [[-1_500, 0, 'REF#over']],
    ],
    ['may be known later', [{ endToEnd: OURS }, { amount: '75' }], [[7_500, 1, 'REF#over']]],
    ['is not known beside a part that cannot be read', [{ amount: '0.12345' }, { amount: '75' }], []],
  ])('%s', (_name, parts, expected) => {
    expect(overOf(statementXml(entryXml(detailsXml(...parts), { reference: 'REF' })))).toEqual(expected)
  })

  test('is nothing of an entry without parts, whatever its charges', () => {
    const charges = '<Chrgs><Rcrd><Amt Ccy="EUR">3.00</Amt></Rcrd></Chrgs>'
    expect(linesOf(statementXml(entryXml(charges)))).toHaveLength(1)
  })
})

describe('the direction of a part', () => {
  const kind = '<BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>IDDT</Cd><SubFmlyCd>ESDD</SubFmlyCd></Fmly></Domn></BkTxCd>'
  const facts = (...parts: Parameters<typeof detailsXml>) =>
    partsOf(statementXml(entryXml(`${kind}${detailsXml(...parts)}`))).map(({ isCredit, isContrary, family }) => [
      isCredit,
      isContrary,
      family,
    ])

  test('is its entry’s unless it has its own; against its entry it takes no family from it', () => {
    expect(facts({ amount: '130' }, { amount: '15', direction: 'DBIT' }, { amount: '0', direction: 'CRDT' })).toEqual([
      [true, false, 'IDDT'],
      [false, true, null],
      [true, false, 'IDDT'],
    ])
  })

  test('is its entry’s for an only part of the entry’s amount, whatever it says', () => {
    for (const direction of ['DBIT', 'BOTH']) {
      expect(facts({ direction })).toEqual([[true, false, 'IDDT']])
      expect(facts({ amount: '115.00', direction })).toEqual([[true, false, 'IDDT']])
    }
    expect(facts({ amount: '15.00', direction: 'DBIT' })).toEqual([[false, true, null]])
  })
})

describe('what cannot be read', () => {
  const good = entryXml(detailsXml({ endToEnd: OURS }))
  const unreadable = (change: (entry: string) => string, more = '') =>
    partsOf(statementXml(change(entryXml(`${detailsXml({ endToEnd: OURS })}${more}`)) + good))

  test.each<[string, (entry: string) => string]>([
    ['no amount', (entry) => entry.replace(/<Amt .*?<\/Amt>/, '')],
    ['too many decimals', (entry) => entry.replace('115.00', '0.12345')],
    ['a currency that is none', (entry) => entry.replace('EUR', 'CNH')],
    ['10¹²', (entry) => entry.replace('115.00', '1000000000000')],
    ['no direction', (entry) => entry.replace(/<CdtDbtInd>.*<\/CdtDbtInd>/, '')],
    ['a strange direction', (entry) => entry.replace('CRDT', 'BOTH')],
    ['a day that is none', (entry) => entry.replace('2027-01-29', '2027-02-31')],
    ['an amount behind its parts', (entry) => entry.replace(/(<Amt .*?<\/Amt>)(.*)<\/Ntry>/s, '$2$1</Ntry>')],
    ['a day behind its parts', (entry) => entry.replace(/(<BookgDt>.*<\/BookgDt>)(.*)<\/Ntry>/s, '$2$1</Ntry>')],
  ])('%s: the entry is one line that names its payment, and the next is read', (_name, change) => {
    const [first, second, ...more] = unreadable(change)
    expect(first).toMatchObject({
      isUnreadable: true,
      amount: null,
      references: { endToEnd: OURS },
      entry: { isUnreadable: true, isWhole: true },
    })
    expect(second).toMatchObject({ isUnreadable: false, amount: { amountMinor: 11_500n } })
    expect(more).toEqual([])
  })

  test('an entry of several parts names the first of ours', () => {
    const parts = detailsXml(
      { amount: '1', endToEnd: 'A' },
      { amount: '2', endToEnd: OURS },
      { amount: '3', endToEnd: 'P1-8' },
    )
    expect(linesOf(statementXml(entryXml(parts, { currency: 'CNH', reference: 'REF' })))).toMatchObject([
      { isUnreadable: true, index: 1, references: { endToEnd: OURS }, bankReference: 'REF#1' },
    ])
  })

  test('its day is its own, else its value day, else the statement’s, else none', () => {
    const dayOf = (entry: string, change = (file: string) => file) => partsOf(change(statementXml(entry)))[0]?.entry.on
    const bad = entryXml('', { amount: 'x' })
    const undated = bad.replace('2027-01-29', '2027-02-31')
    expect(dayOf(bad)).toBe('2027-01-29')
    expect(dayOf(undated.replace('</Ntry>', '<ValDt><Dt>2027-01-30</Dt></ValDt></Ntry>'))).toBe('2027-01-30')
    expect(dayOf(undated)).toBe('2027-02-01')
    expect(dayOf(undated, (file) => file.replace('<CreDtTm>2027-02-01T18:00:00</CreDtTm>', ''))).toBeNull()
  })

  test('a part alone is a line of its own, and the others are read', () => {
    for (const bad of [
      { amount: '0.12345' },
      { amount: 'x' },
      { amount: '1', direction: 'BOTH' },
      { amount: '1', currency: '' },
    ])
      expect(
        partsOf(statementXml(entryXml(detailsXml({ ...bad, endToEnd: 'A' }, { amount: '75', endToEnd: 'B' })))),
      ).toMatchObject([
        {
          isUnreadable: true,
          amount: null,
          references: { endToEnd: 'A' },
          entry: { isUnreadable: false, isWhole: false, unknownParts: 1 },
        },
        { isUnreadable: false, amount: { amountMinor: 7_500n } },
      ])
  })

  test.each(['Amt', 'TxAmt', 'InstdAmt'])(
    'a number that is none (%s) refuses the file if the entry names a payment or batch',
    (name) => {
      const money =
        { Amt: { amount: '1e5' }, TxAmt: { transaction: '1e5' }, InstdAmt: { instructed: '1e5' } }[name] ?? {}
      const file = (other: string, inside = '') =>
        statementXml(
          entryXml(
            detailsXml({ amount: '40', ...money }, { amount: '75', endToEnd: other }).replace(
              '<NtryDtls>',
              `<NtryDtls>${inside}`,
            ),
          ),
        )
      expect(() => linesOf(file('INV'))).not.toThrow()
      expect(() => linesOf(file(OURS))).toThrow(/no decimal number/)
      expect(() => linesOf(file('INV', `<Btch><PmtInfId>${'0'.repeat(31)}1</PmtInfId></Btch>`))).toThrow(
        /no decimal number/,
      )
      const others = { iban: 'DE02120300000000202051' }
      expect(partsOf(file(OURS), others)).toEqual([])
      expect(partsOf(file(OURS).replace('BOOK', 'PDNG'))).toEqual([])
    },
  )
})

describe('statements', () => {
  const OTHER = 'DE02120300000000202051'
  const file = (...records: string[]) => statementXml('').replace(/<Stmt>.*<\/Stmt>/s, records.join(''))

  test('of other accounts, or of none, are passed over whatever they name, and counted', () => {
    const booked = entryXml(detailsXml({ endToEnd: OURS }))
    const checked = check(
      file(
        recordXml(booked, OTHER),
        recordXml(booked, 'de89 3704 0044 0532 0130 00'),
        recordXml(booked, null),
        recordXml('', OTHER),
      ),
      { iban: IBAN },
    )
    expect(checked).toMatchObject({ otherAccounts: 3, isOfOthersOnly: false, statusMissing: 0 })
    expect([...checked.lines()].flat()).toMatchObject([{ entry: { account: 'de89 3704 0044 0532 0130 00' } }])
  })

  test('of others alone are told', () => {
    expect(check(file(recordXml(entryXml(), OTHER), recordXml('', null)), { iban: IBAN })).toMatchObject({
      otherAccounts: 2,
      isOfOthersOnly: true,
    })
    expect(check(file(recordXml('')), { iban: IBAN })).toMatchObject({ otherAccounts: 0, isOfOthersOnly: false })
  })

  test('are all taken without an account of ours', () => {
    const checked = check(file(recordXml(entryXml(), OTHER), recordXml(entryXml(), null)))
    expect(checked).toMatchObject({ otherAccounts: 0, isOfOthersOnly: false })
    expect([...checked.lines()].flat().map((line) => line.kind === 'part' && line.entry.account)).toEqual([OTHER, null])
  })

  test('that name their account behind their entries refuse the file: nothing of them vanishes', () => {
    const late = file(
      recordXml(entryXml(), null).replace('</Stmt>', `<Acct><Id><IBAN>${IBAN}</IBAN></Id></Acct></Stmt>`),
    )
    expect(() => check(late, { iban: IBAN })).toThrow(UnreadableFile)
  })

  test('are needed', () => {
    expect(() => check(file())).toThrow(/no statement/)
  })

  test('have entries without a status, which are passed over and counted', () => {
    const without = entryXml().replace(/<Sts>.*<\/Sts>/, '')
    const checked = check(
      file(
        recordXml(without + entryXml() + without.replace('<BookgDt>', '<Sts/><BookgDt>')),
        recordXml(without, OTHER),
      ),
      { iban: IBAN },
    )
    expect(checked.statusMissing).toBe(2)
    expect([...checked.lines()].flat()).toHaveLength(1)
  })
})

describe('references', () => {
  test.each([
    'NONREF',
    'NotProvided',
    'NOT PROVIDED',
    'n/a',
    '0',
    '-',
    '000-0',
    'NOTAVAILABLE',
    'none',
    'null',
    'Unknown.',
    'UNDEFINED',
    'noref',
  ])('%s is none, wherever it stands', (none) => {
    const refs = ['EndToEndId', 'InstrId', 'PmtInfId', 'MsgId', 'MndtId', 'AcctSvcrRef'].map(
      (name) => `<${name}>${none}</${name}>`,
    )
    const batch = `<Btch><MsgId>${none}</MsgId><PmtInfId>${none}</PmtInfId></Btch>`
    const part = `<NtryDtls>${batch}<TxDtls><Refs>${refs.join('')}</Refs></TxDtls></NtryDtls>`
    const nothing = { endToEnd: null, instruction: null, paymentInformation: null, message: null, mandate: null }
    expect(partsOf(statementXml(entryXml(part, { reference: none })))).toMatchObject([
      { references: nothing, bankReference: null, entry: { bankReference: null } },
    ])
    expect(partsOf(statementXml(entryXml(part, { reference: 'REF' })))).toMatchObject([{ bankReference: 'REF#1' }])
  })

  test.each(['0001', 'NONREF1', 'NA-7', 'Ω', '٣'])('%s is one', (some) => {
    expect(partsOf(statementXml(entryXml('', { reference: some })))).toMatchObject([{ bankReference: `${some}#1` }])
  })

  test('of a part go before that of its entry', () => {
    const parts = detailsXml({ amount: '40', reference: 'D1' }, { amount: '75', reference: 'NONREF' })
    expect(
      partsOf(statementXml(entryXml(parts, { reference: 'REF' }))).map(({ bankReference }) => bankReference),
    ).toEqual(['D1', 'REF#2'])
  })
})

describe('a file that is too large to be kept', () => {
  test('gives the lines that its parts give alone, also of entries of which the sum is known at their end', () => {
    const entries = [
      entryXml(detailsXml({ instructed: '40' }, { instructed: '75' })),
      entryXml(detailsXml({ amount: '40' }, { amount: '15', direction: 'DBIT' }), { reference: 'REF' }),
      entryXml(detailsXml({ endToEnd: OURS }, { amount: '75' })),
      entryXml(detailsXml({}, { amount: '75' })),
      entryXml(detailsXml({ amount: '0.12345' }, { amount: '75' })),
      entryXml(detailsXml({ amount: '15', direction: 'DBIT' })),
      entryXml(detailsXml({ amount: '40' }, { amount: '75' }), { currency: 'CNH' }),
      entryXml(detailsXml({ amount: '40' }, { amount: '75' }), { status: 'PDNG' }),
      entryXml('<AddtlNtryInf>Alone</AddtlNtryInf>'),
    ]
    const filling = entryXml(`<NtryDtls>${partXml({ amount: '1.00' }).repeat(20_001)}</NtryDtls>`, { amount: '20001' })
    const small = linesOf(statementXml(entries.join('')))
    const large = linesOf(statementXml(`${entries.join('')}${filling}${entries.join('')}`))
    expect(large).toHaveLength(2 * small.length + 20_001)
    expect(large.slice(0, small.length)).toEqual(small)
    expect(large.slice(-small.length)).toEqual(small)
    expect(large[small.length]).toMatchObject({ index: 1, entry: { details: 20_001, knownMinor: 2_000_100n } })
  })
})
