import { join } from 'node:path'
import type { Connection } from '../platform/database/database.ts'
import { listPending } from '../platform/database/migrations.ts'
import { connectedBefore } from '../platform/database/open.ts'
import { nameOfProcess } from '../platform/database/schema-numbers.ts'
import { hasDatabase } from '../platform/postgres/data-folder.ts'
import { type CommandContext, openForCommand, quietLog } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { printJson, printLine } from './output.ts'

/** `perennial migrate`: brings the schema up to date and starts nothing else, so that a release can do it as a step of its own. */
export async function migrateCommand(
  context: CommandContext,
  { dryRun = false, maintenance = false }: { dryRun?: boolean; maintenance?: boolean },
): Promise<number> {
  if (dryRun) return listCommand(context)
  const opened = await openForCommand(context, { makes: true }, { inMaintenance: maintenance })
  await opened.close()
  if (context.isJson) printJson({ Migrated: opened.migrated })
  else if (opened.migrated.length === 0) printLine('The database is up to date.')
  else for (const name of opened.migrated) printLine(`ran ${name}`)
  if (maintenance && !context.isJson && opened.migrated.length > 0)
    printLine('Processes of the version before refuse all work now: replace each of them by this one.')
  return EXIT.done
}

/** Lists what would run, and beside whom it cannot. */
async function listCommand(context: CommandContext): Promise<number> {
  const { config, root } = context
  const list = (connection?: Connection) => listPending(connection, join(root, 'db', 'migrations'))
  const isNew = config.databaseUrl === undefined && !hasDatabase(config.dataDir)
  const { pending, live } = isNew ? await list() : await connectedBefore(config, quietLog(context), list)
  const least = Math.max(0, ...pending.map((one) => one.least))
  const stopped = live.filter(({ schema }) => schema < least)
  if (context.isJson) {
    const lacking = pending.map(({ name, least: Least, isRolling: IsRolling }) => ({ Name: name, Least, IsRolling }))
    printJson({
      Pending: lacking,
      CannotRunBeside: stopped.map(({ host: Host, pid: Pid, kind: Kind, version: Version }) => ({
        Kind,
        Host,
        Pid,
        Version,
      })),
    })
    return EXIT.done
  }
  if (pending.length === 0) printLine('The database is up to date.')
  for (const { name, isRolling, least: needed } of pending)
    printLine(isRolling ? `${name}  rolling` : `${name}  not rolling: processes must know migration ${needed}`)
  for (const one of stopped) printLine(`cannot run beside: ${nameOfProcess(one)}`)
  return EXIT.done
}
