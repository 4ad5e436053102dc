import { UnreadableFile } from './unreadable.ts'

/**
 * Text of a file by its byte order mark and its XML declaration, a slice at a time, without the white space and control characters before and behind
 * the document that transfers add.
 */

/** Bytes of a slice. */
const SLICE = 16 * 1024
/** Bytes in which the XML declaration has to end, from the first that counts on. */
const DECLARATION_BYTES = 256

const DECLARED = /^<\?xml\b[^>]*?\bencoding\s*=\s*(?:"([^"<>]{1,64})"|'([^'<>]{1,64})')/

/** White space, control characters and byte order marks at the beginning of a text. */
const LEADING = /^[\s\p{Cc}\uFEFF]+/u

/** Characters of Windows-1252 at 0x80 to 0x9F; elsewhere it is Latin-1. Decoders of Node before 24 leave them as Latin-1 has them. */
const WINDOWS_HIGH = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'

/** Yields the text of a file in slices. Throws UnreadableFile for unknown encodings, and for bytes that are none of the encoding's. */
export function* textSlices(bytes: Buffer): Generator<string, void, undefined> {
  const encoding = encodingOf(bytes)
  const decode = decoderOf(encoding)
  const end = endOf(bytes, encoding)
  let hasBegun = false
  for (let start = 0; start < end; start += SLICE) {
    const text = decode(bytes.subarray(start, Math.min(start + SLICE, end)), start + SLICE < end)
    const wanted: string = hasBegun ? text : text.replace(LEADING, '')
    hasBegun ||= wanted !== ''
    if (wanted !== '') yield wanted
  }
}

const isWide = (encoding: string): boolean => encoding === 'utf-16le' || encoding === 'utf-16be'

/** Returns whether a byte is white space or a control character of ASCII, or the zero between two of them in UTF-16. */
const isBlank = (byte: number | undefined): boolean => byte !== undefined && (byte <= 0x20 || byte === 0x7f)

/** Returns where a file ends except for blanks: a character of UTF-16 has two bytes, of which one may look like a blank. */
function endOf(bytes: Buffer, encoding: string): number {
  let end = bytes.length
  while (end > 0 && isBlank(bytes[end - 1])) end -= 1
  return isWide(encoding) && end < bytes.length ? end + (end % 2) : end
}

function decoderOf(encoding: string): (slice: Buffer, hasMore: boolean) => string {
  if (encoding === 'windows-1252')
    return (slice) =>
      slice.toString('latin1').replace(/[\x80-\x9f]/g, (high) => WINDOWS_HIGH[high.charCodeAt(0) - 0x80] ?? high)
  const decoder = new TextDecoder(encoding, { fatal: true })
  return (slice, stream) => {
    try {
      return decoder.decode(slice, { stream })
    } catch {
      throw new UnreadableFile(`The file holds bytes that are no ${encoding.toUpperCase()}.`)
    }
  }
}

/** Returns the name by which TextDecoder knows a file's encoding. */
function encodingOf(bytes: Buffer): string {
  const wide = wideEncodingOf(bytes)
  if (wide) {
    const label = labelIn(new TextDecoder(wide).decode(bytes.subarray(0, firstOf(bytes) + 2 * DECLARATION_BYTES)))
    if (label === undefined || isLabelOf(label, wide)) return wide
    throw contradiction(label)
  }
  const from = firstOf(bytes)
  const hasMark = bytes[from] === 0xef && bytes[from + 1] === 0xbb && bytes[from + 2] === 0xbf
  const label = labelIn(bytes.toString('latin1', hasMark ? from + 3 : from, from + DECLARATION_BYTES))
  const encoding = label === undefined ? 'utf-8' : encodingNamed(label)
  if (isWide(encoding) || (hasMark && encoding !== 'utf-8')) throw contradiction(encoding)
  return encoding
}

/** Returns where the first byte of a file that is no blank is. */
function firstOf(bytes: Buffer): number {
  let first = 0
  while (isBlank(bytes[first])) first += 1
  return first
}

/** Returns the kind of UTF-16 that a file begins with: by its mark, or by "<?" in two bytes each. */
function wideEncodingOf(bytes: Buffer): 'utf-16le' | 'utf-16be' | undefined {
  const mark = bytes.toString('hex', 0, 2)
  if (mark === 'fffe') return 'utf-16le'
  if (mark === 'feff') return 'utf-16be'
  const first = firstOf(bytes)
  if (bytes.toString('hex', first, first + 3) !== '3c003f') return undefined
  return first % 2 === 0 ? 'utf-16le' : 'utf-16be'
}

/** Returns whether a label is that of an encoding in two bytes; UTF-16 alone is that of both. */
const isLabelOf = (label: string, wide: string): boolean => {
  const encoding = encodingNamed(label)
  return encoding === wide || (encoding === 'utf-16le' && label !== 'utf-16le')
}

const labelIn = (text: string): string | undefined => {
  const [, double, single] = DECLARED.exec(text.replace(LEADING, '')) ?? []
  return (double ?? single)?.trim().toLowerCase()
}

/** Returns the encoding that the Encoding standard has for a label, if this runtime decodes it. */
function encodingNamed(label: string): string {
  try {
    return new TextDecoder(label, { fatal: true }).encoding
  } catch {
    throw new UnreadableFile('The file declares an encoding that is not known.')
  }
}

const contradiction = (declared: string) =>
  new UnreadableFile(`The file declares ${declared.toUpperCase()} and is written in another encoding.`)
