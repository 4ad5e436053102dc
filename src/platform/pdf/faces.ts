import { readFileSync } from 'node:fs'
import { create, type Font } from 'fontkit'
import { straight } from '../../kernel/text.ts'
import { type Glyph, REPLACEMENT, sourceOf } from './face-source.ts'
import { type FaceName, fontPath } from './font-files.ts'
import { lettersOfForm } from './joining.ts'
import { type FurtherFont, furtherFontOf } from './further-fonts.ts'

/**
 * The typeface of documents: DejaVu Sans Condensed, embedded as a subset, for Latin, Greek, Cyrillic and every currency sign; what it lacks is set in a font
 * of the operator's that has it. Each is parsed once in a process and shared by all documents, since parsing costs a hundred times as much as setting an invoice.
 */

/** Face that pdfkit takes for a font: fontkit's, with a quicker way of setting text. */
export interface Face {
  source: Buffer
  /** The width of text in points at a size in points. */
  widthOf(text: string, size: number): number
  /** Returns whether the typeface, or a font of the operator's, has a character. */
  draws(codePoint: number): boolean
  /** The font of the operator's in which a character is set; undefined for the typeface itself. */
  furtherOf(codePoint: number): FurtherFont | undefined
  /** From the top of a line of text to its baseline, in parts of the size. */
  ascent: number
}

/** Leaves out signs that turn the direction of text, and replaces kinds of space and hyphen by the plain ones: they share a glyph, which is read back as one character only. */
export const plainText = (text: string): string =>
  straight(text)
    .normalize('NFC')
    .replaceAll(/[\u00a0\u2007\u202f\t]/g, ' ')
    .replaceAll('\u2011', '-')

/**
 * Every document embeds these, and few need others: documents then share their subset of the typeface, and making one costs more than all the
 * rest of an invoice.
 */
const SEED = Array.from({ length: 0x17f }, (_one, code) => String.fromCodePoint(code))
  .filter((char) => /[\x20-\x7e\u00a1-\u00ff]/.test(char))
  .join('')
  .concat('–—‘’“”„…·•€Łł')

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

/** A character as a document has it: the font that it is set in, and its code there. */
interface Coded {
  font: Embedded
  code: string
}

/** Takes a font of the operator's into a document; both faces share it. */
function embedFurther(pdf: PDFKit.PDFDocument, { name, path }: FurtherFont): Embedded {
  const present = (pdf as unknown as { _font: Embedded })['_font']
  pdf.registerFont(name, openFurther(name, path).source).font(name)
  const inside = pdf as unknown as { _font: Embedded }
  const embedded = inside['_font']
  inside['_font'] = present
  return embedded
}

/** Takes a shared face into a document, with the characters that most documents need. */
export function takeFace(pdf: PDFKit.PDFDocument, name: FaceName): DocumentFace {
  pdf.registerFont(name, faceOf(name).source).font(name)
  const embedded = (pdf as unknown as { _font: Embedded })['_font']
  embedded.encode(SEED)
  const { furtherOf, ascent } = faceOf(name)
  const codes = new Map<string, Coded>()
  const codedOf = (char: string): Coded => {
    let coded = codes.get(char)
    if (coded === undefined) {
      const further = furtherOf(char.codePointAt(0) as number)
      const font = further ? embedFurther(pdf, further) : embedded
      coded = { font, code: font.encode(char)[0].join('') }
      codes.set(char, coded)
    }
    return coded
  }
  return {
    show: (text, x, baseline, size) => {
      let font = embedded
      let shown = ''
      let before = ''
      for (const char of text) {
        const coded = codedOf(char)
        if (coded.font !== font) {
          if (shown !== '') before += `/${font.id} ${size} Tf <${shown}> Tj `
          font = coded.font
          pdf.page.fonts[font.id] ??= font.ref()
          shown = ''
        }
        shown += coded.code
      }
      return `BT 1 0 0 -1 ${x.toFixed(2)} ${baseline.toFixed(2)} Tm ${before}/${font.id} ${size} Tf <${shown}> Tj ET`
    },
    use: (page) => {
      page.fonts[embedded.id] ??= embedded.ref()
    },
    ascent,
  }
}

function openFace(name: FaceName): Face {
  const font = create(readFileSync(fontPath(name))) as Font
  /** Null for what the typeface lacks. */
  const glyphs = new Map<number, Glyph | null>()
  const glyphOf = (codePoint: number): Glyph | null => {
    let glyph = glyphs.get(codePoint)
    if (glyph === undefined) {
      glyph = font.hasGlyphForCodePoint(codePoint) ? readBack(font.glyphForCodePoint(codePoint), codePoint) : null
      glyphs.set(codePoint, glyph)
    }
    return glyph
  }
  const missing = font.glyphForCodePoint(REPLACEMENT)
  const furtherOf = (codePoint: number) => (glyphOf(codePoint) === null ? furtherFontOf(codePoint) : undefined)
  const unitsOf = (codePoint: number): number => {
    const glyph = glyphOf(codePoint)
    if (glyph !== null) return glyph.advanceWidth
    const further = furtherFontOf(codePoint)
    return further ? openFurther(further.name, further.path).emsOf(codePoint) * font.unitsPerEm : missing.advanceWidth
  }
  const widthOf = (text: string, size: number): number => {
    let units = 0
    for (const char of text) units += unitsOf(char.codePointAt(0) ?? REPLACEMENT)
    return (units * size) / font.unitsPerEm
  }
  const source = sourceOf(font, (codePoint) => glyphOf(codePoint) ?? missing)
  const draws = (codePoint: number) => glyphOf(codePoint) !== null || furtherFontOf(codePoint) !== undefined
  return { source, widthOf, draws, furtherOf, ascent: font.ascent / font.unitsPerEm }
}

/** Returns a glyph that is read back as the letters whose joined form it draws. */
function readBack(glyph: Glyph, codePoint: number): Glyph {
  const letters = lettersOfForm(String.fromCodePoint(codePoint))
  if (letters === undefined) return glyph
  const codePoints = [...letters].map((letter) => letter.codePointAt(0))
  return Object.create(glyph, { codePoints: { value: codePoints } }) as Glyph
}

interface OpenFurther {
  source: Buffer
  /** The width of a character in parts of the size. */
  emsOf(codePoint: number): number
}

const openedFurther = new Map<string, OpenFurther>()

/** Returns a font of the operator's; the first character that needs it reads it. */
function openFurther(name: string, path: string): OpenFurther {
  let further = openedFurther.get(path)
  if (!further) {
    const font = create(readFileSync(path)) as Font
    const glyphOf = (codePoint: number): Glyph => readBack(font.glyphForCodePoint(codePoint), codePoint)
    further = {
      source: sourceOf(font, glyphOf, name),
      emsOf: (codePoint) => glyphOf(codePoint).advanceWidth / font.unitsPerEm,
    }
    openedFurther.set(path, further)
  }
  return further
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
