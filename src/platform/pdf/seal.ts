import { webcrypto } from 'node:crypto'
import { CryptoKeySigner, PDF } from '@libpdf/core'
import type { SealKey } from '../seal/certificate.ts'

/** The same key under the name that the library has for it. */
type SigningKey = ConstructorParameters<typeof CryptoKeySigner>[0]

export interface Attachment {
  name: string
  mediaType: string
  content: Uint8Array
}

/** Seals a document after PAdES B-B, so that whatever is changed afterwards shows. What is attached is sealed with it. */
export async function sealPdf(
  bytes: Uint8Array,
  { key, certificate, chain = [] }: SealKey,
  { at, reason, attachments }: { at: Date; reason: string; attachments: readonly Attachment[] },
): Promise<Uint8Array> {
  const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }
  const privateKey = await webcrypto.subtle.importKey('pkcs8', new Uint8Array(key), algorithm, false, ['sign'])
  const pdf = await PDF.load(bytes)
  for (const { name, mediaType, content } of attachments)
    pdf.addAttachment(name, content, { mimeType: mediaType, createdAt: at, modifiedAt: at })
  const [own, ...above] = [certificate, ...chain].map((one) => new Uint8Array(one)) as [Uint8Array, ...Uint8Array[]]
  const signer = new CryptoKeySigner(privateKey as SigningKey, own, 'RSA', 'RSASSA-PKCS1-v1_5', above)
  const signed = await pdf.sign({ signer, level: 'B-B', signingTime: at, reason })
  return signed.bytes
}
