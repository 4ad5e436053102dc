import { readFileSync } from 'node:fs'
import { create, type Font } from 'fontkit'
import { straight } from '../../kernel/text.ts'
import { fontPath } from './font-files.ts'
import { furtherFontOf } from './further-fonts.ts'

/** Characters that the fonts of documents have. Of both faces of the typeface the regular one is asked. */

/** Latin letters, which nearly all texts have alone, and all of which the typeface has. */
const IS_LATIN = /^[\n\x20-\x7e\u00a0-\u024f]*$/
/** Nothing is drawn for these. */
const IS_UNDRAWN = /^[\p{C}\p{Z}\s\ufe00-\ufe0f]$/u

let font: Font | undefined

/** Returns whether a text has a character that no font has, and in whose place a document shows a sign that stands for it. */
export function lacksGlyph(text: string): boolean {
  if (IS_LATIN.test(text)) return false
  font ??= create(readFileSync(fontPath('regular'))) as Font
  for (const character of straight(text).normalize('NFC'))
    if (!IS_UNDRAWN.test(character) && !isDrawn(font, character.codePointAt(0) as number)) return true
  return false
}

const isDrawn = (own: Font, codePoint: number): boolean =>
  own.hasGlyphForCodePoint(codePoint) || furtherFontOf(codePoint) !== undefined
