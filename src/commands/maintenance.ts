import { beginMaintenance, endMaintenance, maintenanceUntil } from '../platform/database/maintenance.ts'
import { type CommandContext, withDatabaseAsItIs } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { printJson, printLine } from './output.ts'

/** `perennial maintenance`: shows, begins or ends the time in which no process of the service takes work. */
export async function maintenanceCommand(
  context: CommandContext,
  { state, minutes }: { state: 'on' | 'off' | undefined; minutes: number },
): Promise<number> {
  const until = await withDatabaseAsItIs(context, ({ unscoped }) => {
    if (state === 'on') return beginMaintenance(unscoped, minutes)
    return state === 'off' ? endMaintenance(unscoped) : maintenanceUntil(unscoped)
  })
  if (context.isJson) printJson({ Until: until })
  else if (until === null) printLine(state === 'off' ? 'Maintenance is over.' : 'The service is not in maintenance.')
  else printLine(`The service is in maintenance until ${until}${HINTS[state ?? 'show']}.`)
  return EXIT.done
}

const HINTS = {
  show: '',
  on: '; "perennial maintenance off" ends it before',
  off: ': migrations are at work, which end it themselves',
}
