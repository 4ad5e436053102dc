import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { hasPoppler, textOfPdf } from '../../../test/support/poppler.ts'
import { readFurtherFonts, useFurtherFonts } from '../../platform/pdf/further-fonts.ts'
import { boxFont } from '../../platform/pdf/otf.testing.ts'
import { renderCreditNote } from './credit-note-pdf.ts'
import type { Drawable } from './document.ts'
import { sampleCreditNote, sampleInvoice, sampleStatement } from './documents.testing.ts'
import { type Drawing, type DrawingSettings, makeDrawing } from './draw.ts'
import { renderInvoice } from './invoice-pdf.ts'
import { renderStatement } from './statement-pdf.ts'

const opened: Drawing[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((drawing) => drawing.close()))
})

function drawingOf(wish: Partial<DrawingSettings> = {}): Drawing {
  const drawing = makeDrawing({ root: new URL('../../..', import.meta.url).pathname, threads: 1, ...wish })
  opened.push(drawing)
  return drawing
}

const [ONE, OTHER] = [1n, 2n]
const invoice: Drawable = { kind: 'invoice', document: sampleInvoice() }

function statementOf(movements: number): Drawable {
  const sample = sampleStatement()
  const sections = sample.sections.map((section) => ({
    ...section,
    lines: Array.from({ length: movements }, (_, index) => section.lines[index % section.lines.length]!),
  }))
  return { kind: 'statement', document: { ...sample, sections } }
}

/** Turns of the event loop until something is settled. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0
  let isOver = false
  const count = () => {
    turns += 1
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  await work.finally(() => (isOver = true))
  return turns
}

describe('documents drawn in a thread', () => {
  test('are the same to the byte as drawn here', async () => {
    const { draw } = drawingOf()
    const [note, statement] = [sampleCreditNote(), sampleStatement()]
    const logo = Buffer.from('iVBORw0KGgo=', 'base64')
    const withLogo = sampleInvoice({ logo })
    expect((await draw(ONE, { kind: 'invoice', document: withLogo })).equals(renderInvoice(withLogo))).toBe(true)
    expect((await draw(ONE, { kind: 'credit_note', document: note })).equals(renderCreditNote(note))).toBe(true)
    expect((await draw(ONE, { kind: 'statement', document: statement })).equals(renderStatement(statement))).toBe(true)
  })

  test('leave the event loop free: it turns while a long statement is drawn', async () => {
    const { draw } = drawingOf()
    const work = draw(ONE, statementOf(2000))
    expect(await turnsDuring(work)).toBeGreaterThan(100)
    expect((await work).subarray(0, 5).toString()).toBe('%PDF-')
  })

  test('that need more memory than a thread has fail alone, with a reason, and the next is drawn', async () => {
    const told: unknown[] = []
    const { draw } = drawingOf({ heapMb: 16, log: { warn: (facts: unknown) => told.push(facts) } as never })
    const [large, small] = await Promise.allSettled([draw(ONE, statementOf(10_000)), draw(OTHER, invoice)])
    expect(large).toMatchObject({
      status: 'rejected',
      reason: {
        kind: 'unavailable',
        problems: [{ code: 'document_not_drawn', message: expect.stringContaining('more memory') }],
      },
    })
    expect(small.status).toBe('fulfilled')
    expect(told).toMatchObject([{ account: '1', kind: 'statement' }])
  })

  test('that say more than any paper should are refused', async () => {
    const notes = 'word '.repeat(7_000_000)
    const wish = { kind: 'invoice', document: sampleInvoice({ notes }) } as const
    const refusal = { kind: 'conflict', problems: [{ code: 'document_too_large' }] }
    await expect(drawingOf().draw(ONE, wish)).rejects.toMatchObject(refusal)
  })

  test('of accounts have turns, and of one account only so many wait', async () => {
    const { draw } = drawingOf()
    const done: bigint[] = []
    const note = (account: bigint) => draw(account, invoice).then(() => done.push(account))
    const running = [...Array.from({ length: 50 }, () => note(ONE)), note(OTHER)]
    await expect(draw(ONE, invoice)).rejects.toMatchObject({
      kind: 'throttled',
      problems: [{ code: 'documents_waiting' }],
      retryAfterSeconds: 5,
    })
    await Promise.all(running)
    expect(done.slice(0, 4)).toEqual([ONE, ONE, OTHER, ONE])
  })

  test('are not begun for a caller who has gone', async () => {
    const { draw } = drawingOf()
    const gone = new AbortController()
    const [begun, waiting] = [draw(ONE, invoice), draw(ONE, invoice, gone.signal)]
    gone.abort(new Error('gone'))
    await expect(waiting).rejects.toThrow('gone')
    expect((await begun).subarray(0, 5).toString()).toBe('%PDF-')
  })
})

test('a text of tens of thousands of lines is set page by page, without going through the rest for each', () => {
  // Where every page went through all that was left this took many minutes.
  expect(renderInvoice(sampleInvoice({ notes: 'line\n'.repeat(60_000) })).length).toBeGreaterThan(100_000)
})

describe('characters that the typeface lacks', () => {
  /** Signs of APL, between letters that the typeface has. */
  const signs = sampleInvoice({ notes: 'Rotate ⌵⍟ twice', poNumber: '⍟-7' })
  const folder = () => {
    const made = mkdtempSync(join(tmpdir(), 'perennial-fonts-'))
    const file = createRequire(import.meta.url).resolve('dejavu-fonts-ttf/ttf/DejaVuSansMono.ttf')
    copyFileSync(file, join(made, 'mono.ttf'))
    return made
  }

  test('are set in a font of the operator’s, in the thread as here, and read back as they are', async () => {
    const made = folder()
    const { fonts } = readFurtherFonts(made)
    const { draw } = drawingOf({ fonts })
    const pdf = await draw(ONE, { kind: 'invoice', document: signs })
    expect(pdf.includes('+Further1')).toBe(true)
    if (hasPoppler) expect(textOfPdf(pdf).replace(/\s+/g, ' ')).toMatch(/⍟-7.*Rotate ⌵⍟ twice/)
    useFurtherFonts(fonts)
    expect(pdf.equals(renderInvoice(signs))).toBe(true)
    useFurtherFonts(undefined)
    rmSync(made, { recursive: true })
  })

  test('are shown as missing where no font has them, or where that font can be read no longer', async () => {
    const made = folder()
    const { fonts } = readFurtherFonts(made)
    rmSync(made, { recursive: true })
    const without = renderInvoice(signs)
    if (hasPoppler) expect(textOfPdf(without)).toContain('Rotate \ufffd\ufffd twice')
    const { draw } = drawingOf({ fonts })
    expect((await draw(ONE, { kind: 'invoice', document: signs })).equals(without)).toBe(true)
    const plain = sampleInvoice()
    expect((await draw(ONE, { kind: 'invoice', document: plain })).equals(renderInvoice(plain))).toBe(true)
  })

  test('are set in a font with outlines of CFF (.otf) too', () => {
    const made = mkdtempSync(join(tmpdir(), 'perennial-fonts-'))
    writeFileSync(join(made, 'box.otf'), boxFont('李'.codePointAt(0)!))
    const { fonts, leftOut } = readFurtherFonts(made)
    expect(leftOut).toEqual([])
    useFurtherFonts(fonts)
    const sample = sampleInvoice()
    const pdf = renderInvoice({ ...sample, customer: { ...sample.customer, name: 'Bo 李 & 明 Ltd' } })
    useFurtherFonts(undefined)
    rmSync(made, { recursive: true })
    expect([pdf.includes('+Further1'), pdf.includes('/CIDFontType0C')]).toEqual([true, true])
    if (hasPoppler) expect(textOfPdf(pdf)).toContain('Bo 李 & \ufffd Ltd')
  })
})

test.skipIf(!hasPoppler)('Arabic letters, which are set joined, are read back as they were written', () => {
  const sample = sampleInvoice()
  const pdf = renderInvoice({ ...sample, customer: { ...sample.customer, name: 'محمد' } })
  expect(textOfPdf(pdf)).toContain('محمد')
})
