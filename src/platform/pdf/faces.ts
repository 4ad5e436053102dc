import { readFileSync } from 'node:fs'
import { create, type Font } from 'fontkit'
import { straight } from '../../kernel/text.ts'
import { type FaceName, fontPath } from './font-files.ts'

/**
 * The typeface of documents: DejaVu Sans Condensed, embedded as a subset, for Latin, Greek, Cyrillic and every currency sign. It is parsed once
 * in a process and shared by all documents, since parsing costs a hundred times as much as setting an invoice.
 */

/** Face that pdfkit takes for a font: fontkit's, with a quicker way of setting text. */
export interface Face {
  source: Buffer
  /** The width of text in points at a size in points. */
  widthOf(text: string, size: number): number
  /** From the top of a line of text to its baseline, in parts of the size. */
  ascent: number
}

const REPLACEMENT = 0xfffd

/** Leaves out signs that turn the direction of text, and replaces kinds of space and hyphen by the plain ones: they share a glyph, which is read back as one character only. */
export const plainText = (text: string): string =>
  straight(text)
    .normalize('NFC')
    .replaceAll(/[\u00a0\u2007\u202f\t]/g, ' ')
    .replaceAll('\u2011', '-')

type Glyph = ReturnType<Font['glyphForCodePoint']>

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

/**
 * Every document embeds these, and few need others: documents then share their subset of the typeface, and making one costs more than all the
 * rest of an invoice.
 */
const SEED = Array.from({ length: 0x17f }, (_one, code) => String.fromCodePoint(code))
  .filter((char) => /[\x20-\x7e\u00a1-\u00ff]/.test(char))
  .join('')
  .concat('–—‘’“”„…·•€Łł')

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

/** A face inside one document, with the members of pdfkit that its types leave out. */
interface Embedded {
  /** Its name in the resources of a page. */
  id: string
  encode(text: string): [glyphs: string[], positions: unknown]
  ref(): PDFKit.PDFKitReference
}

export interface DocumentFace {
  /** The operators that set a text with its baseline at a point of pdfkit's turned coordinates. */
  show(text: string, x: number, baseline: number, size: number): string
  /** Makes the face known to a page. */
  use(page: PDFKit.PDFPage): void
  /** From the top of a line of text to its baseline, in parts of the size. */
  ascent: number
}

/** Takes a shared face into a document, with the characters that most documents need. */
export function takeFace(pdf: PDFKit.PDFDocument, name: FaceName): DocumentFace {
  pdf.registerFont(name, faceOf(name).source).font(name)
  const embedded = (pdf as unknown as { _font: Embedded })['_font']
  embedded.encode(SEED)
  const codes = new Map<string, string>()
  const codeOf = (char: string): string => {
    let code = codes.get(char)
    if (code === undefined) {
      code = embedded.encode(char)[0].join('')
      codes.set(char, code)
    }
    return code
  }
  return {
    show: (text, x, baseline, size) => {
      let shown = ''
      for (const char of text) shown += codeOf(char)
      return `BT 1 0 0 -1 ${x.toFixed(2)} ${baseline.toFixed(2)} Tm /${embedded.id} ${size} Tf <${shown}> Tj ET`
    },
    use: (page) => {
      page.fonts[embedded.id] ??= embedded.ref()
    },
    ascent: faceOf(name).ascent,
  }
}

function openFace(name: FaceName): Face {
  const font = create(readFileSync(fontPath(name))) as Font
  const glyphs = new Map<number, Glyph>()
  const glyphAt = (codePoint: number) => {
    let glyph = glyphs.get(codePoint)
    if (!glyph) {
      // A character that the typeface lacks is shown, and read back, as one that is missing.
      glyph = font.glyphForCodePoint(font.hasGlyphForCodePoint(codePoint) ? codePoint : REPLACEMENT)
      glyphs.set(codePoint, glyph)
    }
    return glyph
  }
  const quick = Object.create(font, {
    layout: { value: (text: string) => setText(glyphAt, text) },
    createSubset: { value: rememberSubsets(font) },
  }) as Font
  const widthOf = (text: string, size: number): number => {
    let units = 0
    for (const char of text) units += glyphAt(char.codePointAt(0) ?? REPLACEMENT).advanceWidth
    return (units * size) / font.unitsPerEm
  }
  // pdfkit takes a parsed font as well; its types know of bytes only.
  return { source: quick as unknown as Buffer, widthOf, ascent: font.ascent / font.unitsPerEm }
}

const opened = new Map<FaceName, Face>()

/** Returns the shared face; the first call reads it. */
export function faceOf(name: FaceName): Face {
  let face = opened.get(name)
  if (!face) {
    face = openFace(name)
    opened.set(name, face)
  }
  return face
}
