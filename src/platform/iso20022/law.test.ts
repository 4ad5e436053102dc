import fc from 'fast-check'
import { expect, test } from 'vitest'
import { minorText } from '../../kernel/money.ts'
import { detailsXml, entryXml, linesOf, partXml, type PartText, statementXml } from './reading.testing.ts'
import type { BankEntry, ResultLine } from './result-lines.ts'

/** The law of entries: whatever stands in one, its lines come to its amount, or one of them has none and stands for what is left. */

const minor = fc.bigInt({ min: 0n, max: 20_000n })
const sometimes = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined, freq: 2 })
const text = minor.map((amount) => minorText(amount, 2))

const part: fc.Arbitrary<PartText> = fc
  .record({
    amount: sometimes(
      fc.oneof({ weight: 8, arbitrary: text }, { weight: 1, arbitrary: fc.constantFrom('0.12345', '1e2') }),
    ),
    transaction: sometimes(text),
    instructed: sometimes(text),
    direction: fc.constantFrom(undefined, undefined, undefined, 'CRDT', 'DBIT', 'BOTH'),
    currency: fc.constantFrom('EUR', 'EUR', 'EUR', 'USD', 'CNH'),
    endToEnd: fc.constantFrom(undefined, 'INV-1', 'P1-7'),
    reference: fc.constantFrom(undefined, 'NONREF', 'D1'),
  })
  .map((facts) => Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)))

const entry = fc
  .record({
    parts: fc.array(part, { maxLength: 4 }),
    amount: fc.oneof(
      { weight: 5, arbitrary: text },
      { weight: 1, arbitrary: fc.constantFrom('0.12345', '1000000000000') },
    ),
    direction: fc.constantFrom('CRDT', 'DBIT'),
    status: fc.constantFrom('BOOK', 'BOOK', 'BOOK', 'PDNG'),
  })
  // What is malformed and ours refuses the file, which is another rule.
  .map(({ parts, ...rest }) => ({
    ...rest,
    parts: parts.map((one) => (parts.some(({ amount }) => amount === '1e2') ? { ...one, endToEnd: 'INV-1' } : one)),
  }))

const xmlOf = ({ parts, ...facts }: { parts: PartText[]; amount: string; direction: string; status: string }) =>
  entryXml(parts.length === 0 ? '' : detailsXml(...parts), { ...facts, reference: 'REF' })

/** Groups lines by their entry, which is the same object for all of them. */
function byEntry(lines: readonly ResultLine[]): Map<BankEntry, ResultLine[]> {
  const found = new Map<BankEntry, ResultLine[]>()
  for (const line of lines) {
    if (line.kind === 'status') throw new Error('a statement has no status')
    found.set(line.entry, [...(found.get(line.entry) ?? []), line])
  }
  return found
}

test('lines of an entry come to its amount, or one without an amount stands for what is left', () => {
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 6 }), (entries) => {
      const booked = entries.filter(({ status }) => status === 'BOOK')
      const found = [...byEntry(linesOf(statementXml(entries.map(xmlOf).join(''))))]
      expect(found).toHaveLength(booked.length)
      for (const [index, [own, lines]] of found.entries()) {
        const parts = lines.flatMap((line) => (line.kind === 'part' ? [line] : []))
        expect(parts.map((line) => line.index)).toEqual(parts.map((_, n) => n + 1))
        expect(parts).toHaveLength(own.isWhole ? 1 : (booked[index]?.parts.length ?? 0))
        const unknown = parts.filter(({ amount }) => amount === null).length
        const known = parts.reduce((sum, line) => {
          expect(line.amount === null || line.amount.currency === own.amount?.currency).toBe(true)
          const worth = line.amount?.amountMinor ?? 0n
          return sum + (line.isContrary ? -worth : worth)
        }, 0n)
        const hasOver = lines.some(({ kind }) => kind === 'over')
        if (own.isUnreadable) expect(parts).toMatchObject([{ isUnreadable: true, amount: null }])
        else if (unknown === 0) {
          expect(known).toBe(own.knownMinor)
          expect(hasOver).toBe(known !== own.amount?.amountMinor)
        } else expect(hasOver).toBe(parts.every(({ isUnreadable }) => !isUnreadable))
      }
    }),
    { numRuns: 400 },
  )
})

test('a file that is read twice gives the lines of one that is kept', () => {
  const filling = entryXml(`<NtryDtls>${partXml({ amount: '1.00' }).repeat(20_001)}</NtryDtls>`, { amount: '20001' })
  fc.assert(
    fc.property(fc.array(entry, { minLength: 1, maxLength: 12 }), (entries) => {
      const xml = entries.map(xmlOf).join('')
      const kept = linesOf(statementXml(xml))
      expect(linesOf(statementXml(xml + filling)).slice(0, kept.length)).toEqual(kept)
    }),
    { numRuns: 3 },
  )
})
