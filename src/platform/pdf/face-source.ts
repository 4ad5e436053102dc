import type { Font } from 'fontkit'

/** Fonts as pdfkit takes them: fontkit's, with a quicker way of setting text, and subsets that are made once. */

export type Glyph = ReturnType<Font['glyphForCodePoint']>

/** A character that no font has is shown, and read back, as one that is missing. */
export const REPLACEMENT = 0xfffd

interface Position {
  xAdvance: number
  yAdvance: number
  xOffset: number
  yOffset: number
}

/**
 * Sets one glyph a character, without kerning or ligatures: three times as quick, and what is copied out of the document is what went in.
 * pdfkit scales the positions in place, so each call makes its own.
 */
function setText(glyphAt: (codePoint: number) => Glyph, text: string) {
  const glyphs: Glyph[] = []
  const positions: Position[] = []
  for (const char of text) {
    const glyph = glyphAt(char.codePointAt(0) ?? REPLACEMENT)
    glyphs.push(glyph)
    positions.push({ xAdvance: glyph.advanceWidth, yAdvance: 0, xOffset: 0, yOffset: 0 })
  }
  return {
    glyphs,
    positions,
    get advanceWidth() {
      return positions.reduce((sum, { xAdvance }) => sum + xAdvance, 0)
    },
  }
}

const SUBSETS_MAX = 64

/** Makes subsets of a font that remember their bytes by their glyphs; the oldest is forgotten. */
function rememberSubsets(font: Font): () => Subset {
  const made = new Map<string, Uint8Array>()
  return () => {
    const subset = font.createSubset() as unknown as Subset & { glyphs: number[] }
    const make = subset.encode.bind(subset)
    subset.encode = () => {
      const key = subset.glyphs.join(' ')
      const known = made.get(key)
      if (known) return known
      const bytes = make()
      const [oldest] = made.keys()
      if (made.size >= SUBSETS_MAX && oldest !== undefined) made.delete(oldest)
      made.set(key, bytes)
      return bytes
    }
    return subset
  }
}

interface Subset {
  encode(): Uint8Array
}

/** Returns a font for pdfkit, whose glyphs are chosen by `glyphAt`; a name replaces its own. */
export function sourceOf(font: Font, glyphAt: (codePoint: number) => Glyph, name?: string): Buffer {
  const quick = Object.create(font, {
    layout: { value: (text: string) => setText(glyphAt, text) },
    createSubset: { value: rememberSubsets(font) },
    ...(name === undefined ? {} : { postscriptName: { value: name } }),
  }) as Font
  // pdfkit takes a parsed font as well; its types know of bytes only.
  return quick as unknown as Buffer
}
