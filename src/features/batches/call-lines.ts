import type { RequestContext } from '../../kernel/context.ts'
import { assert } from '../../kernel/assert.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import { recordMismatch } from '../gateways/actions.ts'
import { askGateway } from '../gateways/call.ts'
import type {
  BatchToBuild,
  ChargeState,
  Held,
  LineOutcome,
  LinesAnswered,
  LineToBuild,
  NotSent,
  Unknown,
} from '../gateways/contract.ts'
import type { Gateway } from '../gateways/queries.ts'
import { namedOtherwise } from '../gateways/references.ts'
import { sendTransactionId } from '../money/payment-queries.ts'
import { type BuildDeps, failBuild, type HandedBatch, isTooLateFor, leaveBatch, writeSubmitted } from './build-steps.ts'
import {
  type BatchLine,
  listLines,
  listLinesById,
  markLines,
  nameLine,
  noteRefused,
  unmarkLines,
} from './line-queries.ts'
import { type Batch, builds, lockWholeBatch, renewBuild } from './queries.ts'
import { applyLineResult, moveLineTo } from './results.ts'
import { isAwaitingRelease } from './rules.ts'
import type { Readied } from './to-build.ts'

/**
 * Handing over the lines of a batch one by one (§38), in portions: each is marked before it is called, and its outcomes are committed before the next. A marked
 * line without an outcome is asked about first, then sent again under its own reference, so that each is one debit however often its process dies.
 */

/** Lines that a gateway is called with at a time. */
const PORTION = 25

const isCalled = ({ sentAt, gatewayReference, refusal }: BatchLine): boolean =>
  sentAt !== null || gatewayReference !== null || refusal !== null

const hasOutcome = ({ gatewayReference, refusal }: BatchLine): boolean => gatewayReference !== null || refusal !== null

/** Returns whether lines of a batch are called now: one of which nothing was called yet, and that has lines which cannot be built, is built as any other. */
export async function isCalledByLine(
  db: Database,
  account: AccountId,
  batchId: Id,
  { lines, refused }: Readied,
): Promise<boolean> {
  if (refused.length === 0 && lines.length > 0) return true
  return (await listLines(db.reader(account), account, batchId)).some(isCalled)
}

/** Hands over what of a batch is not handed over yet, and submits it once every line has its outcome. */
export async function handOverLines(deps: BuildDeps, context: RequestContext, handed: HandedBatch): Promise<void> {
  const { db } = deps
  const { id: account } = context.account
  const { batch, readied } = handed
  await db.transaction(account, (tx) => refuseLate(tx, context, deps, handed))
  const known = new Map((await listLines(db.reader(account), account, batch.id)).map((line) => [line.id, line]))
  const open = readied.lines.filter(({ paymentId }) => {
    const line = known.get(paymentId)
    return line !== undefined && !hasOutcome(line)
  })
  for (let at = 0; at < open.length; at += PORTION)
    if (!(await callPortion(deps, context, handed, open.slice(at, at + PORTION)))) break
  await db.transaction(account, (tx) => finishCalled(tx, context, deps, handed))
}

/** Takes out lines whose methods have become unfit since others of their batch were called: by hand they have their refusal. */
async function refuseLate(
  tx: Transaction,
  context: RequestContext,
  deps: BuildDeps,
  { batch: { id }, readied: { refused } }: HandedBatch,
): Promise<void> {
  if (refused.length === 0 || !(await inBuild(tx, id))) return
  const lines = new Map((await listLines(tx, tx.account, id)).map((line) => [line.id, line]))
  for (const { paymentId, reason } of refused) {
    const line = lines.get(paymentId)
    if (!line || isCalled(line)) continue
    if (line.isServiceMade) await leaveBatch(tx, context, deps, line, reason)
    else
      await noteRefused(tx, line.id, {
        ...{ class: 'invalid_account', code: null, message: reason },
        on: context.moment.today,
      })
  }
}

/** Locks a batch that is being built; undefined where it is not any more. */
async function inBuild(tx: Transaction, id: Id): Promise<Batch | undefined> {
  const batch = await lockWholeBatch(tx, id)
  return batch?.state === 'build' && !isAwaitingRelease(batch) ? batch : undefined
}

type Outcomes = ReadonlyMap<Id, LineOutcome>

/** Calls a gateway with some lines; false where it takes nothing now, so that the others wait. */
async function callPortion(
  deps: BuildDeps,
  context: RequestContext,
  { batch, gateway }: HandedBatch,
  lines: readonly LineToBuild[],
): Promise<boolean> {
  const { db } = deps
  const { id: account, timeZone: zone } = context.account
  const ids = lines.map(({ paymentId }) => paymentId)
  const present = new Map((await listLinesById(db.reader(account), account, ids)).map((line) => [line.id, line]))
  const asked = await askMarked(deps, context, { batch, gateway }, lines, present)
  const toSend = [...present.values()].filter(({ id, sentAt }) => sentAt === null || asked.get(id) === 'none')
  const marked = await db.transaction(account, async (tx) => {
    await renewBuild(tx, batch.id)
    return toSend.length === 0 ? NONE : markLines(tx, toSend)
  })
  const sent = lines.filter(({ paymentId }) => marked.includes(paymentId))
  const { id: batchId, token, currency, actionDate, submittedAt } = batch
  assert(submittedAt, `batch ${batchId} was submitted`)
  const portion: BatchToBuild = {
    ...{ token, batchId, currency, actionDate, submittedAt, zone, fileOfDay: null, lines: sent },
  }
  const answer = sent.length === 0 ? undefined : await submit(deps, context, gateway, portion)
  const outcomes = new Map<Id, LineOutcome>(answer?.kind === 'answered' ? answer.outcomes : [])
  if (answer?.kind === 'not_sent' || answer?.kind === 'held') for (const id of marked) outcomes.set(id, NOT_SENT)
  for (const [id, one] of asked) if (one !== 'none') outcomes.set(id, one)
  await db.transaction(account, (tx) => writeOutcomes(tx, context, { batch, gateway }, outcomes))
  return answer?.kind !== 'held' && !(sent.length > 0 && marked.every((id) => outcomes.get(id)?.kind === 'not_sent'))
}

const NONE: Id[] = []
const NOT_SENT: NotSent = { kind: 'not_sent' }

const submit = (deps: BuildDeps, context: RequestContext, gateway: Gateway, portion: BatchToBuild) =>
  askGateway<LinesAnswered | Unknown | NotSent | Held>(deps, context, gateway, async (adapter, call) => {
    assert(adapter.submitLines, `a gateway of type ${gateway.type} takes lines one by one`)
    return adapter.submitLines(call, portion)
  })

/** Asks about lines that were marked before and have no outcome: `none` may be sent again. */
async function askMarked(
  deps: BuildDeps,
  context: RequestContext,
  { batch: { currency }, gateway }: Pick<HandedBatch, 'batch' | 'gateway'>,
  lines: readonly LineToBuild[],
  present: ReadonlyMap<Id, BatchLine>,
): Promise<ReadonlyMap<Id, LineOutcome | 'none'>> {
  const marked = lines.filter(({ paymentId }) => present.get(paymentId)?.sentAt != null)
  const answers = await Promise.all(
    marked.map(async ({ paymentId, chargeReference: reference, amountMinor, token = null }) => {
      const sentAt = present.get(paymentId)?.sentAt ?? null
      const charge = { reference, token, amountMinor, currency, gatewayReference: null, sentAt }
      const answer = await askGateway<ChargeState | Unknown | NotSent | Held>(
        deps,
        context,
        gateway,
        async (adapter, call) => (await adapter.askCharge?.(call, charge)) ?? { kind: 'unknown' },
      )
      return [paymentId, outcomeOf(answer)] as const
    }),
  )
  return new Map(answers)
}

/** Returns what an answer about a line means for its handing over: a debit that is there is pending, whatever has become of it since. */
function outcomeOf(answer: ChargeState | Unknown | NotSent | Held): LineOutcome | 'none' {
  // Nothing is known where it could not be asked.
  if ('kind' in answer) return answer.kind === 'unknown' ? answer : { kind: 'unknown' }
  const { outcome } = answer
  switch (outcome.kind) {
    case 'none':
      return 'none'
    case 'succeeded':
      return outcome.gatewayReference === null
        ? { kind: 'unknown' }
        : { kind: 'pending', gatewayReference: outcome.gatewayReference }
    case 'pending':
    case 'declined':
      return outcome
    default:
      return { kind: 'unknown' }
  }
}

async function writeOutcomes(
  tx: Transaction,
  context: RequestContext,
  { batch: { id: batchId }, gateway }: Pick<HandedBatch, 'batch' | 'gateway'>,
  outcomes: Outcomes,
): Promise<void> {
  if (outcomes.size === 0 || !(await inBuild(tx, batchId))) return
  for (const [id, outcome] of outcomes) {
    switch (outcome.kind) {
      case 'pending':
        await writePending(tx, context, gateway, id, outcome)
        break
      case 'declined': {
        const { class: declineClass, code, message, on } = outcome
        await noteRefused(tx, id, { class: declineClass, code, message, on })
        break
      }
      case 'not_sent':
        await unmarkLines(tx, [id])
        break
      case 'unknown':
        if (outcome.mismatch !== undefined) await recordMismatch(tx, context, gateway.id, outcome.mismatch)
    }
  }
}

/** Keeps the name of a line, and gives its payment the day for which the gateway has it. */
async function writePending(
  tx: Transaction,
  context: RequestContext,
  gateway: Gateway,
  id: Id,
  { gatewayReference: name, debitOn }: Extract<LineOutcome, { kind: 'pending' }>,
): Promise<void> {
  const kept = await nameLine(tx, id, name)
  if (kept !== name) {
    const mismatch = namedOtherwise({ what: `charge ${id}`, noun: 'charge' }, name, kept)
    return recordMismatch(tx, context, gateway.id, mismatch)
  }
  sendTransactionId(tx, { gatewayId: gateway.id, chargeId: id }, name)
  if (debitOn !== undefined) await moveLineTo(tx, context, id, debitOn)
}

/**
 * Submits a batch whose lines all have their outcomes. Rule: what was refused has its result with the submission; after the last moment lines that surely did
 * not leave are taken out: those of the service leave, those by hand were not sent. A batch of which nothing left has failed.
 */
async function finishCalled(
  tx: Transaction,
  context: RequestContext,
  deps: BuildDeps,
  { batch: { id }, gateway, readied }: HandedBatch,
): Promise<void> {
  const batch = await inBuild(tx, id)
  if (!batch) return
  const lines = await listLines(tx, tx.account, id)
  const open = lines.filter((line) => !hasOutcome(line))
  const mayWait = open.some(({ sentAt }) => sentAt !== null) || !isTooLateFor(deps, context, gateway, batch)
  if (open.length > 0 && mayWait) return void (await builds.fail(tx, id))
  if (open.length === lines.length) return failBuild(tx, context, batch, TOO_LATE)
  for (const line of open.filter(({ isServiceMade }) => isServiceMade))
    await leaveBatch(tx, context, deps, line, TOO_LATE)
  const left = await inBuild(tx, id)
  assert(left, `batch ${id} is being built`)
  await writeSubmitted(tx, context, deps, { batch: left, gateway, readied }, { file: null })
  const { today } = context.moment
  for (const { id: lineId, isServiceMade, refusal } of lines) {
    const result = { isSuccess: false, on: refusal?.on ?? today, source: 'gateway' } as const
    if (refusal) await applyLineResult(tx, context, lineId, { ...result, reason: refusal }, deps.linesOfService)
    else if (!isServiceMade && open.some((one) => one.id === lineId)) {
      const reason = { class: 'not_sent', code: null, message: TOO_LATE } as const
      await applyLineResult(tx, context, lineId, { ...result, reason }, deps.linesOfService)
    }
  }
}

const TOO_LATE = 'The gateway could not be reached before the last moment of the batch.'
