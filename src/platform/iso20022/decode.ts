import { UnreadableFile } from './unreadable.ts'

/** Text of a file by its byte order mark and its XML declaration, a slice at a time. */

/** Bytes of a slice. */
const SLICE = 16 * 1024
/** Bytes in which the XML declaration has to end. */
const DECLARATION_BYTES = 256

/** Names of encodings in XML declarations, and the decoder of each. The labels of Latin-1 mean Windows-1252, which contains it. */
const DECODERS: Readonly<Record<string, string>> = {
  'utf-8': 'utf-8',
  'us-ascii': 'utf-8',
  'iso-8859-1': 'windows-1252',
  'windows-1252': 'windows-1252',
  'utf-16': 'utf-16',
  'utf-16le': 'utf-16le',
  'utf-16be': 'utf-16be',
}

const DECLARED = /^\s*<\?xml\b[^>]*?\bencoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["']/

/** Characters of Windows-1252 at 0x80 to 0x9F; elsewhere it is Latin-1. Decoders of Node before 24 leave them as Latin-1 has them. */
const WINDOWS_HIGH = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'

/** Yields the text of a file in slices. Throws UnreadableFile for other encodings, and for bytes that are none of the encoding's. */
export function* textSlices(bytes: Buffer): Generator<string, void, undefined> {
  const decode = decoderOf(encodingOf(bytes))
  for (let start = 0; start < bytes.length; start += SLICE)
    yield decode(bytes.subarray(start, start + SLICE), start + SLICE < bytes.length)
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

function encodingOf(bytes: Buffer): string {
  const wide = wideEncodingOf(bytes)
  if (wide) {
    const declared = declaredIn(new TextDecoder(wide).decode(bytes.subarray(0, DECLARATION_BYTES)))
    if (declared === undefined || declared === 'utf-16' || declared === wide) return wide
    throw contradiction(declared)
  }
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
  const declared = declaredIn(bytes.subarray(hasMark ? 3 : 0, DECLARATION_BYTES).toString('latin1')) ?? 'utf-8'
  if (declared.startsWith('utf-16') || (hasMark && declared !== 'utf-8')) throw contradiction(declared)
  return declared
}

/** Returns the kind of UTF-16 that a file begins with: by its mark, or by "<?" in two bytes each. */
function wideEncodingOf(bytes: Buffer): 'utf-16le' | 'utf-16be' | undefined {
  const start = bytes.subarray(0, 4).toString('hex')
  if (start.startsWith('fffe') || start === '3c003f00') return 'utf-16le'
  if (start.startsWith('feff') || start === '003c003f') return 'utf-16be'
  return undefined
}

function declaredIn(text: string): string | undefined {
  const label = DECLARED.exec(text.replace(/^\uFEFF/, ''))?.[1]?.toLowerCase()
  if (label === undefined) return undefined
  const decoder = Object.hasOwn(DECODERS, label) ? DECODERS[label] : undefined
  if (decoder) return decoder
  throw new UnreadableFile('The file declares an encoding other than UTF-8, ISO-8859-1, Windows-1252 and UTF-16.')
}

const contradiction = (declared: string) =>
  new UnreadableFile(`The file declares ${declared.toUpperCase()} and is written in another encoding.`)
