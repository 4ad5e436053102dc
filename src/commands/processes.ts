import { listProcesses, type ListedProcess } from '../platform/processes/queries.ts'
import { type CommandContext, withDatabaseAsItIs } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { printJson, printLine, printTable } from './output.ts'

/** `perennial processes`: the live processes of the service on the database, on whichever machine. */
export async function processesCommand(context: CommandContext): Promise<number> {
  const processes = (await withDatabaseAsItIs(context, (db) => listProcesses(db.unscoped))).filter(
    ({ isLive }) => isLive,
  )
  if (context.isJson) printJson(processes.map(asJson))
  else if (processes.length === 0) printLine('No process is live.')
  else
    printTable(
      ['Kind', 'Host', 'Pid', 'Version', 'Schema', 'State', 'Started', 'Seen', 'Log', 'ID'],
      processes.map(({ kind, host, pid, version, schema, state, startedAt, seenAt, logLevel, id }) => [
        kind,
        host,
        String(pid),
        version,
        String(schema),
        state,
        startedAt,
        seenAt,
        logLevel,
        id,
      ]),
    )
  return EXIT.done
}

const asJson = ({ id, kind, host, pid, version, schema, state, startedAt, seenAt, logLevel }: ListedProcess) => ({
  ProcessID: id,
  Kind: kind,
  Host: host,
  Pid: pid,
  Version: version,
  Schema: schema,
  State: state,
  StartedAt: startedAt,
  SeenAt: seenAt,
  LogLevel: logLevel,
})
