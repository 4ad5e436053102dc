import { hasRightToLeft, linesInOrder } from './direction.ts'
import { faceOf, plainText } from './faces.ts'
import type { FaceName } from './font-files.ts'
import { inJoinedForms } from './joining.ts'

/** Breaking text into lines that fit a width. */

/** How a piece of text is set. Sizes are in points. */
export interface Ink {
  size: number
  face: FaceName
  color: string
}

export interface Line {
  text: string
  /** The same in the order in which its glyphs stand from left to right. */
  shown: string
  /** A word goes on in the next line: it is read back as one. */
  isBroken: boolean
  /** In points; so is `height`. */
  width: number
  height: number
  ink: Ink
}

/** From one baseline to the next, in parts of the size. */
const LEADING = 1.32

/** Characters after which a long word may well be broken, as addresses have them. */
const JOINTS = ['@', '.', '-', '/', '_']

/** Returns where to cut the part of a word that fills a line: behind a joint in its second half, else at its end. */
function cutOf(part: string): number {
  const joint = Math.max(...JOINTS.map((sign) => part.lastIndexOf(sign))) + 1
  return joint * 2 >= part.length ? joint : part.length
}

/** Breaks a word that is wider than the line where it has to: a reference without spaces must not run off the paper. */
function breakWord(word: string, width: number, { face, size }: Ink): string[] {
  const { widthOf } = faceOf(face)
  const parts: string[] = []
  let part = ''
  let used = 0
  for (const char of word) {
    const wide = widthOf(char, size)
    while (part !== '' && used + wide > width) {
      const cut = cutOf(part)
      parts.push(part.slice(0, cut))
      part = part.slice(cut)
      used = widthOf(part, size)
    }
    part += char
    used += wide
  }
  parts.push(part)
  return parts
}

/** Turns the lines of a paragraph, in which words have one blank between them. */
function order(lines: readonly Line[], paragraph: string): void {
  const inOrder = linesInOrder(paragraph)
  let from = 0
  for (const line of lines) {
    line.shown = inOrder(from, from + line.text.length)
    from += line.text.length + (line.isBroken ? 0 : 1)
  }
}

/** Returns the lines of a text of one or more paragraphs that are at most `width` points wide; an empty paragraph stays an empty line. */
export function wrap(text: string, width: number, ink: Ink): Line[] {
  const { widthOf, draws } = faceOf(ink.face)
  const height = ink.size * LEADING
  const space = widthOf(' ', ink.size)
  const lines: Line[] = []
  const end = (text: string, wide: number, isBroken = false) =>
    lines.push({ text, shown: text, isBroken, width: wide, height, ink })
  for (const plain of plainText(text).split('\n')) {
    const isTurned = hasRightToLeft(plain)
    const paragraph = isTurned ? inJoinedForms(plain, draws) : plain
    const first = lines.length
    const words = paragraph.split(' ').filter((one) => one !== '')
    let line = ''
    let used = 0
    for (const word of words) {
      const wide = widthOf(word, ink.size)
      if (line !== '' && used + space + wide <= width) {
        line += ` ${word}`
        used += space + wide
        continue
      }
      if (line !== '') end(line, used)
      const parts = wide <= width ? [word] : breakWord(word, width, ink)
      for (const part of parts.slice(0, -1)) end(part, widthOf(part, ink.size), true)
      line = parts.at(-1) ?? ''
      used = widthOf(line, ink.size)
    }
    end(line, used)
    if (isTurned) order(lines.slice(first), words.join(' '))
  }
  return lines
}

export const heightOf = (lines: readonly Line[]): number => lines.reduce((sum, { height }) => sum + height, 0)

/** Returns as many lines as fit into a height. */
export function fitting(lines: readonly Line[], height: number): readonly Line[] {
  let used = 0
  const count = lines.findIndex((line) => (used += line.height) > height)
  return count < 0 ? lines : lines.slice(0, count)
}
