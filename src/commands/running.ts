import { LONG_KINDS, KIND_WORDS, type LongKind } from '../platform/long/kinds.ts'
import { type ListedOperation, listLongOperations } from '../platform/long/queries.ts'
import { type CommandContext, withDatabaseAsItIs } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { printJson, printLine, printTable } from './output.ts'

/** `perennial running`: the long operations of all processes on the database. */

export async function runningCommand(context: CommandContext): Promise<number> {
  const operations = await withDatabaseAsItIs(context, (db) => listLongOperations(db.unscoped))
  const running = operations.filter(({ state }) => state === 'running')
  const waiting = countWaiting(operations)
  if (context.isJson) {
    printJson({ Running: running.map(asJson), Waiting: Object.fromEntries(waiting) })
    return EXIT.done
  }
  if (running.length === 0) printLine('Nothing long runs.')
  else printTable(['Account', 'What', 'ID', 'Since', 'Seconds', 'Done', 'Process'], running.map(asRow))
  const words = [...waiting].flatMap(([kind, count]) => (count === 0 ? [] : [`${KIND_WORDS[kind]} (${count})`]))
  if (words.length > 0) printLine(`Waiting: ${words.join(', ')}.`)
  return EXIT.done
}

const countWaiting = (operations: readonly ListedOperation[]): Map<LongKind, number> =>
  new Map(
    LONG_KINDS.map((kind) => [kind, operations.filter((one) => one.kind === kind && one.state === 'waiting').length]),
  )

const asJson = ({ account, kind, about, begunAt, seconds, done, total, process }: ListedOperation) => ({
  AccountID: account,
  Kind: kind,
  ID: about === null ? null : Number(about),
  Since: begunAt,
  Seconds: Math.round(seconds),
  Done: done,
  Total: total,
  Process: process,
})

/** Returns the word for one operation of a kind in the table. */
const nameOf = (kind: LongKind): string => kind.replace('_', ' ')

function asRow({ account, kind, about, begunAt, seconds, done, total, process }: ListedOperation): string[] {
  const far = done === null ? '' : total === null ? String(done) : `${done} of ${total}`
  return [
    account === null ? '' : String(account),
    nameOf(kind),
    about ?? '',
    begunAt,
    String(Math.round(seconds)),
    far,
    process ?? '',
  ]
}
