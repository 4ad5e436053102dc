import bidiFactory, { type Bidi } from 'bidi-js'

/**
 * The order in which text is set: letters that are written from right to left are ordered as UAX 9 has it, each line of a paragraph by the direction of the whole.
 * Glyphs are set from left to right, so a line is turned before it is set; whoever reads the document turns it back.
 */

/** Letters of scripts from right to left, and the signs of their numbers. */
const HAS_RIGHT_TO_LEFT =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Samaritan}\p{Script=Adlam}]/u

/**
 * Amounts with a sign or a currency: an isolate keeps each together, because UAX 9 on its own puts a minus or a currency with a blank on the other side. Plain numbers need
 * none.
 */
const AMOUNT =
  /(?<![\p{L}\p{N}])(?:(?:[-+\u2212] ?)?\p{Sc} ?(?:[-+\u2212] ?)?|[-+\u2212] ?)\d(?:[\d.,'\u2019]*\d)?(?: ?(?:\p{Sc}|%))?|(?<![\p{L}\p{N}])\d(?:[\d.,'\u2019]*\d)? ?\p{Sc}/gu
const [ISOLATE, END_OF_ISOLATE] = ['\u2066', '\u2069']

// Its types are those of the module for browsers; Node.js loads the other one, whose export is the function itself.
const bidi = (bidiFactory as unknown as () => Bidi)()

export const hasRightToLeft = (text: string): boolean => HAS_RIGHT_TO_LEFT.test(text)

/** Returns the embedding level of each unit of a paragraph. */
function levelsOf(paragraph: string): number[] {
  const isolated = paragraph.replace(AMOUNT, (amount) => `${ISOLATE}${amount}${END_OF_ISOLATE}`)
  const { levels } = bidi.getEmbeddingLevels(isolated, 'auto')
  const own: number[] = []
  for (let at = 0; at < isolated.length; at += 1) {
    const unit = isolated[at]
    if (unit !== ISOLATE && unit !== END_OF_ISOLATE) own.push(levels[at] as number)
  }
  return own
}

/** Letter with the marks that belong to it, and its level: it is turned as a whole. */
interface Cluster {
  text: string
  level: number
}

const CLUSTER = /\P{M}\p{M}*|\p{M}+/gu

/** Reverses every run of clusters of a level or above, from the highest down to 1 (rule L2 of UAX 9). */
function turned(clusters: readonly Cluster[]): Cluster[] {
  const ordered = [...clusters]
  const highest = Math.max(0, ...ordered.map(({ level }) => level))
  for (let level = highest; level >= 1; level -= 1)
    for (let from = 0; from < ordered.length; from += 1) {
      let until = from
      while (until < ordered.length && (ordered[until] as Cluster).level >= level) until += 1
      if (until > from) ordered.splice(from, until - from, ...ordered.slice(from, until).toReversed())
      from = until
    }
  return ordered
}

/** Returns the mirror image of a bracket from right to left, and any other letter as it is. */
const mirrored = ({ text, level }: Cluster): string =>
  level % 2 === 1 ? (bidi.getMirroredCharacter(text) ?? text) : text

/** Makes the function that returns a line of a paragraph, from one unit to another, in the order in which its glyphs stand from left to right. */
export function linesInOrder(paragraph: string): (from: number, until: number) => string {
  const levels = levelsOf(paragraph)
  return (from, until) => {
    const clusters: Cluster[] = []
    for (const { 0: text, index } of paragraph.slice(from, until).matchAll(CLUSTER))
      clusters.push({ text, level: levels[from + index] as number })
    return turned(clusters).map(mirrored).join('')
  }
}
