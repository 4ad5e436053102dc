import type { Instant } from '../../kernel/calendar.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { SealedPlace } from '../../platform/envelope/envelope.ts'
import type { BankAmount } from '../../platform/iso20022/result-lines.ts'
import type { GatewayDeps } from '../gateways/call.ts'
import { listInvoicesByNumber, listOwed } from '../money/open-queries.ts'
import { listByMandate, type MandateQuestion } from './match-queries.ts'
import { drawLineIds, type Likeness, listAlike, type NewLine, type ResultFile, sendListedLines } from './queries.ts'
import { bankReferenceOf, likenessOf, type LineKind, type MoneyLine, numbersIn, referenceOf } from './rules.ts'

/** Lines that wait for a person: written with what they may be about. */

export interface LineToList {
  line: MoneyLine
  kind: LineKind
  /** The payment that it may be about; null where its references name none. */
  proposed: Id | null
  /** Given where only a part of the line's amount is listed: a fee. */
  amount: BankAmount | null
}

/** Code of a bank's charge, as entries have it. */
const FEE = 'CHRG'

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

/** Writes lines, each with what is proposed for it and with an earlier line that may be the same entry. */
export async function writeListedLines(
  tx: Transaction,
  deps: Pick<GatewayDeps, 'envelope'>,
  { file, now }: { file: ResultFile; now: Instant },
  lines: readonly LineToList[],
): Promise<void> {
  if (lines.length === 0) return
  const hash = deps.envelope.keyedHash('result likeness')
  // A fee is like other fees, not like the rest of its entry.
  const likenesses = lines.map(({ line, kind, amount }): Likeness => ({
    likeness: hash(`${tx.account}\n${likenessOf(line, kind)}${amount === null ? '' : `\n${FEE}`}`),
    hasBankReference: bankReferenceOf(line) !== null,
  }))
  const [ids, alike, payments, invoices] = await Promise.all([
    drawLineIds(tx, lines.length),
    listAlike(tx, likenesses),
    proposedPayments(tx, file.gatewayId, lines),
    proposedInvoices(tx, lines),
  ])
  const earlier = new Map(alike.map((one) => [keyOf(one), one.id]))
  const written = lines.map((one, index): NewLine => {
    const { line, kind, proposed, amount } = one
    const id = ids[index] as Id
    const own = likenesses[index] as Likeness
    const sameAs = earlier.get(keyOf(own)) ?? null
    for (const key of keysOfLater(own)) if (!earlier.has(key)) earlier.set(key, id)
    const texts = { reference: cut(referenceOf(line, kind), REFERENCE_MAX), name: cut(line.name, NAME_MAX) }
    return {
      id,
      kind,
      dated: line.on,
      ...(amount ?? amountOf(line) ?? { amountMinor: null, currency: null }),
      code: amount ? FEE : cut(line.code, CODE_MAX),
      sealedTexts: sealTexts(deps, tx.account, id, texts),
      ...own,
      sameAs,
      paymentId: proposed ?? payments.get(one) ?? null,
      invoiceId: invoices.get(one) ?? null,
    }
  })
  sendListedLines(tx, file.id, written, now)
}

const keyOf = ({ likeness, hasBankReference }: Likeness): string => `${likeness.toString('hex')} ${hasBankReference}`

/** Returns the keys of lines to come that a line is like. Rule: two references of the bank are of two entries. */
const keysOfLater = ({ likeness, hasBankReference }: Likeness): string[] =>
  [false, true]
    .filter((later) => !(later && hasBankReference))
    .map((later) => keyOf({ likeness, hasBankReference: later }))

const cut = (text: string | null, length: number): string | null => text && [...text].slice(0, length).join('')

const amountOf = (line: MoneyLine): BankAmount | null => (line.kind === 'entry' ? line.amount : line.original)

/** Finds the payments of returns that name none, by mandate, amount and day. */
async function proposedPayments(
  tx: Transaction,
  gatewayId: Id,
  lines: readonly LineToList[],
): Promise<Map<LineToList, Id>> {
  const questions = lines.flatMap(({ line, kind, proposed, amount }, index): MandateQuestion[] => {
    const { mandate } = line.references
    const money = line.kind === 'entry' ? (line.original ?? line.amount) : line.original
    if (kind !== 'return' || proposed !== null || amount !== null || mandate === null || money === null) return []
    return [{ place: BigInt(index), mandate, ...money, on: line.on }]
  })
  const found = questions.length === 0 ? [] : await listByMandate(tx, gatewayId, questions)
  return new Map(found.map(({ place, id }) => [lines[Number(place)] as LineToList, id]))
}

/** Finds the invoices that credits name by their number, where their open amount is that of the credit. */
async function proposedInvoices(tx: Transaction, lines: readonly LineToList[]): Promise<Map<LineToList, Id>> {
  const credits = lines.flatMap((one) => {
    const amount = amountOf(one.line)
    if (one.kind !== 'credit' || one.proposed !== null || one.line.kind !== 'entry' || amount === null) return []
    return [{ one, amount, numbers: numbersIn(one.line.text) }]
  })
  const numbers = [...new Set(credits.flatMap((credit) => credit.numbers))]
  if (numbers.length === 0) return new Map()
  const named = await listInvoicesByNumber(tx, tx.account, numbers)
  const owed = await listOwed(
    tx,
    tx.account,
    named.map(({ id }) => ({ kind: 'invoice', id })),
  )
  const found = new Map<LineToList, Id>()
  for (const credit of credits) {
    const fitting = named.filter(({ id, number }) => {
      const invoice = owed.find((one) => one.id === id)
      const { amountMinor, currency } = credit.amount
      return (
        credit.numbers.includes(number) &&
        invoice?.state === 'open' &&
        invoice.currency === currency &&
        invoice.openMinor === amountMinor
      )
    })
    const [only] = fitting
    if (only && fitting.length === 1) found.set(credit.one, only.id)
  }
  return found
}
