import { setImmediate as turn } from 'node:timers/promises'
import type { Transaction } from '../../platform/database/database.ts'
import type { BankEntry, CheckedResultFile, PartLine, ResultLine } from '../../platform/iso20022/result-lines.ts'
import { plainAccount } from '../../platform/iso20022/statement.ts'
import { listKnownThen } from './again-queries.ts'
import type { Reading } from './deps.ts'
import { hashOf } from './known.ts'
import { listSentBatches, listSentPayments } from './match-queries.ts'
import { batchTokenOf, paymentIdOf } from './references.ts'

/**
 * Files that are read once more. Programs before 0.1.0 took a line for known as soon as its reference had been read in another file, also one that is none or that
 * banks repeat. Rule: worked on are the lines that the first reading counted as known, and that have a placeholder or name a payment of ours; what is over an
 * entry is so if all of its parts are.
 */

/** Lines that are asked about together. */
const AT_ONCE = 500

/** Returns the lines of a file that are worked on in its second reading, which are the same however often it is begun. */
export async function linesAgain(
  reading: Pick<Reading, 'deps' | 'context' | 'file'>,
  { lines }: Pick<CheckedResultFile, 'lines'>,
): Promise<Iterable<readonly ResultLine[]>> {
  const places = await placesAgain(reading, lines())
  return only(lines(), places)
}

function* only(
  read: Iterable<readonly ResultLine[]>,
  places: ReadonlySet<number>,
): Generator<readonly ResultLine[], void, undefined> {
  let place = 0
  for (const lines of read) {
    const kept = lines.filter(() => places.has(place++))
    if (kept.length > 0) yield kept
  }
}

async function placesAgain(
  { deps, context, file }: Pick<Reading, 'deps' | 'context' | 'file'>,
  read: Iterable<readonly ResultLine[]>,
): Promise<ReadonlySet<number>> {
  const places = new Set<number>()
  let place = 0
  let entry: { of: BankEntry; parts: number; again: number } | undefined
  const look = async (lines: readonly ResultLine[]) => {
    const isAgain = await deps.db.transaction(context.account.id, (tx) => findKnownThen(tx, file, lines))
    for (const line of lines) {
      if (line.kind !== 'status' && entry?.of !== line.entry) entry = { of: line.entry, parts: 0, again: 0 }
      const isTaken = line.kind === 'over' ? entry!.parts > 0 && entry!.parts === entry!.again : isAgain.has(line)
      if (line.kind === 'part') entry!.parts += 1
      if (line.kind === 'part' && isTaken) entry!.again += 1
      if (isTaken) places.add(place)
      place += 1
    }
    await turn()
  }
  let some: ResultLine[] = []
  for (const lines of read) {
    some.push(...lines)
    if (some.length < AT_ONCE) continue
    await look(some)
    some = []
  }
  await look(some)
  return places
}

/** Finds the lines that the first reading of a file took for known, of those that may have been another booking. */
async function findKnownThen(
  tx: Transaction,
  file: Reading['file'],
  lines: readonly ResultLine[],
): Promise<ReadonlySet<ResultLine>> {
  const doubtful = lines.filter((line): line is PartLine => line.kind === 'part' && isDoubtful(tx, line))
  if (doubtful.length === 0) return new Set()
  const asked = doubtful.map(({ written, entry: { account } }, index) => {
    const plain = plainAccount(account)
    return {
      place: BigInt(index),
      reference: hashOf(written?.text ?? ''),
      ofAccount: plain === null ? null : hashOf(plain),
    }
  })
  const known = await listKnownThen(tx, tx.account, file, asked)
  const isOwn = await ownOf(tx, file, doubtful)
  // What names a payment or batch of the gateway was known by files of the gateway alone.
  const found = known.flatMap(({ place, isOfGateway }) => {
    const line = doubtful[Number(place)] as PartLine
    return isOfGateway || !isOwn(line) ? [line] : []
  })
  return new Set(found)
}

const isDoubtful = ({ account }: Transaction, { written, references }: PartLine): boolean =>
  written !== null && (written.isPlaceholder || paymentIdOf(account, references) !== null)

/** Returns whether a line names a payment, or else a batch, that left for the gateway of a file. */
async function ownOf(
  tx: Transaction,
  { gatewayId }: Pick<Reading['file'], 'gatewayId'>,
  lines: readonly PartLine[],
): Promise<(line: PartLine) => boolean> {
  const ids = lines.flatMap(({ references }) => paymentIdOf(tx.account, references) ?? [])
  const tokens = lines.flatMap(({ references }) => batchTokenOf(references) ?? [])
  const payments = ids.length === 0 ? [] : await listSentPayments(tx, ids)
  const batches = tokens.length === 0 ? [] : await listSentBatches(tx, tokens)
  const own = new Set<unknown>(
    [...payments.map((one) => [one.id, one] as const), ...batches.map((one) => [one.token, one] as const)].flatMap(
      ([name, one]) => (one.gatewayId === gatewayId ? [name] : []),
    ),
  )
  return ({ references }) => own.has(paymentIdOf(tx.account, references) ?? batchTokenOf(references))
}
