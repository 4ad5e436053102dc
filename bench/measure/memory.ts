import { median } from './figures.ts'

/** Whether memory is flat. */

const ROOM_MB = 16
const PART_MAX = 0.1

export const FLAT_RULE = `over the second half the straight line through the figures rises by no more than ${ROOM_MB} MB, or by no more than half of what the first half's rose and a tenth of their median`

/** How much the straight line through figures at equal distances rises from the first to the last. */
function riseOf(values: readonly number[]): number {
  const middle = (values.length - 1) / 2
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  let together = 0
  let apart = 0
  values.forEach((value, place) => {
    together += (place - middle) * (value - mean)
    apart += (place - middle) ** 2
  })
  return apart === 0 ? 0 : (together / apart) * (values.length - 1)
}

/** Judges figures in MB at equal distances by FLAT_RULE. */
export function flatness(values: readonly number[]): { isFlat: boolean; first: number; second: number } {
  const half = values.length >> 1
  const first = riseOf(values.slice(0, half))
  const late = values.slice(half)
  const second = riseOf(late)
  const isFlat = second <= ROOM_MB || second <= Math.min(first / 2, PART_MAX * median(late))
  return { isFlat, first, second }
}
