import { createHash } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import type { RequestContext } from '../../kernel/context.ts'
import { conflict, invalid } from '../../kernel/fault.ts'
import { assert } from '../../kernel/assert.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import { type Lease, releaseLease, takeLease, underLease } from '../../platform/database/lease.ts'
import { endingAfter } from '../../platform/database/until-aborted.ts'
import { checkResultFile } from '../../platform/iso20022/read.ts'
import type { CheckedResultFile, ResultLine } from '../../platform/iso20022/result-lines.ts'
import { UnreadableFile } from '../../platform/iso20022/unreadable.ts'
import { adapterOf } from '../gateways/call.ts'
import { gatewayFactsOf } from '../gateways/facts.ts'
import { findGateway, type Gateway } from '../gateways/queries.ts'
import { linesAgain } from './again.ts'
import { beginSecondReading } from './again-queries.ts'
import { fileBusy, type ResultDeps } from './deps.ts'
import { type CheckedFileOfBank, checkNacha, type LineOfFile } from './nacha.ts'
import { findFileByHash, findResultFile, insertResultFile, type NewFile, type ResultFile } from './queries.ts'
import { batchTokenOf, paymentIdOf } from './references.ts'
import { workThrough } from './work-through.ts'

/**
 * Result files as they arrive. All of a file is read before anything is written, so that one that cannot be read, or holds statements of other
 * accounts alone, changes nothing. Then some lines are worked on at a time, each portion in a transaction of its own, which notes how far the file
 * is done.
 */

/** A portion takes a fraction of a second; one that waits for a lock does not keep the place of a caller who has gone. */
const PORTION_GRACE_MS = 1_000

/** The lease under which the files of an account are worked on, one after the other. */
const LEASE = 'result file'

/** Works on a file. Returns what came of it, and whether it was new; the same bytes again change nothing, unless they are to be sent again. */
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
  if (known?.isFinished && !known.isToBeSentAgain) return { file: known, isNew: false }
  const checked = await checkFor(deps, context, gateway, bytes)
  const { format, otherAccounts, statusMissing, linesPadded = null } = checked
  const begun = await begin(deps, context, { gatewayId, sha256, format, otherAccounts, statusMissing, linesPadded })
  if (!begun.lease) return { file: begun.file, isNew: false }
  deps.about?.isAbout(String(begun.file.id))
  const portioned = { ...deps, db: endingAfter(deps.db, deps.about?.gone, PORTION_GRACE_MS) }
  const { isFinished: isAgain } = begun.file
  const reading = { deps: portioned, context, gateway, file: begun.file, lease: begun.lease, isAgain }
  const file = await underLease(deps.db, account, begun.lease, async () =>
    workThrough(
      reading,
      isAgain ? await linesAgain(reading, { lines: () => withoutChanges(checked.lines()) }) : checked.lines(),
    ),
  )
  return { file, isNew: !isAgain }
}

/** Reads all of a file in the format of its gateway and changes nothing; throws what stands against it. */
function checkFor(
  deps: ResultDeps,
  context: RequestContext,
  gateway: Gateway,
  bytes: Buffer,
): Promise<CheckedFileOfBank> {
  const gone = deps.about?.gone
  const { nachaCompany } = gatewayFactsOf(gateway.type)
  if (nachaCompany) return checkNacha(deps, context, { gateway, companyOf: nachaCompany }, bytes)
  return checkFile(bytes, { account: context.account.id, iban: accountOf(deps, context, gateway), gone })
}

/** Yields the lines that programs before 0.1.0 knew. */
function* withoutChanges(read: Iterable<readonly LineOfFile[]>): Generator<readonly ResultLine[], void, undefined> {
  for (const lines of read) yield lines.filter((line) => line.kind !== 'change')
}

/** Returns the IBAN of the account that a gateway collects for; null where it has none. */
function accountOf(deps: ResultDeps, { account }: RequestContext, gateway: Gateway): string | null {
  const { CreditorIBAN } = adapterOf(deps, account.id, gateway).settings
  return typeof CreditorIBAN === 'string' ? CreditorIBAN : null
}

/** Reads all of a file and changes nothing; throws what stands against it. */
async function checkFile(
  bytes: Buffer,
  { account, iban, gone }: { account: AccountId; iban: string | null; gone: AbortSignal | undefined },
): Promise<CheckedResultFile> {
  const reading = checkResultFile(bytes, {
    iban,
    namesPayment: (references) => paymentIdOf(account, references) !== null,
    namesBatch: (references) => batchTokenOf(references) !== null,
  })
  try {
    for (;;) {
      const { done, value } = reading.next()
      if (done) {
        if (value.isOfOthersOnly) throw ofOthersOnly()
        return value
      }
      await turn()
      gone?.throwIfAborted()
    }
  } catch (error) {
    if (error instanceof UnreadableFile) throw invalid('file_unreadable', error.message)
    throw error
  }
}

const ofOthersOnly = () =>
  conflict('other_account', 'No statement of the file is of the CreditorIBAN of the gateway.', 'gatewayID')

/** Takes the lease and the file's row, which is there already where the file was worked on before; no lease where it is finished by now. */
const begin = (
  deps: ResultDeps,
  { moment: { now }, account }: RequestContext,
  about: Omit<NewFile, 'unmatched' | 'isFinished' | 'sha256'> & { sha256: Buffer },
): Promise<{ file: ResultFile; lease: Lease | undefined }> =>
  deps.db.transaction(account.id, async (tx) => {
    const lease = await takeLease(tx, LEASE)
    if (!lease) throw fileBusy()
    const known = await findFileByHash(tx, tx.account, about.gatewayId, about.sha256)
    if (known?.isToBeSentAgain) await beginSecondReading(tx, known.id, now)
    else if (known?.isFinished) {
      await releaseLease(tx, lease)
      return { file: known, lease: undefined }
    }
    const id = known?.id ?? (await insertResultFile(tx, { ...about, unmatched: 0, isFinished: false }, now))
    const file = known?.isFinished === false ? known : await findResultFile(tx, tx.account, id)
    assert(file, `result file ${id} exists`)
    return { file, lease }
  })
