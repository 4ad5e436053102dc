import type { Font } from 'fontkit'
import PDFDocument from 'pdfkit'
import { REPLACEMENT, sourceOf } from './face-source.ts'

/** A first document with a font that nobody has tried yet. */

const EM = { min: 16, max: 16_384 }

/** Draws characters with a font. Throws whatever keeps it from being set, or from being embedded. */
export function drawSample(font: Font, characters: readonly number[]): void {
  if (!(font.unitsPerEm >= EM.min && font.unitsPerEm <= EM.max)) throw new RangeError('the font has no size')
  if (characters.length === 0) throw new RangeError('the font has no characters')
  const isMeasured = characters.every((code) => Number.isFinite(font.glyphForCodePoint(code).advanceWidth))
  if (!isMeasured) throw new RangeError('the font has characters without a width')
  const source = sourceOf(font, (code) => font.glyphForCodePoint(code), 'Sample')
  const pdf = new PDFDocument({ font: null as unknown as string })
  pdf.font(source).text(String.fromCodePoint(...characters, REPLACEMENT))
  pdf.end()
  if (pdf.read() === null) throw new Error('nothing was drawn')
}
