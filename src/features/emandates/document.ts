import { mandateReference } from '../payment-methods/emandate.ts'
import type { RealClock } from '../../kernel/context.ts'
import { assert } from '../../kernel/assert.ts'
import type { Instant } from '../../kernel/calendar.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import { instantOf } from '../../kernel/zone.ts'
import type { Database } from '../../platform/database/database.ts'
import type { Envelope } from '../../platform/envelope/envelope.ts'
import type { Paper } from '../../platform/pdf/sheet.ts'
import type { SealKey } from '../../platform/seal/certificate.ts'
import { sealKeyOf } from '../../platform/seal/key.ts'
import { canonicalJson } from '../../platform/wire/json.ts'
import { openMandateNumber } from './actions.ts'
import type { DrawnSignature, MandateDocument } from './mandate-pdf.ts'
import { findSealedPdf, insertSealedPdf, listEvidence, lockMandate } from './queries.ts'
import { maskedNumber } from './rules.ts'
import { mandateText } from './terms-text.ts'
import type { Evidence, Mandate } from './types.ts'

/** PDFs of mandates: an unsigned one is drawn whenever it is asked for, a signed one once, and kept byte for byte. */

/** A mandate as the thread of documents gets it. */
export interface MandateDrawing {
  document: MandateDocument
  /** Null: not signed. */
  seal: { key: SealKey; at: Instant; evidence: string } | null
}

export interface MandateDrawingDeps {
  db: Database
  envelope: Envelope
  realClock: RealClock
  /** SEAL_P12; left out: the key that the deployment has made itself. */
  ownSeal?: SealKey | undefined
  drawing: {
    draw(account: AccountId, drawable: { kind: 'emandate' } & MandateDrawing, signal?: AbortSignal): Promise<Buffer>
  }
}

/** Returns the paper of the country that a kind belongs to. */
const paperOf = ({ kind }: Mandate): Paper => (kind === 'ach' ? 'LETTER' : 'A4')

const placeOf = (row: Id) => ({ table: 'emandate_documents', column: 'sealed_pdf', row })

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

function openedOf(steps: readonly Evidence[]): DrawnSignature['opened'] {
  const opened = steps.find(({ kind }) => kind === 'opened')
  if (!opened) return null
  const { address, agent } = opened.details
  return { at: opened.at, address: textOf(address), agent: agent === null ? null : textOf(agent) }
}

function signatureOf(steps: readonly Evidence[]): { signature: DrawnSignature; locale: string } {
  const signed = steps.at(-1)
  assert(signed?.kind === 'signed', 'a signed mandate has its signature as the last step')
  const { details, at } = signed
  return {
    locale: textOf(details['locale']),
    signature: {
      typed: textOf(details['typed']),
      drawing: textOf(details['drawing']),
      signedAt: at,
      address: textOf(details['address']),
      agent: details['agent'] === null ? null : textOf(details['agent']),
      channel: textOf(details['channel']),
      shown: textOf(details['shown']),
      opened: openedOf(steps),
      steps,
    },
  }
}

const documentOf = (mandate: Mandate, number: string, locale: string, signature: DrawnSignature | null) => ({
  text: mandateText(mandate, number, locale),
  locale,
  paper: paperOf(mandate),
  creditor: mandate.terms.beneficiary.name,
  reference: mandateReference(mandate),
  createdAt: signature?.signedAt ?? mandate.createdAt,
  signature,
})

/** Draws a mandate that is not signed, with its number masked. */
export const unsignedPdf = (
  { drawing }: MandateDrawingDeps,
  account: AccountId,
  mandate: Mandate,
  locale: string,
  signal?: AbortSignal,
): Promise<Buffer> =>
  drawing.draw(
    account,
    { kind: 'emandate', document: documentOf(mandate, maskedNumber(mandate.lastFour), locale, null), seal: null },
    signal,
  )

/** Returns the PDF of a signed mandate: made by a duty after the signature, or by whoever asks before that, and the same bytes ever after. */
export async function signedPdf(
  { db, envelope, realClock, ownSeal, drawing }: MandateDrawingDeps,
  account: AccountId,
  mandate: Mandate,
  signal?: AbortSignal,
): Promise<Buffer> {
  const reader = db.reader(account)
  const kept = async () => {
    const found = await findSealedPdf(reader, account, mandate.id)
    return found && Buffer.from(envelope.open(account, placeOf(mandate.id), found.sealed), 'base64')
  }
  const present = await kept()
  if (present) return present
  const steps = await listEvidence(reader, account, mandate.id)
  const { signature, locale } = signatureOf(steps)
  const key = ownSeal ?? (await sealKeyOf(db.unscoped, envelope, new Date(realClock())))
  const document = documentOf(mandate, openMandateNumber(envelope, account, mandate), locale, signature)
  const evidence = canonicalJson(steps.map(({ kind, at, details, hash }) => ({ kind, at, details, hash })))
  const at = instantOf(realClock())
  const pdf = await drawing.draw(account, { kind: 'emandate', document, seal: { key, at, evidence } }, signal)
  const sealed = envelope.seal(account, placeOf(mandate.id), pdf.toString('base64'))
  // Of those who have drawn it at once the first is kept. A mandate that was forgotten meanwhile keeps none.
  await db.transaction(account, async (tx) => {
    const locked = await lockMandate(tx, account, mandate.id)
    if (locked && !(await findSealedPdf(tx, account, mandate.id))) await insertSealedPdf(tx, mandate.id, sealed, at)
  })
  return (await kept()) ?? pdf
}
