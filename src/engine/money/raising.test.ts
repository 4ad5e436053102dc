import { describe, expect, test } from 'vitest'
import type { Id } from '../../kernel/ids.ts'
import { type InvoicePart, type Raise, settledByRaise, settledWithin } from './raising.ts'

const A = 1n as Id
const B = 2n as Id
const on = (invoiceId: Id, amountMinor: bigint): InvoicePart => ({ invoiceId, amountMinor })
const allocated = (id: bigint, invoiceId: Id, amountMinor: bigint) => ({ id: id as Id, invoiceId, amountMinor })
const raised = (raise: Partial<Raise>) =>
  settledByRaise({ before: [], after: [], settled: [], creditableOf: () => 1_000_000n, ...raise })

describe('an open note of 100.00', () => {
  test('settles what is first allocated of it, each invoice for itself', () => {
    expect(raised({ after: [allocated(1n, A, 6000n)] })).toEqual([on(A, 6000n)])
    expect(raised({ after: [allocated(1n, A, 6000n), allocated(2n, B, 4000n)] })).toEqual([on(A, 6000n), on(B, 4000n)])
  })

  test('settles nothing where money only moves, and what a later list raises where more is allocated than settled', () => {
    const settled = [on(A, 6000n)]
    expect(raised({ before: settled, after: [allocated(1n, B, 6000n)], settled })).toEqual([])
    const raise = { before: [on(B, 6000n)], after: [allocated(1n, B, 10_000n)], settled }
    expect(raised(raise)).toEqual([on(B, 4000n)])
    expect(raised({ ...raise, before: [on(B, 10_000n)], settled: [on(A, 6000n), on(B, 4000n)] })).toEqual([])
  })

  test('settles nothing again when it is freed and allocated as it was', () => {
    expect(raised({ after: [allocated(2n, A, 6000n)], settled: [on(A, 6000n)] })).toEqual([])
  })

  test('settles a part that lost its settlement only when it is freed and allocated anew', () => {
    expect(raised({ before: [on(A, 6000n)], after: [allocated(1n, A, 6000n)] })).toEqual([])
    expect(raised({ before: [], after: [allocated(2n, A, 6000n)] })).toEqual([on(A, 6000n)])
  })

  test('settles in the order of the allocations, each invoice as far as it can be credited', () => {
    const after = [allocated(7n, A, 3000n), allocated(5n, B, 4000n), allocated(9n, B, 1000n)]
    const creditableOf = (id: Id) => (id === B ? 4500n : 1000n)
    expect(raised({ after, creditableOf })).toEqual([on(B, 4500n), on(A, 1000n)])
  })

  test('settles nothing for an invoice that cannot be credited', () => {
    expect(raised({ after: [allocated(1n, A, 500n)], creditableOf: () => -1n })).toEqual([])
  })
})

describe('a lower amount of a note', () => {
  const settled = [on(A, 3000n), on(B, 2000n), on(A, 1000n)]

  test('takes nothing away while all that is settled fits', () => {
    expect(settledWithin(settled, 6000n)).toEqual({ gone: [], again: null })
  })

  test('takes settlements away, the newest first, and settles again what fits of the last', () => {
    expect(settledWithin(settled, 4500n)).toEqual({ gone: [on(A, 1000n), on(B, 2000n)], again: on(B, 1500n) })
    expect(settledWithin(settled, 5000n)).toEqual({ gone: [on(A, 1000n)], again: null })
    expect(settledWithin([on(A, 6000n)], 5000n)).toEqual({ gone: [on(A, 6000n)], again: on(A, 5000n) })
  })
})
