import { deflateSync, inflateSync } from 'node:zlib'

/**
 * Reading PNG images. pdfkit reads them too, but in the background and with errors that nobody can catch: one broken logo would end the
 * process. Everything here throws where it stands, and takes no more memory than PIXELS_MAX allow.
 */

export interface Bitmap {
  width: number
  height: number
  /** Compressed by zlib: three bytes a pixel. */
  rgb: Buffer
  /** Compressed by zlib: a byte a pixel; null where every pixel is opaque. */
  alpha: Buffer | null
}

/** A logo of 4,000 × 1,000; what a few bytes can claim to be is far more. */
const PIXELS_MAX = 4_000_000

interface Header {
  width: number
  height: number
  depth: number
  colorType: 0 | 2 | 3 | 4 | 6
  isInterlaced: boolean
}

const CHANNELS = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 } as const
const DEPTHS = { 0: [1, 2, 4, 8, 16], 2: [8, 16], 3: [1, 2, 4, 8], 4: [8, 16], 6: [8, 16] } as const

class BrokenImage extends Error {}

function headerOf(data: Buffer): Header {
  const [width, height] = [data.readUInt32BE(0), data.readUInt32BE(4)]
  const colorType = data[9] as Header['colorType']
  const depth = data[8] ?? 0
  const depths: readonly number[] | undefined = DEPTHS[colorType]
  if (!depths?.includes(depth)) throw new BrokenImage('unknown kind of pixels')
  if (width === 0 || height === 0 || width * height > PIXELS_MAX) throw new BrokenImage('too many pixels, or none')
  return { width, height, depth, colorType, isInterlaced: data[12] === 1 }
}

interface Chunks {
  header: Header
  palette: Buffer
  transparency: Buffer | undefined
  data: Buffer
}

function chunksOf(png: Buffer): Chunks {
  const found = new Map<string, Buffer[]>()
  for (let at = 8; at + 12 <= png.length;) {
    const length = png.readUInt32BE(at)
    const type = png.toString('latin1', at + 4, at + 8)
    const list = found.get(type) ?? []
    list.push(png.subarray(at + 8, at + 8 + length))
    found.set(type, list)
    at += 12 + length
  }
  const head = found.get('IHDR')?.[0]
  if (!head || head.length < 13) throw new BrokenImage('no header')
  const header = headerOf(head)
  return {
    header,
    palette: found.get('PLTE')?.[0] ?? Buffer.alloc(0),
    transparency: found.get('tRNS')?.[0],
    // Rows of at most eight bytes a pixel, with a byte each for their filter.
    data: inflateSync(Buffer.concat(found.get('IDAT') ?? []), { maxOutputLength: PIXELS_MAX * 9 + 1_000_000 }),
  }
}

/** Pass of an interlaced picture: its first column and row, and the steps from one pixel to the next. */
type Pass = readonly [x: number, y: number, dx: number, dy: number]
const WHOLE: readonly Pass[] = [[0, 0, 1, 1]]
const ADAM7: readonly Pass[] = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
]

function paeth(a: number, b: number, c: number): number {
  const pa = Math.abs(b - c)
  const pb = Math.abs(a - c)
  const pc = Math.abs(a + b - 2 * c)
  if (pa <= pb && pa <= pc) return a
  return pb <= pc ? b : c
}

/** Guesses a byte from its neighbours by the line's filter; the file holds the difference to this guess. */
function guessOf(filter: number, left: number, above: number, aboveLeft: number): number {
  switch (filter) {
    case 1:
      return left
    case 2:
      return above
    case 3:
      return (left + above) >> 1
    case 4:
      return paeth(left, above, aboveLeft)
    default:
      return 0
  }
}

/** Takes back the filter of a row, in place. `step` is the distance to the same byte of the pixel before. */
function unfilter(row: Buffer, before: Buffer, filter: number, step: number): void {
  if (filter === 0) return
  for (let i = 0; i < row.length; i += 1) {
    const left = i >= step ? (row[i - step] as number) : 0
    const aboveLeft = i >= step ? (before[i - step] as number) : 0
    row[i] = (row[i] as number) + guessOf(filter, left, before[i] as number, aboveLeft)
  }
}

/** Returns the number in a place of a row, whatever its bits; of sixteen the upper eight. */
function sampleAt(row: Buffer, index: number, depth: number): number {
  if (depth === 8) return row[index] as number
  if (depth === 16) return row[2 * index] as number
  const bit = index * depth
  return ((row[bit >> 3] as number) >> (8 - depth - (bit & 7))) & ((1 << depth) - 1)
}

type Pixel = [red: number, green: number, blue: number, alpha: number]

/** Returns how the samples of a pixel become a colour. */
function colorReader({ header, palette, transparency }: Chunks): (row: Buffer, x: number) => Pixel {
  const { depth, colorType } = header
  const channels = CHANNELS[colorType]
  const sample = (row: Buffer, x: number, channel: number) => sampleAt(row, x * channels + channel, depth)
  const scale = depth < 8 ? 255 / ((1 << depth) - 1) : 1
  // One colour that counts as clear, of which sixteen bits are kept whatever the depth.
  const clear = transparency && colorType !== 3 ? transparency : undefined
  const clearAt = (channel: number) => clear?.[2 * channel + (depth === 16 ? 0 : 1)]
  if (colorType === 3)
    return (row, x) => {
      const at = sample(row, x, 0)
      return [palette[3 * at] ?? 0, palette[3 * at + 1] ?? 0, palette[3 * at + 2] ?? 0, transparency?.[at] ?? 255]
    }
  if (channels <= 2)
    return (row, x) => {
      const gray = sample(row, x, 0)
      const alpha = channels === 2 ? sample(row, x, 1) : clear && gray === clearAt(0) ? 0 : 255
      return [gray * scale, gray * scale, gray * scale, alpha]
    }
  return (row, x) => {
    const [red, green, blue] = [sample(row, x, 0), sample(row, x, 1), sample(row, x, 2)]
    const isClear = clear && red === clearAt(0) && green === clearAt(1) && blue === clearAt(2)
    return [red, green, blue, channels === 4 ? sample(row, x, 3) : isClear ? 0 : 255]
  }
}

/** Returns the pixels of a PNG image. Throws for anything that is none, is broken, or is too large. */
export function readPng(png: Buffer): Bitmap {
  const chunks = chunksOf(png)
  const { width, height, depth, colorType, isInterlaced } = chunks.header
  const bits = depth * CHANNELS[colorType]
  const step = Math.max(1, bits >> 3)
  const colorAt = colorReader(chunks)
  const rgb = Buffer.alloc(width * height * 3)
  const alpha = Buffer.alloc(width * height, 255)
  let isOpaque = true
  let at = 0
  for (const [left, top, dx, dy] of isInterlaced ? ADAM7 : WHOLE) {
    const columns = Math.ceil((width - left) / dx)
    if (columns <= 0) continue
    const bytes = Math.ceil((columns * bits) / 8)
    let before: Buffer = Buffer.alloc(bytes)
    for (let y = top; y < height; y += dy) {
      if (at + 1 + bytes > chunks.data.length) throw new BrokenImage('pixels are missing')
      const row = chunks.data.subarray(at + 1, at + 1 + bytes)
      unfilter(row, before, chunks.data[at] as number, step)
      for (let column = 0; column < columns; column += 1) {
        const place = y * width + left + column * dx
        const pixel = colorAt(row, column)
        rgb[place * 3] = pixel[0]
        rgb[place * 3 + 1] = pixel[1]
        rgb[place * 3 + 2] = pixel[2]
        alpha[place] = pixel[3]
        if (pixel[3] !== 255) isOpaque = false
      }
      before = row
      at += 1 + bytes
    }
  }
  return { width, height, rgb: deflateSync(rgb), alpha: isOpaque ? null : deflateSync(alpha) }
}
