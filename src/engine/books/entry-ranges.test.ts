import { expect, test } from 'vitest'
import fc from 'fast-check'
import { dateOfDayNumber } from '../../kernel/calendar.ts'
import { rangesAfter } from './entry-ranges.ts'

const day = (number: number): string => dateOfDayNumber(20_000 + number)

test('each entry is in the first batch whose mark and last day reach it, and in no other', () => {
  const batch = fc.record({ posted: fc.bigInt(0n, 6n), to: fc.nat(8) })
  fc.assert(
    fc.property(fc.array(batch, { maxLength: 6 }), (batches) => {
      const reaches: { below: bigint; to: string }[] = []
      const found = new Map<string, number>()
      let below = 1n
      for (const [number, { posted, to }] of batches.entries()) {
        below += posted
        const reach = { below, to: day(to) }
        for (const { from, until, after } of rangesAfter(reaches, reach))
          for (let id = from; id < until; id += 1n)
            for (let on = 0; on <= to; on += 1)
              if (after === null || day(on) > after) {
                expect(found.get(`${id} ${on}`)).toBeUndefined()
                found.set(`${id} ${on}`, number)
              }
        reaches.push(reach)
      }
      for (let id = 0n; id < below; id += 1n)
        for (let on = 0; on <= 8; on += 1) {
          const first = reaches.findIndex((reach) => reach.below > id && reach.to >= day(on))
          expect(found.get(`${id} ${on}`)).toBe(first < 0 ? undefined : first)
        }
    }),
  )
})
