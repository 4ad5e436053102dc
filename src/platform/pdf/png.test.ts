import { inflateSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { readPng } from './png.ts'

/** Nine by five pixels from red to blue, as ImageMagick wrote them; the colours are those that it reads back. */
const IMAGES: [what: string, base64: string, first: number[], middle: number[]][] = [
  [
    'interlaced, with transparency',
    'iVBORw0KGgoAAAANSUhEUgAAAAkAAAAFCAYAAAHgVPb9AAAAQ0lEQVQI14XMwQ3AIBADwTmJviiN1EEzlHZ5IKJE94h/tlcbyQTJDHI3xLlayL0M47kLdtIu40u8rRBLL57i7dYvdANMsRBufW/3/wAAAABJRU5ErkJggg==',
    [255, 0, 0, 154],
    [127, 0, 127, 154],
  ],
  [
    'gray, with transparency',
    'iVBORw0KGgoAAAANSUhEUgAAAAkAAAAFEAQAAABtytKjAAAAG0lEQVQI12M0K5g5i4EAYPnOTEgJ0YqYqGQSALz4BdKQS+J+AAAAAElFTkSuQmCC',
    [54, 54, 54, 154],
    [36, 36, 36, 154],
  ],
  [
    'of a palette',
    'iVBORw0KGgoAAAANSUhEUgAAAAkAAAAFAgMAAADqPS74AAAACVBMVEXfAB9/AH8fAN8Rda/ZAAAAF0lEQVQI12NggILQUAeGZbMaGFatagAAF8UEf8pjb3UAAAAASUVORK5CYII=',
    [223, 0, 31, 255],
    [127, 0, 127, 255],
  ],
  [
    'of sixteen bits',
    'iVBORw0KGgoAAAANSUhEUgAAAAkAAAAFEAIAAABIoY1/AAAAKklEQVQY02P8/5+BDMBygIGBwYF0bQcZydJ2gIGBwZ5khzIyMDAwkO4/AN9FCAuz8eJCAAAAAElFTkSuQmCC',
    [255, 0, 0, 255],
    [127, 0, 127, 255],
  ],
]

function pixelAt(png: Buffer, index: number): number[] {
  const { rgb, alpha } = readPng(png)
  const colors = inflateSync(rgb)
  return [...colors.subarray(3 * index, 3 * index + 3), alpha ? (inflateSync(alpha)[index] as number) : 255]
}

test.each(IMAGES)('a picture %s has the colours that it was written with', (_what, base64, first, middle) => {
  const png = Buffer.from(base64, 'base64')
  expect(readPng(png)).toMatchObject({ width: 9, height: 5 })
  // Sixteen bits come down to eight by rounding there, and by their upper half here.
  const apart = [...pixelAt(png, 0), ...pixelAt(png, 22)].map((value, index) =>
    Math.abs(value - ([...first, ...middle][index] as number)),
  )
  expect(Math.max(...apart)).toBeLessThanOrEqual(1)
})

describe('what would break the process is refused where it stands', () => {
  const whole = Buffer.from(IMAGES[0]![1], 'base64')
  const sized = (width: number, height: number) => {
    const png = Buffer.from(whole)
    png.writeUInt32BE(width, 16)
    png.writeUInt32BE(height, 20)
    return png
  }

  test.each([
    ['pixels that are cut off', whole.subarray(0, whole.length - 40)],
    ['more pixels than bytes', sized(90, 50)],
    ['a claim of billions of pixels', sized(60_000, 60_000)],
    ['no pixels', sized(0, 5)],
    ['nothing but a signature', whole.subarray(0, 8)],
    ['pixels that are no compressed data', Buffer.concat([whole.subarray(0, 60), Buffer.alloc(whole.length - 60, 7)])],
  ])('%s', (_what, png) => expect(() => readPng(png)).toThrow())
})
