import { type CommandContext, openForCommand } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { printJson, printLine } from './output.ts'

/** `perennial migrate`: brings the schema up to date and starts nothing else, so that a release can do it as a step of its own. */
export async function migrateCommand(context: CommandContext): Promise<number> {
  const opened = await openForCommand(context, { makes: true })
  await opened.close()
  if (context.isJson) printJson({ Migrated: opened.migrated })
  else if (opened.migrated.length === 0) printLine('The database is up to date.')
  else for (const name of opened.migrated) printLine(`ran ${name}`)
  return EXIT.done
}
