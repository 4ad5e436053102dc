import { expect, test } from 'vitest'
import { ZERO } from '../../kernel/decimal.ts'
import { checkDays } from './coverage.ts'
import type { CoveringCharge } from './coverage-queries.ts'

/** Metered charge of a component, in a stretch of its subscription. */
const metered = (id: bigint, stretch: number, from: string, until: string) =>
  ({
    id,
    subscriptionId: 1n,
    kind: 'metered',
    itemId: 7n,
    stretch,
    part: 0,
    bracketIndex: null,
    from,
    until,
    quantity: ZERO,
  }) as unknown as CoveringCharge

function found(charges: readonly CoveringCharge[]): string[] {
  const stored: string[] = []
  checkDays(1n, 1n as never, charges, (difference) => void stored.push(String(difference.stored)))
  return stored
}

test('usage of the day on which a subscription was cancelled at once and came back stands beside usage from that day on', () => {
  const cut = metered(1n, 0, '2027-05-10', '2027-05-11')
  expect(found([cut, metered(2n, 1, '2027-05-10', '2027-06-10')])).toEqual([])
})

test.each([
  ['in the same stretch', metered(1n, 0, '2027-05-10', '2027-05-11'), metered(2n, 0, '2027-05-10', '2027-06-10')],
  ['of two days', metered(1n, 0, '2027-05-10', '2027-05-12'), metered(2n, 1, '2027-05-10', '2027-06-10')],
  ['that began before', metered(1n, 0, '2027-05-09', '2027-05-11'), metered(2n, 1, '2027-05-10', '2027-06-10')],
])('usage %s is charged twice', (_what, first, second) => {
  expect(found([first, second])).toHaveLength(1)
})
