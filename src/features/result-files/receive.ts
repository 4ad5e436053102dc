import { createHash } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import type { RequestContext } from '../../kernel/context.ts'
import { conflict, invalid } from '../../kernel/fault.ts'
import { assert } from '../../kernel/assert.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import { type Lease, releaseLease, takeLease, underLease } from '../../platform/database/lease.ts'
import { readResultFile } from '../../platform/iso20022/read.ts'
import { endingAfter } from '../../platform/database/until-aborted.ts'
import type { ResultLine } from '../../platform/iso20022/result-lines.ts'
import { UnreadableFile } from '../../platform/iso20022/unreadable.ts'
import { recordChange } from '../events/record.ts'
import { adapterOf } from '../gateways/call.ts'
import { gatewayFactsOf } from '../gateways/facts.ts'
import { findGateway, type Gateway } from '../gateways/queries.ts'
import { applyLines, type Reading } from './apply.ts'
import { findFileByHash, findResultFile, finishResultFile, insertResultFile, type ResultFile } from './queries.ts'
import { resultFileKind } from './record.ts'
import { isAboutBatch, type MoneyLine, paymentIdOf, plainAccount } from './rules.ts'
import { fileBusy, type ResultDeps } from './deps.ts'

/**
 * Result files as they arrive. All of a file is read before anything is written, so that one that cannot be read or belongs to another account
 * changes nothing. Then some lines are worked on at a time, each portion in a transaction of its own, which notes how far the file is done; a
 * file of very many lines is read again for that.
 */

/** A portion takes a fraction of a second; one that waits for a lock does not keep the place of a caller who has gone. */
const PORTION_GRACE_MS = 1_000

/** Lines of a transaction, and those of them that name a payment: the locks that it takes are held for a fraction of a second. */
const PORTION = 500
const PAYMENTS_OF_PORTION = 50

/** Lines that are kept between the two readings of a file: some 30 MB. */
const KEPT_LINES = 20_000

/** The lease under which the files of an account are worked on, one after the other. */
const LEASE = 'result file'

/** Works on a file. Returns what came of it, and whether it was new; the same bytes again change nothing. */
export async function receiveFile(
  deps: ResultDeps,
  context: RequestContext,
  gatewayId: Id,
  bytes: Buffer,
): Promise<{ file: ResultFile; isNew: boolean }> {
  const { id: account } = context.account
  const gateway = await findGateway(deps.db.reader(account), account, gatewayId)
  if (!gateway) throw invalid('gateway_unknown', `There is no gateway ${gatewayId}.`, 'gatewayID')
  if (!gatewayFactsOf(gateway.type).isManualRecon)
    throw conflict('gateway_unfit', `The gateway ${gatewayId} reports its results itself.`, 'gatewayID')
  const sha256 = createHash('sha256').update(bytes).digest()
  const known = await findFileByHash(deps.db.reader(account), account, gatewayId, sha256)
  if (known?.isFinished) return { file: known, isNew: false }
  const { format, lines } = await checkFile(bytes, accountOf(deps, context, gateway), deps.about?.gone)
  const begun = await begin(deps, context, { gatewayId, sha256, format })
  if (!begun.lease) return { file: begun.file, isNew: false }
  deps.about?.isAbout(String(begun.file.id))
  const portioned = { ...deps, db: endingAfter(deps.db, deps.about?.gone, PORTION_GRACE_MS) }
  const reading = { deps: portioned, context, gateway, file: begun.file, lease: begun.lease }
  const file = await underLease(deps.db, account, begun.lease, () =>
    workThrough(reading, lines ? [lines] : readResultFile(bytes).lines),
  )
  return { file, isNew: true }
}

/** Returns the IBAN of the account that a gateway collects for; null where it has none. */
function accountOf(deps: ResultDeps, { account }: RequestContext, gateway: Gateway): string | null {
  const { CreditorIBAN } = adapterOf(deps, account.id, gateway).settings
  return typeof CreditorIBAN === 'string' ? CreditorIBAN : null
}

interface CheckedFile {
  format: string
  /** Its lines where they are not too many to be kept; else they are read again. */
  lines: readonly ResultLine[] | null
}

/** Reads all of a file and changes nothing; throws what stands against it. */
async function checkFile(bytes: Buffer, iban: string | null, gone?: AbortSignal): Promise<CheckedFile> {
  const reading = readResultFile(bytes)
  const kept: ResultLine[] = []
  let count = 0
  try {
    for (const lines of reading.lines) {
      for (const line of lines) if (line.kind === 'statement') checkAccount(line.account, iban)
      count += lines.length
      if (count <= KEPT_LINES) kept.push(...lines)
      await turn()
      gone?.throwIfAborted()
    }
  } catch (error) {
    if (error instanceof UnreadableFile) throw invalid('file_unreadable', error.message)
    throw error
  }
  return { format: reading.format, lines: count <= KEPT_LINES ? kept : null }
}

function checkAccount(account: string | null, iban: string | null): void {
  if (iban === null || plainAccount(account) === iban) return
  const fault = account === null ? 'names no account for a statement in it, so it may be of' : 'is of'
  throw conflict(
    'other_account',
    `The file ${fault} another account than the CreditorIBAN of the gateway.`,
    'gatewayID',
  )
}

/** Takes the lease and the file's row, which is there already where the file was worked on before; no lease where it is finished by now. */
const begin = (
  deps: ResultDeps,
  { moment: { now }, account }: RequestContext,
  about: { gatewayId: Id; sha256: Buffer; format: string },
): Promise<{ file: ResultFile; lease: Lease | undefined }> =>
  deps.db.transaction(account.id, async (tx) => {
    const lease = await takeLease(tx, LEASE)
    if (!lease) throw fileBusy()
    const known = await findFileByHash(tx, tx.account, about.gatewayId, about.sha256)
    if (known?.isFinished) {
      await releaseLease(tx, lease)
      return { file: known, lease: undefined }
    }
    const id = known?.id ?? (await insertResultFile(tx, { ...about, unmatched: 0, isFinished: false }, now))
    const file = known ?? (await findResultFile(tx, tx.account, id))
    assert(file, `result file ${id} exists`)
    return { file, lease }
  })

async function workThrough(reading: Reading, lines: Iterable<readonly ResultLine[]>): Promise<ResultFile> {
  const { deps, context, file, lease } = reading
  let done = file.linesDone
  for (const portion of portionsOf(lines, context.account.id, done)) {
    deps.about?.gone?.throwIfAborted()
    await applyLines(reading, portion)
    deps.about?.progress((done += portion.length))
    await turn()
  }
  deps.about?.gone?.throwIfAborted()
  return deps.db.transaction(context.account.id, async (tx) => {
    if (!(await releaseLease(tx, lease))) throw fileBusy()
    await finishResultFile(tx, file.id, context.moment.now)
    const done = await findResultFile(tx, tx.account, file.id)
    assert(done, `result file ${file.id} exists`)
    await recordChange(tx, context, resultFileKind, { type: 'result_file.read', row: done })
    return done
  })
}

/** Yields the lines of a file that was read before, in portions, without those that are done. A line about a whole batch is one by itself. */
function* portionsOf(
  read: Iterable<readonly ResultLine[]>,
  account: AccountId,
  done: number,
): Generator<readonly MoneyLine[], void, undefined> {
  let portion: MoneyLine[] = []
  let payments = 0
  let place = 0
  for (const lines of read) {
    for (const line of lines.filter(isAboutMoney)) {
      place += 1
      if (place <= done) continue
      const isAlone = isAboutBatch(account, line)
      if (portion.length > 0 && (isAlone || portion.length === PORTION || payments === PAYMENTS_OF_PORTION)) {
        yield portion
        portion = []
        payments = 0
      }
      portion.push(line)
      if (paymentIdOf(account, line.references) !== null) payments += 1
      if (!isAlone) continue
      yield portion
      portion = []
    }
  }
  if (portion.length > 0) yield portion
}

const isAboutMoney = (line: ResultLine): line is MoneyLine => line.kind !== 'statement'
