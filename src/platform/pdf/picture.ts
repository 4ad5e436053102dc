import { createHash } from 'node:crypto'
import { type Bitmap, readPng } from './png.ts'

/** Pictures in the form that pdfkit draws. PNG images are read once and remembered: a logo stands on every document of its account. */

/** Picture as pdfkit needs it when it did not open it itself. */
export interface Picture {
  /** Its name in the resources of a page. */
  label: string
  width: number
  height: number
  /** Its object in a document, once it is in it. */
  obj: PDFKit.PDFKitReference | null
  embed(pdf: PDFKit.PDFDocument): void
}

const REMEMBERED_MAX = 32
const remembered = new Map<string, Bitmap>()

function bitmapOf(png: Buffer): Bitmap {
  const key = createHash('sha256').update(png).digest('base64')
  const known = remembered.get(key)
  if (known) return known
  const bitmap = readPng(png)
  const [oldest] = remembered.keys()
  if (remembered.size >= REMEMBERED_MAX && oldest !== undefined) remembered.delete(oldest)
  remembered.set(key, bitmap)
  return bitmap
}

function bitmapPicture({ width, height, rgb, alpha }: Bitmap): Picture {
  const about = { Type: 'XObject', Subtype: 'Image', Width: width, Height: height, BitsPerComponent: 8 }
  const packed = { ...about, Filter: 'FlateDecode' }
  return {
    label: 'Logo',
    width,
    height,
    obj: null,
    embed(pdf) {
      const data: Record<string, unknown> = { ...packed, ColorSpace: 'DeviceRGB' }
      if (alpha) {
        const mask = pdf.ref({ ...packed, ColorSpace: 'DeviceGray' })
        mask.end(alpha)
        data['SMask'] = mask
      }
      this.obj = pdf.ref(data)
      this.obj.end(rgb)
    },
  }
}

interface OpenedJpeg extends Picture {
  colorSpace: string | undefined
}

/** Reads a picture of PNG or JPEG bytes; undefined for what is neither, is broken or is too large: documents do without. */
export function pictureOf(pdf: PDFKit.PDFDocument, image: Buffer): Picture | undefined {
  try {
    if (image[0] === 0x89) return bitmapPicture(bitmapOf(image))
    const jpeg = (pdf as unknown as { openImage(image: Buffer): OpenedJpeg }).openImage(image)
    const isWhole = jpeg.width > 0 && jpeg.height > 0 && jpeg.colorSpace !== undefined
    return isWhole ? jpeg : undefined
  } catch {
    return undefined
  }
}
