import PDFDocument from 'pdfkit'
import type { Instant } from '../../kernel/calendar.ts'
import { straight } from '../../kernel/text.ts'
import { type DocumentFace, faceOf, takeFace } from './faces.ts'
import type { FaceName } from './font-files.ts'
import { dictionaryOf, factText, writeOwnMetadata } from './metadata.ts'
import { pictureOf } from './picture.ts'
import { fitting, heightOf, type Ink, type Line, wrap } from './wrap.ts'

/**
 * Paper to set documents on: pages, text that is tagged for screen readers, pictures and hairlines. Lengths are points, counted from the upper
 * left corner. Whatever is no content – hairlines, page numbers, what is repeated on each page – is marked as an artifact, so that a screen
 * reader passes over it. What comes out depends on what was put in alone: the same document is the same bytes.
 */

export type Paper = 'A4' | 'LETTER'

export interface SheetSettings {
  title: string
  author: string
  /** BCP 47, of the words on it. */
  language: string
  paper: Paper
  createdAt: Instant
  /** Across every page, behind its text. */
  watermark: string | null
  /** At the top of every page but the first. */
  runningHead: string
  /** At the foot of every page. */
  pageWords(page: number, pages: number): string
}

export const TEXT = '#1f2933'
export const QUIET = '#52606d'
const PALE = '#eceff3'
const HAIRLINE = '#cbd2d9'

export const ink = (size: number, face: FaceName = 'regular', color: string = TEXT): Ink => ({ size, face, color })

const SIZES: Record<Paper, { width: number; height: number }> = {
  A4: { width: 595.28, height: 841.89 },
  LETTER: { width: 612, height: 792 },
}
const MARGIN = 50
const FOOT = 34
/** More lines than a page has. */
const LINES_AHEAD = 200
/** Bytes of content at most, before it is packed: it is kept in buffers, which no limit of the heap counts. Some 20,000 pages of text. */
const CONTENT_BYTES_MAX = 64 * 1024 * 1024

/** A document with more on it than any that a person would read. */
export class SheetTooLong extends Error {
  constructor() {
    super('the document is longer than a document may be')
  }
}

export type Tag =
  | 'Document'
  | 'Sect'
  | 'H1'
  | 'H2'
  | 'P'
  | 'Table'
  | 'THead'
  | 'TBody'
  | 'TFoot'
  | 'TR'
  | 'TH'
  | 'TD'
  | 'Figure'
type Element = PDFKit.PDFStructureElement
interface Attributes {
  scope?: 'Column' | 'Row'
  alt?: string
  bbox?: [number, number, number, number]
}

export class Sheet {
  readonly left = MARGIN
  readonly width: number
  /** Lower edge of the text; below it is the foot of the page. */
  readonly bottom: number
  y: number = MARGIN
  readonly #settings: SheetSettings
  readonly #height: number
  readonly #pdf: PDFKit.PDFDocument
  readonly #faces: Record<FaceName, DocumentFace>
  readonly #open: Element[] = []
  /** The colour that the page's text has now. */
  #color: string | undefined
  #contentBytes = 0
  #rules: { x: number; y: number; width: number; weight: number }[] = []

  constructor(settings: SheetSettings) {
    this.#settings = settings
    const { width, height } = SIZES[settings.paper]
    this.width = width - 2 * MARGIN
    this.#height = height
    this.bottom = height - MARGIN - FOOT
    this.#pdf = openPdf(settings)
    this.#faces = { regular: takeFace(this.#pdf, 'regular'), bold: takeFace(this.#pdf, 'bold') }
    this.#startPage()
    const root = this.#pdf.struct('Document')
    this.#pdf.addStructure(root)
    this.#open.push(root)
  }

  /** The first line of text on a page. */
  get top(): number {
    return this.#pdf.bufferedPageRange().count === 1 ? MARGIN : MARGIN + 26
  }

  get room(): number {
    return this.bottom - this.y
  }

  #startPage(): void {
    this.#pdf.addPage()
    this.#color = undefined
    for (const face of Object.values(this.#faces)) face.use(this.#pdf.page)
    this.y = this.top
    if (this.#settings.watermark) this.#drawWatermark(this.#settings.watermark)
  }

  #drawWatermark(text: string): void {
    const size = Math.min(110, (110 * 560) / faceOf('bold').widthOf(text, 110))
    const width = faceOf('bold').widthOf(text, size)
    const [x, y] = [this.left + this.width / 2, this.#height / 2]
    this.artifact(() => {
      this.#pdf.save().rotate(-52, { origin: [x, y] })
      this.#draw(text, x - width / 2, y - size * 0.6, ink(size, 'bold', PALE))
      this.#pdf.restore()
      this.#color = undefined
    })
  }

  breakPage(): void {
    this.#drawRules()
    this.#startPage()
  }

  /** Goes on to the next page when less than `height` is left on this one. */
  need(height: number): void {
    if (height > this.room && this.y > this.top) this.breakPage()
  }

  artifact(draw: () => void): void {
    this.#pdf.markContent('Artifact', { type: 'Layout' })
    draw()
    this.#pdf.endMarkedContent()
  }

  /** Groups everything that `draw` sets as the content of one element. */
  group(tag: Tag, draw: () => void, attributes: Attributes = {}): void {
    const element = this.element(tag, attributes)
    this.#open.push(element)
    draw()
    this.#open.pop()
    element.end()
  }

  /** Opens an element that content is added to bit by bit, as by a cell that goes on on the next page; its parent ends it. */
  element(tag: Tag, attributes: Attributes = {}): Element {
    const element = this.#pdf.struct(tag, attributes)
    this.#open.at(-1)?.add(element)
    return element
  }

  /** Marks what `draw` sets as a piece of an element. */
  mark(element: Element, tag: Tag, draw: () => void): void {
    const content = this.#pdf.markStructureContent(tag)
    draw()
    this.#pdf.endMarkedContent()
    element.add(content)
  }

  /** Draws lines below each other, inside whatever is marked; the cursor does not move. */
  drawLines(
    lines: readonly Line[],
    { x, y, width, align = 'left' }: { x: number; y: number; width: number; align?: 'left' | 'right' },
  ): void {
    let top = y
    for (const [index, line] of lines.entries()) {
      // Words of two lines would be read as one without a space that nobody sees.
      const after = line.isBroken || index === lines.length - 1 ? '' : ' '
      if (line.text !== '') {
        this.#draw(line.shown + after, align === 'right' ? x + width - line.width : x, top, line.ink)
      }
      top += line.height
    }
  }

  #draw(text: string, x: number, y: number, { size, face, color }: Ink): void {
    if (color !== this.#color) this.#pdf.fillColor(color)
    this.#color = color
    const { show, ascent } = this.#faces[face]
    const content = show(text, x, y + ascent * size, size)
    this.#contentBytes += content.length
    if (this.#contentBytes > CONTENT_BYTES_MAX) throw new SheetTooLong()
    this.#pdf.addContent(content)
  }

  /** Sets a text at the cursor and moves it below; goes on on further pages. */
  paragraph(
    tag: Tag,
    text: string,
    how: Ink,
    { x = this.left, width = this.width, align }: { x?: number; width?: number; align?: 'left' | 'right' } = {},
  ): void {
    const lines = wrap(text, width, how)
    const element = this.element(tag)
    for (let done = 0; done < lines.length;) {
      // A look ahead of no more than a page: a text of many pages is not gone through for each of them.
      const ahead = lines.slice(done, done + LINES_AHEAD)
      const set = fitting(ahead, this.room)
      if (set.length === 0 && this.y > this.top) {
        this.breakPage()
        continue
      }
      const drawn = set.length === 0 ? ahead.slice(0, 1) : set
      this.mark(element, tag, () => this.drawLines(drawn, { x, y: this.y, width, align }))
      this.y += heightOf(drawn)
      done += drawn.length
    }
    element.end()
  }

  /** Draws a hairline when its page is done. */
  rule(x: number, y: number, width: number, weight = 0.5): void {
    this.#rules.push({ x, y, width, weight })
  }

  #drawRules(): void {
    if (this.#rules.length === 0) return
    this.artifact(() => {
      for (const { x, y, width, weight } of this.#rules) {
        this.#pdf
          .lineWidth(weight)
          .strokeColor(weight > 0.5 ? TEXT : HAIRLINE)
          .moveTo(x, y)
          .lineTo(x + width, y)
          .stroke()
      }
    })
    this.#rules = []
  }

  /** Sets a picture into a box and answers its height; undefined for bytes that are no picture, of which nothing is shown. */
  picture(image: Buffer, alt: string, x: number, y: number, box: [width: number, height: number]): number | undefined {
    const picture = pictureOf(this.#pdf, image)
    if (!picture) return undefined
    const scale = Math.min(box[0] / picture.width, box[1] / picture.height, 1)
    const size = { width: picture.width * scale, height: picture.height * scale }
    const element = this.element('Figure', { alt, bbox: [x, y, x + size.width, y + size.height] })
    this.mark(element, 'Figure', () => this.#pdf.image(picture as unknown as Buffer, x, y, size))
    element.end()
    return size.height
  }

  /** Sets strokes of a pen, on 600 by 200, at the cursor and moves it below them. */
  strokes(path: string, alt: string, width: number): void {
    const [x, y, height] = [this.left, this.y, width / 3]
    const element = this.element('Figure', { alt, bbox: [x, y, x + width, y + height] })
    this.mark(element, 'Figure', () => {
      this.#pdf
        .save()
        .translate(x, y)
        .scale(width / 600)
      this.#pdf.lineWidth(4).lineCap('round').strokeColor(TEXT).path(path).stroke().restore()
    })
    element.end()
    this.y += height
    this.#color = undefined
  }

  /** Returns the bytes of the document; nothing can be set afterwards. */
  finish(): Buffer {
    this.#drawRules()
    this.#drawMargins()
    this.#open[0]?.end()
    this.#pdf.end()
    return this.#pdf.read() as Buffer
  }

  #drawMargins(): void {
    const pages = this.#pdf.bufferedPageRange().count
    const small = ink(7.5, 'regular', QUIET)
    for (let page = 0; page < pages; page += 1) {
      this.#pdf.switchToPage(page)
      this.#color = undefined
      const [head] = wrap(this.#settings.runningHead, this.width, small)
      const [foot] = wrap(this.#settings.pageWords(page + 1, pages), this.width, small)
      this.artifact(() => {
        if (page > 0 && head) this.drawLines([head], { x: this.left, y: MARGIN, width: this.width })
        const y = this.#height - MARGIN - 8
        if (foot) this.drawLines([foot], { x: this.left, y, width: this.width, align: 'right' })
      })
    }
  }
}

function openPdf(settings: SheetSettings): PDFKit.PDFDocument {
  const { createdAt } = settings
  const facts = { title: factText(straight(settings.title)), author: factText(straight(settings.author)), createdAt }
  const pdf = new PDFDocument({
    size: settings.paper,
    margin: 0,
    pdfVersion: '1.7',
    // Its types know of the archive's kinds of document only.
    subset: 'PDF/UA' as 'PDF/A-2a',
    tagged: true,
    displayTitle: true,
    lang: settings.language,
    bufferPages: true,
    autoFirstPage: false,
    info: dictionaryOf(facts),
    // None of pdfkit's own: they are not embedded.
    font: null as unknown as string,
  })
  writeOwnMetadata(pdf, facts)
  return pdf
}
