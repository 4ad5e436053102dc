/**
 * Characters that banks of SEPA carry (EPC217-08): Latin letters without marks, digits, blanks and some punctuation. Everything else is written
 * with these.
 */

const ALLOWED = /[A-Za-z0-9/?:().,'+ -]/

/** Written in place of a text of which nothing is left. */
const NOTHING_LEFT = 'NOTPROVIDED'

const pairs = (text: string): [string, string][] =>
  text.split(' ').map((pair) => [pair.slice(0, 1), pair.slice(1)] as [string, string])

/** Small letters that are more than a letter with a mark; capitals follow from them. */
const LETTERS = new Map([
  // German umlauts as they are spelt without marks; other marks are left out.
  ...pairs('äae öoe üue ßss æae œoe øo đd ðd þth łl ħh ıi ŋn ŧt ĸk'),
  // Greek by ELOT 743.
  ...pairs('αa βv γg δd εe ζz ηi θth ιi κk λl μm νn ξx οo πp ρr σs ςs τt υy φf χch ψps ωo'),
  // Cyrillic by the Bulgarian transliteration act, with the letters of its neighbours.
  ...pairs('аa бb вv гg дd еe жzh зz иi йy кk лl мm нn оo пp рr сs тt уu фf хh цts чch шsh щsht ъa ьy юyu яya'),
  ...pairs('ђdj јj љlj њnj ћc џdz ѓgj ќkj ѕdz іi їyi єye ґg ыy эe ёyo'),
])

const SIGNS = new Map([
  ...pairs('&+ ;, _- –- —- −- ‐- ‑- ~- \\/ |/ ⁄/ [( ]) {( }) €EUR @(at)'),
  ...[...'"`´‘’‚‛“”„«»‹›′″'].map((quote) => [quote, "'"] as [string, string]),
])

const isCapital = (letter: string | undefined): boolean => letter !== undefined && letter !== letter.toLowerCase()

/** Writes a letter by several, all of them capitals where a neighbour is one: "Ä" in "ÄRA", not in "Ära". */
function spelt(letter: string, before: string | undefined, after: string | undefined): string | undefined {
  const known = LETTERS.get(letter)
  if (known !== undefined) return known
  if (letter === 'ẞ') return 'SS'
  const small = LETTERS.get(letter.toLowerCase())
  if (small === undefined || !isCapital(letter)) return undefined
  return isCapital(before) || isCapital(after) ? small.toUpperCase() : small.slice(0, 1).toUpperCase() + small.slice(1)
}

/** Writes a character that is not allowed: white space as a blank, marks and what is invisible as nothing, the unknown as a full stop. */
function replaced(character: string, before: string | undefined, after: string | undefined): string {
  if (/\s/u.test(character)) return ' '
  const known = spelt(character, before, after) ?? SIGNS.get(character)
  if (known !== undefined) return known
  if (/[\p{M}\p{C}]/u.test(character)) return ''
  // Letters with marks, ligatures, wide and small forms fall into plain characters and marks.
  const parts = [...character.normalize('NFKD')]
  if (parts.length === 1 && parts[0] === character) return '.'
  return parts.map((part) => (ALLOWED.test(part) ? part : replaced(part, before, after))).join('')
}

/** Returns a text in the characters of SEPA, as long as it comes out. */
export function transliterated(text: string): string {
  const characters = [...text.normalize('NFC')]
  return characters
    .map((character, place) =>
      ALLOWED.test(character) ? character : replaced(character, characters[place - 1], characters[place + 1]),
    )
    .join('')
}

/** Characters of a name in files of SEPA. */
const NAME_MAX = 70

/**
 * Returns a text in the characters of SEPA, cut to a length in characters, without blanks or strokes at its ends and without two strokes in a
 * row; "NOTPROVIDED" where nothing is left of it.
 */
export function sepaText(text: string, max: number): string {
  const plain = transliterated(text)
    .replace(/\/{2,}/g, '/')
    .replace(/ {2,}/g, ' ')
    .replace(/^[ /]+/, '')
    .slice(0, max)
    .replace(/[ /]+$/, '')
  return plain === '' ? NOTHING_LEFT.slice(0, max) : plain
}

/** Returns whether a letter or digit of a name is left in the characters of SEPA, and not signs alone. */
export const isSepaLegible = (name: string): boolean => /[A-Za-z0-9]/.test(transliterated(name).slice(0, NAME_MAX))

/** Returns true for a text of 1 to 35 allowed characters that neither begins nor ends with a blank or stroke and has no two strokes in a row. */
export const isSepaReference = (text: string): boolean =>
  /^[A-Za-z0-9/?:().,'+ -]{1,35}$/.test(text) && !/^[ /]|[ /]$|\/\//.test(text)

/** Returns true for a text that has allowed characters alone, and not more than `max` of them. */
export const isSepaText = (text: string, max: number): boolean =>
  text.length <= max && /^[A-Za-z0-9/?:().,'+ -]+$/.test(text)
