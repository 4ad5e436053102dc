/** Texts in headers that are lists or tokens with parameters of RFC 9651, which has printable ASCII alone. */

/** Characters of one text in a header, as they are written there. */
const WRITTEN_MAX = 64

export const quotedText = (text: string): string => `"${text.replaceAll(/["\\]/g, '\\$&')}"`

/** Returns a text in printable ASCII, with all else as %XX of UTF-8, cut where it grows too long. */
export function writable(text: string): string {
  let written = ''
  for (const character of text.slice(0, WRITTEN_MAX + 1)) {
    const isPlain = character >= ' ' && character <= '~'
    const next = isPlain ? character : encoded(character)
    if (written.length + next.length > WRITTEN_MAX) return `${written}...`
    written += next
  }
  return written
}

const encoded = (character: string): string =>
  [...Buffer.from(character, 'utf8')].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('')
