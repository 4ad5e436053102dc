import { describe, expect, test } from 'vitest'
import { Problems } from '../../kernel/fault.ts'
import { achFile } from './ach-file.ts'
import { callOf } from './calls.testing.ts'
import { COMPANY } from './company.testing.ts'
import type { BatchToBuild, Built, GatewayCall, Held, LineToBuild } from './contract.ts'
import { ACH_FILE } from './facts.ts'
import { checkGatewaySettings, mergedSettings, readSettings, type SentSettings } from './settings.ts'

const callWith = (settings: SentSettings = {}): GatewayCall =>
  callOf({
    accountId: 7n as GatewayCall['accountId'],
    gatewayId: 1n,
    settings: readSettings(ACH_FILE, { ...COMPANY, ...settings }),
    now: '2027-01-04T18:59:00.000Z',
    today: '2027-01-04',
  })

const lineOf = (paymentId: bigint, rest: Partial<LineToBuild> = {}): LineToBuild => ({
  paymentId,
  reference: `P7-${paymentId}`,
  chargeReference: `${paymentId}.Qm3kz0aXw1Yb`,
  amountMinor: 11_500n,
  kind: 'ach',
  accountType: 'Checking',
  accountHolder: 'Ada Lovelace',
  bank: 'A bank',
  accountNumber: '5654221',
  branchCode: null,
  routingNumber: '081000210',
  iban: null,
  bic: null,
  mandateReference: null,
  mandateDate: '2026-12-01',
  hasAccountChanged: false,
  invoiceNumbers: ['702'],
  ...rest,
})
const batchOf = (lines: LineToBuild[], rest: Partial<BatchToBuild> = {}): BatchToBuild => ({
  token: '0f8b1c52-a7d9-4c52-a91c-3f0e8c2d7b11',
  batchId: 42n,
  currency: 'USD',
  actionDate: '2027-01-05',
  submittedAt: '2027-01-04T18:59:00.000Z',
  zone: 'America/New_York',
  fileOfDay: 0,
  lines,
  ...rest,
})
const build = (batch: BatchToBuild, settings = {}) => achFile.buildBatch!(callWith(settings), batch)
function linesOf(built: Built | Held): string[] {
  if (built.kind !== 'built' || built.file === null) throw new Error(`a file, not ${JSON.stringify(built)}`)
  return built.file.bytes.toString('latin1').split('\r\n')
}
/** Returns class, description and references of each batch record. */
const groupsIn = (lines: readonly string[]) => {
  const groups: string[][] = []
  for (const line of lines)
    if (line[0] === '5') groups.push([line.slice(50, 53), line.slice(53, 63).trim()])
    else if (line[0] === '6') groups.at(-1)?.push(line.slice(39, 54).trim())
  return groups
}

describe('a batch', () => {
  test('is built into one file by the Settings and the zone of the account, and into the same bytes again', async () => {
    const batch = batchOf([lineOf(2n, { amountMinor: 3_450n }), lineOf(1n)])
    const built = await build(batch)
    expect(built).toMatchObject({
      file: { name: 'ach-2027-01-05-0f8b1c52a7d94c52a91c3f0e8c2d7b11.ach', mediaType: 'text/plain; charset=us-ascii' },
      traces: new Map([
        [1n, '091012980042001'],
        [2n, '091012980042002'],
      ]),
    })
    const [header, , first, second, , control] = linesOf(built)
    // 13:59 in New York.
    expect(header).toMatch(/^101 09101298412345678902701041359A094101FIRST BANK {13}ACME SOFTWARE/)
    expect(first).toBe('6270810002105654221          0000011500P7-1           ADA LOVELACE            0091012980042001')
    expect(second).toBe(
      '6270810002105654221          0000003450P7-2           ADA LOVELACE            0091012980042002',
    )
    expect(control).toContain('9000001000001000000020016200042000000014950000000000000')
    expect(await build(batch)).toEqual(built)
  })

  test('goes by class, repeats behind all others, places counted through the file', async () => {
    const lines = [
      lineOf(1n, { signedHere: 'recurring' }),
      lineOf(2n),
      lineOf(3n, { isCompany: true, signedHere: 'recurring' }),
      lineOf(4n, { isRepeat: true, signedHere: 'once' }),
      lineOf(5n, { isRepeat: true, isCompany: true }),
      lineOf(6n),
    ]
    const built = await build(batchOf(lines), { isPurchase: true })
    expect(groupsIn(linesOf(built))).toEqual([
      ['CCD', 'SUBSCRIPTN', 'P7-3'],
      ['PPD', 'SUBSCRIPTN', 'P7-2', 'P7-6'],
      ['WEB', 'PURCHASE', 'P7-1'],
      ['CCD', 'RETRY PYMT', 'P7-5'],
      ['WEB', 'RETRY PYMT', 'P7-4'],
    ])
    expect(built.kind === 'built' && [...built.traces!].map(([id, trace]) => `${id} ${trace.slice(-3)}`)).toEqual([
      '3 001',
      '2 002',
      '6 003',
      '1 004',
      '5 005',
      '4 006',
    ])
    const web = linesOf(built).filter((line) => line[0] === '6' && /P7-[14] /.test(line))
    expect(web.map((line) => line.slice(76, 78))).toEqual(['R ', 'S '])
    const plain = await build(batchOf(lines.slice(1, 2)), { DefaultClass: 'web', EntryDescription: 'Membership' })
    expect(groupsIn(linesOf(plain))).toEqual([['WEB', 'MEMBERSHIP', 'P7-2']])
  })

  test('names the bank and the company otherwise where the Settings do', async () => {
    const settings = { DestinationRouting: '101000019', OriginID: '98765432', OriginName: 'Acme Holding' }
    const [header] = linesOf(await build(batchOf([lineOf(1n)]), settings))
    expect(header).toMatch(/^101 101000019 {2}98765432270104/)
    expect(header).toContain('ACME HOLDING')
  })

  test('keeps the reference where its account makes it too long', async () => {
    const long = { reference: 'P1234567-1234567' }
    expect(groupsIn(linesOf(await build(batchOf([lineOf(1_234_567n, long)]))))[0]).toContain('P1234567')
    const whole = { reference: 'P123456-1234567' }
    expect(groupsIn(linesOf(await build(batchOf([lineOf(1_234_567n, whole)]))))[0]).toContain('P123456-1234567')
  })

  test.each<[string, Partial<LineToBuild>, RegExp]>([
    ['no day of its mandate', { mandateDate: null }, /no MandateDate/],
    ['an amount over the bound', { amountMinor: 10_000_000_000n }, /over 99999999.99/],
    ['a name that nothing is left of', { accountHolder: '日本' }, /no letter or digit/],
    ['an account of 18 characters', { accountNumber: '1'.repeat(18) }, /more than 17 characters/],
    ['no routing number', { routingNumber: null }, /no account in the United States/],
  ])('names a line with %s, and no other', async (_what, rest, reason) => {
    const built = await build(batchOf([lineOf(1n), lineOf(2n, rest), lineOf(3n)]))
    expect(built).toEqual({ kind: 'refused', lines: [{ paymentId: 2n, reason: expect.stringMatching(reason) }] })
  })

  test('of the greatest amounts is built, one cent over what a balanced class can have is refused', async () => {
    const most = lineOf(1n, { amountMinor: 9_999_999_999n })
    const offset = { OffsetRouting: '101000019', OffsetAccount: '511100' }
    expect(linesOf(await build(batchOf([most]), offset))[3]).toMatch(/^622101000019511100 {11}9999999999/)
    const refused = await build(batchOf([most, lineOf(2n, { amountMinor: 1n })]), offset)
    expect(refused).toEqual({ kind: 'refused', lines: [], reason: expect.stringContaining('which balances them') })
    const many = Array.from({ length: 101 }, (_, n) => lineOf(BigInt(n + 1), { amountMinor: 9_999_999_999n }))
    expect(await build(batchOf(many))).toMatchObject({
      kind: 'refused',
      reason: expect.stringContaining('9999999999.99'),
    })
  })

  test('is the 36th of its day, and no 37th is built', async () => {
    expect(linesOf(await build(batchOf([lineOf(1n)], { fileOfDay: 35 })))[0]?.[33]).toBe('9')
    expect(await build(batchOf([lineOf(1n)], { fileOfDay: 36 }))).toMatchObject({
      kind: 'refused',
      lines: [],
      reason: expect.stringContaining('36 files a day'),
    })
  })
})

describe('Settings', () => {
  const problemsOf = (sent: SentSettings) => {
    const problems = new Problems()
    checkGatewaySettings(ACH_FILE, mergedSettings(ACH_FILE, COMPANY, sent), 'UTC', problems)
    return problems.found
  }

  test.each([
    ['CompanyName', 'Seventeen letters'],
    // 17 letters with those that stand for the umlaut.
    ['CompanyName', 'Café & Söhne LLC'],
    ['CompanyName', '日本'],
    ['CompanyName', '--'],
    ['CompanyID', '12345678901'],
    ['CompanyID', '12-3456789'],
    ['OdfiRouting', '091012985'],
    ['OdfiRouting', '09101298'],
    ['DestinationRouting', '123456789'],
    ['DestinationName', 'x'.repeat(24)],
    ['OriginID', '12 45'],
    ['OriginName', 'x'.repeat(24)],
    ['EntryDescription', 'elevenchars'],
    ['EntryDescription', 'Abogebührn'],
    ['EntryDescription', 'Retry Pymt'],
    ['EntryDescription', 'REVERSAL'],
    ['isPurchase', 'maybe'],
    ['DefaultClass', 'CCD'],
    ['OffsetRouting', '091012985'],
    ['OffsetAccount', '1'.repeat(18)],
    ['OffsetAccount', '12 34'],
    ['SettleAfterDays', -1],
    ['LeadDays', 31],
    ['SubmitDays', 3],
    ['CutOff', '24:00'],
  ])('refuse %s of %j by name, without the value', (name, value) => {
    const found = problemsOf({ [name]: value as string })
    expect(found.map(({ field }) => field)).toEqual([`Settings.${name}`])
    if (String(value).length > 4 && name !== 'EntryDescription') expect(found[0]?.message).not.toContain(String(value))
  })

  test.each([
    [{ OffsetRouting: '101000019' }, 'Settings.OffsetAccount'],
    [{ OffsetAccount: '511100' }, 'Settings.OffsetRouting'],
  ])('of a balanced file are both set or neither: %j', (sent, field) => {
    expect(problemsOf(sent)).toEqual([expect.objectContaining({ field })])
    expect(problemsOf({ OffsetRouting: '101000019', OffsetAccount: '511100' })).toEqual([])
  })

  test('are tried by building a file, and what is missing is named', async () => {
    expect(await achFile.check(callWith())).toEqual({ kind: 'accepted' })
    const { OdfiRouting: _, ...settings } = callWith().settings
    expect(await achFile.check({ ...callWith(), settings })).toEqual({
      kind: 'refused',
      reason: 'Settings.OdfiRouting is not set.',
    })
  })
})
