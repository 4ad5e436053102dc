/**
 * Arabic letters as they are joined in writing. Unicode has the forms of most letters as characters of their own (U+FB50 to U+FBFF and U+FE80 to
 * U+FEFC), which fonts with Arabic letters draw; read back, each is its letter again (NFKC).
 */

/** Forms of a letter beside others; one that joins no letter behind it has the first alone, one that joins none has neither. */
interface Forms {
  final?: string
  initial?: string
  medial?: string
}

const BLOCKS = [
  [0xfb50, 0xfbff],
  [0xfe80, 0xfef4],
] as const
const LAM = '\u0644'
/** Lam with each alef: the form that stands alone; the final one is next to it. */
const WITH_ALEF: Readonly<Record<string, number>> = {
  '\u0622': 0xfef5,
  '\u0623': 0xfef7,
  '\u0625': 0xfef9,
  '\u0627': 0xfefb,
}
/** Forms that stand apart from the others of their letter, alef maksura. */
const APART = { letter: '\u0649', initial: '\ufbe8', medial: '\ufbe9' } as const

const IS_FORM = /^[\ufb50-\ufbff\ufe80-\ufefc]$/

/** Returns the letters that a form stands for; undefined for any other character. */
export const lettersOfForm = (char: string): string | undefined => {
  const letters = IS_FORM.test(char) ? char.normalize('NFKC') : char
  return letters === char ? undefined : letters
}

/** Reads the forms of all letters from Unicode: they stand in a row, alone, final, initial, medial. */
function readForms(): Map<string, Forms> {
  const rows = new Map<string, string[]>()
  for (const [first, last] of BLOCKS)
    for (let code = first; code <= last; code += 1) {
      const char = String.fromCodePoint(code)
      const letter = lettersOfForm(char)
      if (letter?.length === 1 && char !== APART.initial && char !== APART.medial)
        rows.set(letter, [...(rows.get(letter) ?? []), char])
    }
  const forms = new Map<string, Forms>()
  for (const [letter, [, final, initial, medial]] of rows)
    forms.set(letter, final === undefined ? {} : initial && medial ? { final, initial, medial } : { final })
  forms.set(APART.letter, { ...forms.get(APART.letter), initial: APART.initial, medial: APART.medial })
  return forms
}

let known: Map<string, Forms> | undefined

const IS_MARK = /^\p{M}$/u
/** The line that makes a word longer, and the sign that asks for a joined form. */
const JOINS_BOTH = new Set(['\u0640', '\u200d'])

/** Returns a text in the order in which it is read with its Arabic letters as they are joined; a form that `draws` denies is left as the letter alone. */
export function inJoinedForms(text: string, draws: (codePoint: number) => boolean): string {
  const forms = (known ??= readForms())
  const chars = [...text]
  const joinsOn = (char: string | undefined): boolean =>
    char !== undefined && (JOINS_BOTH.has(char) || forms.get(char)?.initial !== undefined)
  const joinsBack = (char: string | undefined): boolean =>
    char !== undefined && (JOINS_BOTH.has(char) || forms.get(char)?.final !== undefined)
  const drawn = (form: string | undefined, char: string): string =>
    form !== undefined && draws(form.codePointAt(0) as number) ? form : char
  let shown = ''
  /** The last letter that is no mark: it joins what follows, or does not. */
  let before: string | undefined
  for (let at = 0; at < chars.length; at += 1) {
    const char = chars[at] as string
    if (IS_MARK.test(char)) {
      shown += char
      continue
    }
    const own = forms.get(char)
    const isJoined = own !== undefined && joinsOn(before)
    const alef = char === LAM ? WITH_ALEF[chars[at + 1] ?? ''] : undefined
    const pair = alef === undefined ? undefined : alef + (isJoined ? 1 : 0)
    if (pair !== undefined && draws(pair)) {
      shown += String.fromCodePoint(pair)
      before = chars[(at += 1)]
      continue
    }
    const goesOn = joinsBack(chars.slice(at + 1).find((next) => !IS_MARK.test(next)))
    shown += drawn(isJoined ? (goesOn && own.medial ? own.medial : own.final) : goesOn ? own?.initial : undefined, char)
    before = char
  }
  return shown
}
