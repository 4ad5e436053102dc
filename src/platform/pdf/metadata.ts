import type { Instant } from '../../kernel/calendar.ts'

/** Facts of a file about itself: its dictionary, and the same as XMP. Both are written from one place, so that they are equal. */

export interface Facts {
  title: string
  author: string
  createdAt: Instant
}

const PRODUCER = 'Perennial'

/** Characters that XML 1.0 cannot hold, not even escaped. */
const NOT_XML = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu
const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

/** Returns a text as both can hold it. */
export const factText = (text: string): string => text.replace(NOT_XML, '')

const escaped = (text: string): string => text.replace(/[&<>]/g, (sign) => ENTITIES[sign] ?? sign)

const description = (namespace: string, properties: string): string =>
  `<rdf:Description rdf:about="" xmlns:${namespace}>${properties}</rdf:Description>\n`

const xmpOf = ({ title, author, createdAt }: Facts): string => {
  const at = `${new Date(createdAt).toISOString().slice(0, 19)}Z`
  return [
    description('pdfuaid="http://www.aiim.org/pdfua/ns/id/"', '<pdfuaid:part>1</pdfuaid:part>'),
    description(
      'xmp="http://ns.adobe.com/xap/1.0/"',
      `<xmp:CreateDate>${at}</xmp:CreateDate><xmp:ModifyDate>${at}</xmp:ModifyDate><xmp:CreatorTool>${PRODUCER}</xmp:CreatorTool>`,
    ),
    description(
      'dc="http://purl.org/dc/elements/1.1/"',
      `<dc:title><rdf:Alt><rdf:li xml:lang="x-default">${escaped(title)}</rdf:li></rdf:Alt></dc:title>` +
        `<dc:creator><rdf:Seq><rdf:li>${escaped(author)}</rdf:li></rdf:Seq></dc:creator>`,
    ),
    description('pdf="http://ns.adobe.com/pdf/1.3/"', `<pdf:Producer>${PRODUCER}</pdf:Producer>`),
  ].join('')
}

/** Returns the dictionary of a document. */
export function dictionaryOf({ title, author, createdAt }: Facts): PDFKit.DocumentInfo {
  const at = new Date(createdAt)
  return { Title: title, Author: author, Producer: PRODUCER, Creator: PRODUCER, CreationDate: at, ModDate: at }
}

/** Members of pdfkit's document that its types leave out. */
interface Inside {
  subset: number | undefined
  appendXML(xml: string): void
  _addInfo(): void
}

/**
 * Lets a document write our XMP in the place of pdfkit's, which escapes nothing. Without its subset pdfkit adds neither a part of its own there, nor a CIDSet to fonts:
 * an incomplete one is an error (PDF/UA-1, 7.21.4.2), and none is asked for.
 */
export function writeOwnMetadata(pdf: PDFKit.PDFDocument, facts: Facts): void {
  const inside = pdf as unknown as Inside
  inside.subset = undefined
  inside['_addInfo'] = () => inside.appendXML(xmpOf(facts))
}
