import { XmlDocument } from 'libxml2-wasm'
import { describe, expect, test } from 'vitest'
import { hasPoppler, infoOfPdf } from '../../../test/support/poppler.ts'
import { sampleMandate } from '../emandates/emandates.testing.ts'
import { renderMandate } from '../emandates/mandate-pdf.ts'
import { renderCreditNote } from './credit-note-pdf.ts'
import { sampleCreditNote, sampleInvoice, sampleStatement } from './documents.testing.ts'
import { renderInvoice } from './invoice-pdf.ts'
import { renderStatement } from './statement-pdf.ts'

/** Facts of every kind of document in its file: XMP that a parser takes, equal to the dictionary of the file, and fonts without what nobody asks for. */

const NAMESPACES = {
  dc: 'http://purl.org/dc/elements/1.1/',
  pdfuaid: 'http://www.aiim.org/pdfua/ns/id/',
  rdf: 'http://www.w3.org/1999/02/22-rdf-syntax-ns#',
}

/** Reads the XMP of a file with a parser that takes no XML but what is well formed. */
function xmpOf(pdf: Buffer): (path: string) => string {
  const packet = /<\?xpacket begin[\s\S]*?<\?xpacket end="w"\?>/.exec(pdf.toString('utf8'))?.[0] ?? ''
  const xml = XmlDocument.fromString(packet.replace(/<\?xpacket[^>]*\?>/g, '').trim())
  return (path) => xml.get(path, NAMESPACES)?.content ?? ''
}

const NAMES = [
  'Kölner Datendienste (Pty) Ltd',
  'Smith & Sons <b>"x"</b>',
  "]]> O'Neil &amp; \\(x\\)",
  'שלום (15) שרكة 😀',
  '\u202eAcme\u202c\ufffe',
]

describe.each(NAMES)('of %j', (name) => {
  const account = { ...sampleInvoice().account, name }
  test.each([
    ['an invoice', renderInvoice(sampleInvoice({ account }))],
    ['a credit note', renderCreditNote(sampleCreditNote({ account }))],
    ['a statement', renderStatement(sampleStatement({ account }))],
    ['a mandate', renderMandate({ ...sampleMandate().document, creditor: name })],
  ])('%s', (_, pdf) => {
    const find = xmpOf(pdf)
    const [title, author] = [find('//dc:title/rdf:Alt/rdf:li'), find('//dc:creator/rdf:Seq/rdf:li')]
    expect(author).toBe(name.replace(/[\u202a-\u202e\ufffe]/g, ''))
    expect(title).toContain(author)
    expect(find('//pdfuaid:part')).toBe('1')
    if (hasPoppler) expect(infoOfPdf(pdf)).toMatchObject({ Title: title, Author: author })
    expect(pdf.includes('CIDSet')).toBe(false)
  })
})
