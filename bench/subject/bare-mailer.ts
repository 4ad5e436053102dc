import { randomUUID } from 'node:crypto'
import { sampleInvoice } from '../../src/features/documents/documents.testing.ts'
import { makeDrawing } from '../../src/features/documents/draw.ts'
import { SmtpLine } from '../../src/platform/smtp/connection.ts'
import { writeMessage } from '../../src/platform/smtp/message.ts'

/** Draws and sends mails with the PDF of an invoice over two lines, without a database: what any sender on this machine costs those beside it. */

const { port, count } = JSON.parse(process.argv[2] ?? '') as { port: number; count: number }
const FROM = 'mailer@example.com'
const LINES = 2

const drawing = makeDrawing({ root: process.cwd() })
let left = count

async function work(): Promise<void> {
  const line = new SmtpLine({ settings: { host: '127.0.0.1', port, encryption: 'none', login: null } })
  while ((left -= 1) >= 0) {
    const content = await drawing.draw(1n, { kind: 'invoice', document: sampleInvoice({ lineCount: 5 }) })
    const bytes = await writeMessage({
      from: { name: 'Bare', address: FROM },
      replyTo: null,
      to: 'ap@example.com',
      cc: null,
      subject: 'Invoice 1 from Bare',
      messageId: `<${randomUUID()}@example.com>`,
      date: new Date(),
      text: 'please find invoice 1 attached to this mail.\n'.repeat(10),
      html: '<p>please find invoice 1 attached to this mail.</p>\n'.repeat(50),
      headers: {},
      attachments: [{ filename: 'Invoice-1.pdf', content, contentType: 'application/pdf' }],
    })
    await line.send({ from: FROM, to: ['ap@example.com'], bytes, handOver: async () => true })
  }
  line.close()
}

await Promise.all(Array.from({ length: LINES }, work))
await drawing.close()
process.disconnect?.()
