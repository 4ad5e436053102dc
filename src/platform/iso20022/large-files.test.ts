import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { hasFixtures } from '../../../test/support/fixtures.ts'
import { check, detailsXml, entryXml, linesOf, partXml, READING, statementXml } from './reading.testing.ts'
import { checkResultFile } from './read.ts'
import { UnreadableFile } from './unreadable.ts'

/** Bounds of files: how many lines and parts, how long a slice of reading takes, and what a file is that was cut off. */

const parts = (count: number) => `<NtryDtls>${partXml({ amount: '1' }).repeat(count)}</NtryDtls>`

/** CPU-seconds of something. */
const cpuOf = (work: () => unknown): number => {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000_000
}

const lastOf = (file: string) => {
  let count = 0
  let last
  for (const lines of check(file).lines())
    for (const line of lines) {
      count += 1
      last = line
    }
  return { count, last }
}

describe('bounds', () => {
  test('an entry has up to 50,000 parts, which stream, also each in details of its own', () => {
    const own = detailsXml({ amount: '1' }).repeat(49_999)
    expect(lastOf(statementXml(entryXml(own + parts(1), { amount: '50001' })))).toMatchObject({
      count: 50_001,
      last: { kind: 'over', entry: { details: 50_000, knownMinor: 5_000_000n } },
    })
    expect(() =>
      check(statementXml(entryXml('<NtryDtls><TxDtls/></NtryDtls>'.repeat(50_001), { status: 'PDNG' }))),
    ).toThrow(/more than 50000 parts/)
  })

  test('a file has up to 200,000 lines, those that are passed over included', () => {
    const entries = (count: number) => statementXml('<Ntry/>'.repeat(count))
    const other = { iban: 'DE02120300000000202051' }
    expect(check(entries(199_999), other).isOfOthersOnly).toBe(true)
    expect(() => check(entries(200_000), other)).toThrow(/more than 200000 lines/)
  })
})

test('parts that add up to more than their entry, by far, are exact', () => {
  const huge = '<NtryDtls>' + partXml({ amount: '999999999999.99' }).repeat(20_001) + '</NtryDtls>'
  const { last } = lastOf(statementXml(entryXml(huge, { amount: '0.01' })))
  expect(last).toMatchObject({ kind: 'over', entry: { knownMinor: 2_000_099_999_999_979_999n } })
})

test('between two turns a reading computes for a few milliseconds, whatever stands in the file', () => {
  const files = [
    statementXml(entryXml(parts(2_000)).repeat(2)),
    statementXml(
      entryXml(`<AddtlNtryInf>${'0'.repeat(19_000)}1</AddtlNtryInf>`, { reference: '-'.repeat(19_000) }).repeat(20),
    ),
    statementXml(entryXml('', { amount: `${'0'.repeat(19_000)}1` }).repeat(50)),
    statementXml(entryXml('', { amount: `1.${'0'.repeat(19_000)}1` }).repeat(50)),
  ]
  for (const file of files) {
    const bytes = Buffer.from(file)
    const reading = checkResultFile(bytes, READING)
    const slices: number[] = []
    for (let isDone = false; !isDone;) slices.push(cpuOf(() => (isDone = reading.next().done === true)))
    slices.sort((a, b) => a - b)
    // The slowest of many meets collections of garbage: the tenth part of all is far above what any other takes.
    expect(slices[Math.floor(slices.length * 0.9)]).toBeLessThan(0.05)
  }
})

describe('a file that was cut off', () => {
  const refusesEach = (bytes: Buffer, step: number) => {
    for (let end = step; end < bytes.length; end += step)
      expect(() => linesOf(bytes.subarray(0, end)), `cut at ${end}`).toThrow(UnreadableFile)
  }

  test('is refused wherever it was cut', () => {
    const bytes = Buffer.from(statementXml(entryXml(detailsXml({ endToEnd: 'P1-7' }))))
    expect(linesOf(bytes)).toHaveLength(1)
    refusesEach(bytes, 1)
  })

  test('is refused at each kilobyte of a large one', () => {
    const bytes = Buffer.from(statementXml(entryXml(detailsXml({ endToEnd: 'P1-7' })).repeat(250)))
    expect(bytes.length).toBeGreaterThan(45_000)
    refusesEach(bytes, 1_024)
  })

  test.skipIf(!hasFixtures)('is refused at each kilobyte of those of banks (needs ../shared/fixtures)', () => {
    const folder = new URL('../../../../shared/fixtures/iso20022/', import.meta.url)
    for (const name of [
      'camt/camt053.v8.xml',
      'camt/camt054.v8.xml',
      'pain002/postfinance-b-and-c-level-rjct-2019.xml',
    ])
      refusesEach(Buffer.from(readFileSync(new URL(name, folder), 'utf8').trimEnd()), 1_024)
  })
})
