/**
 * Patterns that may never stand in a log, whoever wrote the line: credentials, tokens, numbers of cards and bank accounts. Lines are made
 * without them in the first place; this is the second wall, for messages of libraries and for cases that nobody thought of.
 */

const GONE = '…'

// A shorter one would be found inside harmless words; it is covered by the address that it stands in.
const SECRET_LENGTH_MIN = 4

const PATTERNS: readonly (readonly [RegExp, string])[] = [
  // An address with user and password keeps its scheme and its host.
  [/\b([a-z][a-z0-9+.-]*:\/\/)[^\s"\\]*@/gi, `$1${GONE}@`],
  [/\b(Basic|Bearer)\s+[\w+/=.~-]{6,}/gi, `$1 ${GONE}`],
  [/\b(test|live)_[\w-]{16,}/g, `$1_${GONE}`],
  [/\?[^\s"\\?]*=[^\s"\\]*/g, `?${GONE}`],
  // A field in quotes, also inside a text that is itself quoted.
  [/(\w*(?:passw(?:or)?d|secret|token|api_?key|authorization|cvv|cvc)\w*\\*"\s*:\s*\\*")[^"\\]*/gi, `$1${GONE}`],
  [/(\b\w*(?:passw(?:or)?d|secret|token|api_?key|cvv|cvc)\w*\s*[=:]\s*)[^\s"\\,;&})]+/gi, `$1${GONE}`],
]

const CARD = /(?<![\d.])\d(?:[ -]?\d){12,18}(?![\d.])/g
const IBAN = /\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b/g

/** Makes the function that takes out of a text, or of a line of JSON, what may not be in it. `secrets` are taken out wherever they stand. */
export function textCleaner(secrets: readonly string[]): (text: string) => string {
  const known = [...new Set(secrets.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]))]
    .filter((secret) => secret.length >= SECRET_LENGTH_MIN)
    // The longest first: a part of a secret that is taken out would hide the whole.
    .sort((a, b) => b.length - a.length)
  return (text) => {
    let clean = text
    for (const secret of known) clean = clean.replaceAll(secret, GONE)
    for (const [pattern, by] of PATTERNS) clean = clean.replace(pattern, by)
    return clean.replace(IBAN, (found) => (isIban(found) ? GONE : found)).replace(CARD, withoutCard)
  }
}

/** Removes a card number from a text. In a line of JSON a number that stands on its own becomes null, so that the line stays JSON. */
function withoutCard(found: string, offset: number, text: string): string {
  if (!passesLuhn(found.replace(/\D/g, ''))) return found
  return /[:,[]/.test(text[offset - 1] ?? '') ? 'null' : GONE
}

function passesLuhn(digits: string): boolean {
  let sum = 0
  for (let place = 0; place < digits.length; place += 1) {
    const digit = Number(digits[digits.length - 1 - place])
    const weighed = place % 2 === 1 ? digit * 2 : digit
    sum += weighed > 9 ? weighed - 9 : weighed
  }
  return sum % 10 === 0
}

function isIban(found: string): boolean {
  const compact = found.replaceAll(' ', '')
  const turned = compact.slice(4) + compact.slice(0, 4)
  const digits = turned.replace(/[A-Z]/g, (letter) => String(letter.charCodeAt(0) - 55))
  return BigInt(digits) % 97n === 1n
}

/** Takes texts out of a message, wherever they stand; for what a caller has sent. */
export function withoutTexts(message: string, texts: readonly string[]): string {
  let clean = message
  for (const text of texts.toSorted((a, b) => b.length - a.length)) clean = clean.replaceAll(text, GONE)
  return clean
}
