import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { SealedPlace } from '../../platform/envelope/envelope.ts'
import type { GatewayDeps } from '../gateways/call.ts'
import {
  type AlikeQuestion,
  type EntryQuestion,
  listAlike,
  listOfEntry,
  listOfReference,
  type ReferenceQuestion,
} from './alike-queries.ts'
import type { Reading } from './deps.ts'
import { type LineHash, lineHash } from './line-hash.ts'
import { proposedFor } from './proposals.ts'
import { drawLineIds, type NewLine, sendListedLines } from './queries.ts'
import type { LineToList } from './to-list.ts'

/** Lines that wait for a person: written with the earlier line that may be the same money, and with what they may be about. */

const REFERENCE_MAX = 500
const NAME_MAX = 140
const CODE_MAX = 35

/** Texts of a line that name somebody. */
export interface LineTexts {
  reference: string | null
  name: string | null
}

const placeOf = (id: Id): SealedPlace => ({ table: 'result_lines', column: 'sealed_texts', row: id })

export const sealTexts = (
  { envelope }: Pick<GatewayDeps, 'envelope'>,
  account: AccountId,
  id: Id,
  texts: LineTexts,
): Buffer | null =>
  texts.reference === null && texts.name === null
    ? null
    : envelope.under('result line').seal(account, placeOf(id), JSON.stringify(texts))

/** Opens the texts of a line; those that were emptied are null. */
export const openTexts = (
  { envelope }: Pick<GatewayDeps, 'envelope'>,
  account: AccountId,
  line: { id: Id; sealedTexts: Buffer | null },
): LineTexts =>
  line.sealedTexts === null
    ? { reference: null, name: null }
    : (JSON.parse(envelope.under('result line').open(account, placeOf(line.id), line.sealedTexts)) as LineTexts)

/** Hashes by which a line is compared with those of other files, in hex. */
interface Hashes {
  likeness: string
  ofBefore: string | null
  referenceLikeness: string | null
  entryKey: string | null
}

function hashesOf(hash: LineHash, line: LineToList): Hashes {
  const hashed = (text: string | null) => (text === null ? null : hash(text))
  return {
    likeness: hash(line.likeness.own),
    ofBefore: hashed(line.likeness.ofBefore),
    referenceLikeness: hashed(line.likeness.byReference),
    entryKey: hashed(line.entryKey),
  }
}

/** Writes lines, each with what is proposed for it and with a line of another file that may be the same money. */
export async function writeListedLines(
  tx: Transaction,
  { deps, context, file }: Pick<Reading, 'deps' | 'context' | 'file'>,
  lines: readonly LineToList[],
): Promise<void> {
  if (lines.length === 0) return
  const { now, today } = context.moment
  const hash = lineHash(deps.envelope, tx.account)
  const hashes = lines.map((line) => hashesOf(hash, line))
  const [ids, same] = await Promise.all([drawLineIds(tx, lines.length), sameLines(tx, file.id, lines, hashes)])
  const free = lines.map((line, index) => (same.alike.has(index) ? { ...line, proposal: null } : line))
  const proposed = await proposedFor(tx, file, free)
  const written = lines.map((line, index): NewLine => {
    const id = ids[index] as Id
    const texts = { reference: cut(line.reference, REFERENCE_MAX), name: cut(line.name, NAME_MAX) }
    const { likeness, referenceLikeness, entryKey } = hashes[index] as Hashes
    return {
      id,
      kind: line.kind,
      dated: line.dated ?? today,
      amountMinor: line.amount?.amountMinor ?? null,
      currency: line.amount?.currency ?? null,
      code: cut(line.code, CODE_MAX),
      sealedTexts: sealTexts(deps, tx.account, id, texts),
      isCredit: line.isCredit,
      entryMinor: line.entryMinor,
      likeness,
      hasBankReference: line.hasBankReference,
      referenceLikeness,
      entryKey,
      isSum: line.isSum,
      isStatus: line.isStatus,
      batchId: line.batchId,
      sameAs: same.alike.get(index) ?? same.ofEntry.get(index) ?? null,
      paymentId: line.named ?? proposed.payments.get(index) ?? null,
      invoiceId: proposed.invoices.get(index) ?? null,
    }
  })
  sendListedLines(tx, file.id, written, now)
}

/** Returns a text of so many characters at most. */
const cut = (text: string | null, length: number): string | null =>
  text === null || text.length <= length ? text : [...text].slice(0, length).join('')

/** Lines of other files that may be the same money, by the place of the line that asks. */
interface SameLines {
  /** Alike, or with the same reference of the bank. */
  alike: Map<number, Id>
  /** The sum of a part, or the first part of a sum. */
  ofEntry: Map<number, Id>
}

/** Rule: of two lines that are alike one is without a reference of the bank; two with different ones are two bookings. */
async function sameLines(
  tx: Transaction,
  fileId: Id,
  lines: readonly LineToList[],
  hashes: readonly Hashes[],
): Promise<SameLines> {
  const alike: AlikeQuestion[] = []
  const ofReference: ReferenceQuestion[] = []
  const ofEntry: EntryQuestion[] = []
  for (const [index, line] of lines.entries()) {
    const place = BigInt(index)
    const { likeness, ofBefore, referenceLikeness, entryKey } = hashes[index] as Hashes
    for (const one of ofBefore === null ? [likeness] : [likeness, ofBefore]) {
      alike.push({ place, likeness: one, hasBankReference: false })
      if (!line.hasBankReference) alike.push({ place, likeness: one, hasBankReference: true })
    }
    if (referenceLikeness !== null && line.dated !== null)
      ofReference.push({ place, likeness: referenceLikeness, on: line.dated })
    if (entryKey !== null) ofEntry.push({ place, entryKey, isSum: !line.isSum })
  }
  const [byAll, byReference, byEntry] = await Promise.all([
    listAlike(tx, fileId, alike),
    ofReference.length === 0 ? [] : listOfReference(tx, fileId, ofReference),
    ofEntry.length === 0 ? [] : listOfEntry(tx, fileId, ofEntry),
  ])
  return { alike: firstOf([...byAll, ...byReference]), ofEntry: firstOf(byEntry) }
}

/** Returns the earliest line that was found for each place. */
function firstOf(found: readonly { place: bigint; id: Id }[]): Map<number, Id> {
  const first = new Map<number, Id>()
  for (const { place, id } of found) {
    const present = first.get(Number(place))
    if (present === undefined || id < present) first.set(Number(place), id)
  }
  return first
}
