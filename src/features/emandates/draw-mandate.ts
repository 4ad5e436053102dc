import type { MandateDrawing } from './document.ts'
import { renderMandate } from './mandate-pdf.ts'

/** Draws a mandate, in the thread of documents; one that is signed is sealed there too. */
export async function drawMandate({ document, seal }: MandateDrawing): Promise<Uint8Array> {
  const drawn = renderMandate(document)
  if (!seal) return drawn
  // Other documents need no seal: what makes it is large.
  const { sealPdf } = await import('../../platform/pdf/seal.ts')
  const { key, at, evidence } = seal
  const content = new TextEncoder().encode(evidence)
  return sealPdf(drawn, key, {
    at: new Date(at),
    reason: document.text.title,
    attachments: [{ name: `${document.reference}-evidence.json`, mediaType: 'application/json', content }],
  })
}
