import PDFDocument from 'pdfkit'
import { fileURLToPath } from 'node:url'
import { buildWhenStale } from '../bin/build-when-stale.js'
import type { InvoiceDocument } from '../src/features/documents/document.ts'
import { sampleInvoice } from '../src/features/documents/documents.testing.ts'
import { makeDrawing } from '../src/features/documents/draw.ts'
import { takeFace } from '../src/platform/pdf/faces.ts'
import { isNoisy, median, ratioOf, spread, tell, tellTable, tellVerdicts } from './measure/figures.ts'
import { tellHost } from './measure/machine.ts'

/** Drawing invoices in the thread of the build, as the service does, beside the least that a document in the same typeface costs: a page that says one thing. */

const GOAL_PER_SECOND = 100
/** Lines of the usual invoice, and of a long one. */
const USUAL = 8
const LONG = 1000

/** Tagged, with the shared typeface embedded as in every document, and nothing of tables, wrapping and formats. */
export function drawFloor(): Buffer {
  const pdf = new PDFDocument({
    size: 'A4',
    tagged: true,
    pdfVersion: '1.7',
    lang: 'en',
    autoFirstPage: false,
    font: null as unknown as string,
    info: { Title: 'Page', CreationDate: new Date(0) },
  })
  pdf.addPage()
  const face = takeFace(pdf, 'regular')
  face.use(pdf.page)
  const root = pdf.struct('Document')
  pdf.addStructure(root)
  const content = pdf.markStructureContent('P')
  pdf.addContent(face.show('One page', 50, 50, 9))
  pdf.endMarkedContent()
  root.add(pdf.struct('P', {}, [content]))
  root.end()
  pdf.end()
  return pdf.read() as Buffer
}

/** CPU-seconds of this process and its threads that one call costs; both of a pair run in the same process, warm. */
export async function cpuOf(draw: () => unknown, calls: number): Promise<number> {
  const before = process.cpuUsage()
  for (let call = 0; call < calls; call += 1) await draw()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1e6 / calls
}

const ROOT = fileURLToPath(new URL('..', import.meta.url))

export async function benchPdf({ times, isSmoke }: { times: number; isSmoke: boolean }): Promise<void> {
  tellHost()
  if (!buildWhenStale(ROOT)) throw new Error('the program could not be built')
  const drawing = makeDrawing({ root: ROOT, threads: 1 })
  const draw = (document: InvoiceDocument) => () => drawing.draw(1n, { kind: 'invoice', document })
  const usual = draw(sampleInvoice({ lineCount: USUAL }))
  const long = draw(sampleInvoice({ lineCount: LONG }))
  const calls = isSmoke ? 5 : 300
  const longCalls = isSmoke ? 1 : 5
  await cpuOf(usual, calls)
  await cpuOf(drawFloor, calls)
  await cpuOf(long, 1)
  const floor: number[] = []
  const subject: number[] = []
  const thousand: number[] = []
  for (let time = 0; time < times; time += 1) {
    floor.push(await cpuOf(drawFloor, calls))
    subject.push(await cpuOf(usual, calls))
    thousand.push(await cpuOf(long, longCalls))
  }
  const kilobytes = ({ length }: { length: number }) => String(Math.round(length / 1000))
  const inMs = (seconds: readonly number[]) => spread(seconds.map((value) => value * 1000))
  tellTable(
    ['CPU a document, ms', '', 'KB'],
    [
      [`an invoice of ${USUAL} lines`, inMs(subject), kilobytes(await usual())],
      [`an invoice of ${LONG} lines`, inMs(thousand), kilobytes(await long())],
      ['floor: one page that says one thing', inMs(floor), kilobytes(drawFloor())],
    ],
  )
  tell(`an invoice costs ${spread(ratioOf(subject, floor))} of the floor`)
  if (isNoisy(floor)) tell('Noisy: the floor moved more than twofold.')
  const rate = 1 / median(subject)
  const reached = `${Math.round(rate)} a second`
  const goal = `invoices of ${USUAL} lines on one core, warm: at least ${GOAL_PER_SECOND} a second`
  tellVerdicts([{ goal, reached, isMet: rate >= GOAL_PER_SECOND }], { isSmoke })
  await drawing.close()
}
