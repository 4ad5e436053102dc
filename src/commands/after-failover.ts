import { findAccount } from '../features/accounts/queries.ts'
import { raiseCreditNumberTo, raiseInvoiceNumberTo, raisingAfterFailover } from '../features/accounts/settings.ts'
import { listDocumentsNumbered } from '../features/documents/queries.ts'
import { quoted } from '../features/reports/csv.ts'
import { backgroundContext, momentOf } from '../kernel/context.ts'
import { conflict, invalid, missing } from '../kernel/fault.ts'
import type { AccountId, Id } from '../kernel/ids.ts'
import { plural } from '../kernel/text.ts'
import type { Database } from '../platform/database/database.ts'
import {
  declareLoss,
  type Failover,
  type FailoverNote,
  isOfInterest,
  listFailoverNotes,
  listFailovers,
  skipFurther,
} from '../platform/failover/queries.ts'
import { settleLoss } from '../platform/failover/settle.ts'
import { type CommandContext, withDatabase } from './context.ts'
import { EXIT } from './exit-codes.ts'
import type { NextNumber } from './option-values.ts'
import { printJson, printLine, printTable, remark } from './output.ts'

/** `perennial after-failover`: lists what failovers have lost, the newest first, and what was done about it. */

interface Wish {
  isCsv: boolean
  skip: bigint | undefined
  numbers: readonly NextNumber[]
  creditNumbers: readonly NextNumber[]
  /** Somebody knows of a loss that no process could notice. */
  isLossy: boolean
}

/** Lists what is missing, the effects that left first. What the wish asks for is done before; done again it changes nothing. */
export async function afterFailoverCommand(context: CommandContext, wish: Wish): Promise<number> {
  const { last, found } = await withDatabase(context, async (db) => {
    await raise(db, wish)
    const all: Found[] = []
    for (const failover of await listShown(db))
      all.push({ failover, notes: await withPresentNumbers(db, await listFailoverNotes(db.unscoped, failover.id)) })
    return { last: (await listFailovers(db.unscoped)).at(-1), found: all }
  })
  const [newest, ...earlier] = found
  if (context.isJson) printJson(newest ? { ...asJson(newest), Earlier: earlier.map(asJson) } : { Lossy: false })
  else if (wish.isCsv) printCsv(found)
  else {
    if (last && newest && last.id !== newest.failover.id) printLine(`Nothing was lost by ${wordsOf(last)}.\n`)
    for (const [n, one] of found.entries()) {
      if (n > 0) printLine('')
      print(one)
    }
    if (!newest) printLine('No failover was met: nothing is missing.')
    if (found.some(({ failover }) => failover.isLossy))
      printLine(
        '\nNot listed is what commands have changed: API keys that were made or revoked, accounts, holds, maintenance. Those whose change a standby lacked have said so. Do that again, revocations first.',
      )
    for (const { account, next } of wish.numbers)
      printLine(`The next invoice of account ${account} has number ${next} or a higher one.`)
    for (const { account, next } of wish.creditNumbers)
      printLine(`The next credit note of account ${account} has number CN-${next} or a higher one.`)
  }
  return EXIT.done
}

/** Finds, for each lost document, the one that has its number now: where the process that knew of it came after others had begun to write. */
async function withPresentNumbers(db: Database, notes: readonly FailoverNote[]): Promise<Shown[]> {
  const numbersOf = new Map<AccountId, string[]>()
  for (const { account, state, number } of notes)
    if (state === 'lost' && number !== null) numbersOf.set(account, [...(numbersOf.get(account) ?? []), number])
  const now = new Map<string, Id>()
  for (const [account, numbers] of numbersOf)
    for (const { number, id } of await listDocumentsNumbered(db.reader(account), account, numbers))
      now.set(`${account} ${number}`, id)
  return notes.map((note) => {
    const { account, state, id, number } = note
    const found = state === 'lost' ? now.get(`${account} ${number}`) : undefined
    // What was lost of a document that is here is a change of it.
    return { ...note, numberNowOf: found === undefined || String(found) === id ? null : found }
  })
}

/** Lists the failovers whose losses are of interest, the newest first: a later one without loss is no answer to what is missing. */
async function listShown(db: Database): Promise<Failover[]> {
  const all = (await listFailovers(db.unscoped)).toReversed()
  const missing = all.filter((failover) => isOfInterest(failover, Date.now()))
  return missing.length > 0 ? missing : all.slice(0, 1)
}

async function raise(db: Database, { isLossy, skip, numbers, creditNumbers }: Wish): Promise<void> {
  if (isLossy) await settleDeclared(db)
  if (skip !== undefined) await skipBy(db, skip)
  for (const one of numbers) await raiseNumber(db, one, raiseInvoiceNumberTo)
  for (const one of creditNumbers) await raiseNumber(db, one, raiseCreditNumberTo)
}

/** Declares a loss and settles it, unless that is done: gateways that somebody has released since stay released. */
async function settleDeclared(db: Database): Promise<void> {
  const id = await declareLoss(db.unscoped)
  const declared = (await listFailovers(db.unscoped)).find((one) => one.id === id)
  if (declared && declared.settledAt !== null)
    return remark(
      `The loss that was settled ${declared.settledAt} is meant, so nothing was done again. If rows were put back into this database since then, without a start of its server, that counts as another loss an hour later: repeat this then, and release no gateway before.`,
    )
  await settleLoss({ db, raiseNumbers: raisingAfterFailover(Date.now) }, String(id))
}

async function skipBy(db: Database, count: bigint): Promise<void> {
  const [shown] = await listShown(db)
  if (!shown)
    throw conflict(
      'no_failover',
      'No failover was met. Where something is missing all the same, add --lossy.',
      '--skip',
    )
  try {
    await skipFurther(db.unscoped, shown.id, count)
  } catch (error) {
    if ((error as { code?: string }).code !== '22003') throw error
    throw invalid('skip_too_far', `There are no ${count} identifiers left.`, '--skip')
  }
}

async function raiseNumber(
  db: Database,
  { account: id, next }: NextNumber,
  raiseTo: typeof raiseInvoiceNumberTo,
): Promise<void> {
  const account = await findAccount(db.reader(id), id)
  if (!account) throw missing('account_unknown', `There is no account ${id}.`, '--numbers')
  const about = backgroundContext(account, momentOf(account, Date.now), { actor: 'failover' })
  await db.transaction(id, (tx) => raiseTo(tx, about, next))
}

/** A note, and the document that has its number now. */
type Shown = FailoverNote & { numberNowOf: Id | null }

interface Found {
  failover: Failover
  notes: readonly Shown[]
}

const recordOf = ({ account, operation, type, id, number, sentAt, answeredAt, state, numberNowOf }: Shown) => ({
  AccountID: account,
  Operation: operation,
  Type: type,
  ID: id,
  Number: number,
  SentAt: sentAt,
  AnsweredAt: answeredAt,
  State: state,
  NumberNowOf: numberNowOf,
})

const effectOf = ({ account, operation, id, gatewayId, sentAt }: FailoverNote) => ({
  Kind: operation,
  Reference: id,
  At: sentAt,
  AccountID: account,
  gatewayID: gatewayId,
})

const sequencesOf = ({ skipped }: Failover) =>
  Object.entries(skipped).map(([name, [before, after]]) => ({ Name: name, Before: before, After: after }))

const asJson = ({ failover, notes }: Found) => ({
  Lossy: failover.isLossy,
  From: failover.replayedAt,
  To: failover.metAt,
  Timeline: failover.timeline,
  BytesLost: failover.bytesLost,
  Records: notes.filter(({ kind }) => kind === 'change').map(recordOf),
  Sequences: sequencesOf(failover),
  Effects: notes.filter(({ kind }) => kind === 'effect').map(effectOf),
})

const wordsOf = ({ fromTimeline, timeline, metAt }: Failover): string =>
  `the failover from timeline ${fromTimeline} to ${timeline}, met ${metAt}`

function print({ failover, notes }: Found): void {
  const { isLossy, isKnown, replayedAt, bytesLost } = failover
  const what = wordsOf(failover)
  if (!isLossy && !isKnown)
    return printLine(
      `Nobody can tell whether something was lost by ${what}: no process remembered. If it may have been, run this with --lossy.`,
    )
  if (!isLossy) return printLine(`Nothing was lost by ${what}.`)
  const window = replayedAt === null ? '' : `; the last commit that is here is of ${replayedAt}`
  printLine(`Something was lost by ${what}${window}${bytesLost === null ? '' : `; ${bytesLost} bytes of the log`}.`)
  const effects = notes.filter(({ kind }) => kind === 'effect')
  const changes = notes.filter(({ kind }) => kind === 'change')
  if (effects.length > 0) {
    printLine(`\n${plural(effects.length, 'effect')} left before it, of which records may be missing:`)
    printTable(['Kind', 'Reference', 'Gateway', 'Account', 'At'], effects.map(effectCells))
  }
  printLine(`\n${plural(changes.length, 'acknowledged change')} that processes remember, lost or perhaps lost:`)
  if (changes.length > 0) printTable(COLUMNS, changes.map(cellsOf))
  const again = changes.filter(({ numberNowOf }) => numberNowOf !== null).length
  if (again > 0)
    printLine(
      `\nNumbers of lost documents that another document has now (NumberNowOf): ${again}. The process that knew of them came after others had begun to write. Tell whoever has the lost one.`,
    )
  const [first] = sequencesOf(failover)
  if (first) printLine(`\nSequences were set further, as ${first.Name} from ${first.Before} to ${first.After}.`)
}

const effectCells = ({ operation, id, gatewayId, account, sentAt }: FailoverNote): string[] => [
  operation,
  id ?? '',
  String(gatewayId ?? ''),
  String(account),
  sentAt,
]

const COLUMNS = ['AccountID', 'Operation', 'Type', 'ID', 'Number', 'SentAt', 'AnsweredAt', 'State', 'NumberNowOf']

const cellsOf = (note: Shown): string[] => Object.values(recordOf(note)).map((value) => String(value ?? ''))

function printCsv(all: readonly Found[]): void {
  printLine(['Kind', ...COLUMNS, 'gatewayID', 'Timeline'].join(','))
  for (const { failover, notes } of all)
    for (const note of notes)
      printLine(
        [note.kind, ...cellsOf(note), String(note.gatewayId ?? ''), String(failover.timeline)].map(quoted).join(','),
      )
}
