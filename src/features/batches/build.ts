import { assert } from '../../kernel/assert.ts'
import { type Account, backgroundContext, type Moment, type RequestContext } from '../../kernel/context.ts'
import type { Id } from '../../kernel/ids.ts'
import { dateIn } from '../../kernel/zone.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { adapterOf, askGateway } from '../gateways/call.ts'
import type {
  BatchFile,
  BatchToBuild,
  Built,
  Held,
  NotSent,
  RefusedLine,
  Traces,
  Unknown,
} from '../gateways/contract.ts'
import { gatewayFactsOf } from '../gateways/facts.ts'
import { findGateway, type Gateway, isHeldNow } from '../gateways/queries.ts'
import { type BuildDeps, failBuild, type HandedBatch, isTooLateFor, leaveBatch, writeSubmitted } from './build-steps.ts'
import { handOverLines, isCalledByLine } from './call-lines.ts'
import { listLines } from './line-queries.ts'
import { type Batch, builds, claimBuild, findBatch, lockWholeBatch, placeFile, updateState } from './queries.ts'
import { recordBatch } from './record.ts'
import { isAwaitingRelease } from './rules.ts'
import { listMethodsById } from '../payment-methods/queries.ts'
import { reopen } from './states.ts'
import { type Readied, readyLines } from './to-build.ts'

/**
 * Building batches: lines are read, the gateway's file is made, and the batch is handed over. No transaction is open while the gateway is
 * called; killed anywhere, the next who takes the batch up builds the same again.
 */

const ACTOR = 'batches'

/** Outcome of the calls of a build: handed over with a file or without; lines that cannot be; or nothing is known yet. */
type Handed =
  | { kind: 'handed'; file: BatchFile | null; traces?: Traces }
  | Extract<Built, { kind: 'refused' }>
  | Unknown
  | NotSent
  | Held

/**
 * Builds a batch that was submitted, or opens it again where its last moment has passed before its release. With `isAll` also one that another
 * holds or that waits after a failure: a clock that is moved waits for nobody.
 */
export async function buildBatch(
  deps: BuildDeps,
  account: Account,
  moment: Moment,
  batchId: Id,
  isAll: boolean,
): Promise<void> {
  const { db, hasMailServer = false } = deps
  const context = backgroundContext(account, moment, { actor: ACTOR, hasMailServer })
  const found = await findBatch(db.reader(account.id), account.id, batchId)
  if (found && isAwaitingRelease(found)) return reopenLate(deps, context, found)
  if (found && (await isHeldNow(db.reader(account.id), account.id, found.gatewayId))) return
  const claimed = await db.transaction(account.id, (tx) => claim(tx, account, batchId, isAll))
  if (!claimed) return
  const batch = await findBatch(db.reader(account.id), account.id, batchId)
  const gateway = batch && (await findGateway(db.reader(account.id), account.id, batch.gatewayId))
  assert(batch && gateway, `batch ${batchId} has its gateway while it is built`)
  const readied = await readyLines(db.reader(account.id), deps.envelope, account.id, batch, gateway)
  if (
    adapterOf(deps, account.id, gateway).adapter.submitLines &&
    (await isCalledByLine(deps.db, account.id, batch.id, readied))
  )
    return handOverLines(deps, context, { batch, gateway, readied })
  const handed = await handOver(deps, context, gateway, { batch, ...claimed }, readied)
  const isAgain = await db.transaction(account.id, (tx) =>
    finish(tx, context, deps, { batch, gateway, readied, handed }),
  )
  if (isAgain) await buildBatch(deps, account, moment, batchId, true)
}

/** Claims a batch to build, and gives its file a place where its gateway counts them; undefined where it is not to be built. */
async function claim(
  tx: Transaction,
  { timeZone }: Account,
  batchId: Id,
  isAll: boolean,
): Promise<Pick<BatchToBuild, 'fileOfDay'> | undefined> {
  const claimed = await claimBuild(tx, batchId, isAll)
  if (!claimed) return undefined
  const gateway = await findGateway(tx, tx.account, claimed.gatewayId)
  assert(gateway, `batch ${batchId} has its gateway while it is built`)
  if (!gatewayFactsOf(gateway.type).countsFiles) return { fileOfDay: null }
  return { fileOfDay: await placeFile(tx, claimed, dateIn(claimed.submittedAt, timeZone)) }
}

async function handOver(
  deps: BuildDeps,
  context: RequestContext,
  gateway: Gateway,
  { batch, fileOfDay }: { batch: Batch } & Pick<BatchToBuild, 'fileOfDay'>,
  { lines, refused }: Readied,
): Promise<Handed> {
  if (refused.length > 0 || lines.length === 0) return { kind: 'refused', lines: refused }
  const { id, token, currency, actionDate, submittedAt } = batch
  assert(submittedAt, `batch ${id} was submitted`)
  const { timeZone: zone } = context.account
  const toBuild: BatchToBuild = { token, batchId: id, currency, actionDate, submittedAt, zone, fileOfDay, lines }
  return askGateway<Handed>(deps, context, gateway, async (adapter, call) => {
    assert(adapter.buildBatch, `a gateway of type ${gateway.type} builds batches`)
    const built = await adapter.buildBatch(call, toBuild)
    if (built.kind !== 'built') return built
    const handed = { ...built, kind: 'handed' as const }
    if (!adapter.submitBatch) return handed
    const submitted = await adapter.submitBatch(call, toBuild)
    return submitted.kind === 'submitted' ? handed : submitted
  })
}

interface Finishing extends HandedBatch {
  handed: Handed
}

/**
 * Writes what came of a build. Returns true where it is built again at once: without the lines that have left it, or with accounts that were corrected
 * or edited meanwhile, where nobody has got its file yet.
 */
async function finish(
  tx: Transaction,
  context: RequestContext,
  deps: BuildDeps,
  { batch: { id }, gateway, readied, handed }: Finishing,
): Promise<boolean> {
  const batch = await lockWholeBatch(tx, id)
  if (batch?.state !== 'build' || isAwaitingRelease(batch)) return false
  switch (handed.kind) {
    case 'handed':
      if (handed.file && (await haveChanged(tx, readied))) return true
      await writeSubmitted(tx, context, deps, { batch, gateway, readied }, handed)
      return false
    case 'refused':
      if (handed.lines.length > 0 || handed.reason === undefined)
        return refuseLines(tx, context, deps, batch, handed.lines)
      await failBuild(tx, context, batch, handed.reason)
      return false
    case 'not_sent':
      if (isTooLateFor(deps, context, gateway, batch)) {
        await failBuild(tx, context, batch, 'The gateway could not be reached before the last moment of the batch.')
        return false
      }
      break
    case 'held':
      await builds.release(tx, id)
      return false
    case 'unknown':
      break
  }
  await builds.fail(tx, id)
  return false
}

/** Returns whether a method that a file was built from is another by now, or gone. The customers of its lines are locked. */
async function haveChanged(tx: Transaction, { methods }: Readied): Promise<boolean> {
  const used = new Map([...methods.values()].map((method) => [method.id, method.version]))
  const found = await listMethodsById(tx, tx.account, [...used.keys()])
  return found.length < used.size || found.some(({ id, version }) => version !== used.get(id))
}

/** Rule: a line of the service that cannot be built leaves the batch; a line by hand fails it. */
async function refuseLines(
  tx: Transaction,
  context: RequestContext,
  deps: BuildDeps,
  batch: Batch,
  refused: readonly RefusedLine[],
): Promise<boolean> {
  const lines = await listLines(tx, tx.account, batch.id)
  const reasonOf = new Map(refused.map(({ paymentId, reason }) => [paymentId, reason]))
  const leaving = lines.filter((line) => line.isServiceMade && reasonOf.has(line.id))
  for (const line of leaving) await leaveBatch(tx, context, deps, line, reasonOf.get(line.id) as string)
  const standing = lines.find((line) => !line.isServiceMade && reasonOf.has(line.id))
  if (standing) {
    await failBuild(tx, context, batch, `Payment ${standing.id}: ${reasonOf.get(standing.id)}`)
    return false
  }
  if (leaving.length === lines.length) {
    await updateState(tx, batch.id, 'cancelled')
    await recordBatch(tx, context, 'batch.cancelled', batch.id, 'No line is left.')
    return false
  }
  assert(leaving.length > 0, `batch ${batch.id} is refused for some of its lines`)
  return true
}

/** Opens a batch again that nobody has released before its last moment. */
async function reopenLate(deps: BuildDeps, context: RequestContext, { id }: Batch): Promise<void> {
  await deps.db.transaction(context.account.id, async (tx) => {
    const batch = await lockWholeBatch(tx, id)
    if (!batch || !isAwaitingRelease(batch)) return
    const gateway = await findGateway(tx, tx.account, batch.gatewayId)
    assert(gateway, `gateway ${batch.gatewayId} exists while a batch of it waits`)
    if (!isTooLateFor(deps, context, gateway, batch)) return
    await reopen(tx, batch)
    await recordBatch(tx, context, 'batch.reopened', id, 'It was not released before its last moment.')
  })
}
