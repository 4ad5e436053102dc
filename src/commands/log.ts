import { missing } from '../kernel/fault.ts'
import { plural } from '../kernel/text.ts'
import type { LogLevel } from '../platform/log-level.ts'
import { wishLevel } from '../platform/processes/queries.ts'
import { type CommandContext, withDatabaseAsItIs } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { printJson, printLine } from './output.ts'

/** `perennial log`: changes how much live processes log, on whichever machine. */
export async function logCommand(
  context: CommandContext,
  { level, process, minutes }: { level: LogLevel; process: string | null; minutes: number },
): Promise<number> {
  const reached = await withDatabaseAsItIs(context, (db) => wishLevel(db.unscoped, process, level, minutes))
  if (reached.length === 0)
    throw missing(
      'process_gone',
      process === null
        ? 'No process is live.'
        : `The process ${process} is not live: "perennial processes" lists those that are.`,
    )
  if (context.isJson)
    printJson(reached.map(({ id, kind, host, pid }) => ({ ProcessID: id, Kind: kind, Host: host, Pid: pid })))
  else
    for (const { kind, host, pid } of reached)
      printLine(`${kind} ${host}:${pid} logs at ${level} for ${plural(minutes, 'minute')}.`)
  return EXIT.done
}
