/** Windows-1252, the code page of DATEV's files. */

/** Characters of its bytes 0x80 to 0x9f; elsewhere it is Latin-1. A space stands for none. */
export const HIGH_LETTERS = '€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ'

const BYTES = new Map(
  [...HIGH_LETTERS].map((letter, place) => [letter, 0x80 + place] as const).filter(([letter]) => letter !== ' '),
)

const byteOf = (letter: string): number | undefined => {
  const code = letter.codePointAt(0) as number
  return (code >= 0x20 && code < 0x7f) || (code >= 0xa0 && code <= 0xff) ? code : BYTES.get(letter)
}

/** Returns a text on one line in letters of the code page; a question mark stands for each that it does not have. */
export const heldText = (text: string): string =>
  /^[ -~]*$/.test(text)
    ? text
    : [...text.normalize('NFC')].map((letter) => (byteOf(letter) === undefined ? '?' : letter)).join('')

const IN_LATIN = /^[\p{ASCII}\u00a0-\u00ff]*$/u

/** Writes a text whose letters are held to a place of some bytes; line breaks stay. Returns how many bytes it has. */
export const writeWindows = (text: string, into: Buffer, at: number): number =>
  into.write(
    IN_LATIN.test(text)
      ? text
      : text.replace(/[^\p{ASCII}\u00a0-\u00ff]/gu, (letter) => String.fromCharCode(byteOf(letter) ?? 0x3f)),
    at,
    'latin1',
  )
