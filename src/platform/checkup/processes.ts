import type pg from 'pg'
import { hasFunction } from '../database/is-there.ts'
import { differencesTo, sentenceOf } from '../processes/equal-settings.ts'
import type { ListedProcess, ProcessKind } from '../processes/queries.ts'
import { doubtful, fine, type Finding } from './finding.ts'

/** The live processes on a database, and whether they agree in what must be equal. */

/** Lists who is there, and each setting in which two live processes differ, once. */
export async function checkProcesses(client: pg.Client, connections: Connections): Promise<Finding[]> {
  if (!(await hasFunction(client, 'perennial.list_processes()'))) return []
  const { rows } = await client.query<ListedProcess>(
    `select process_id::text as "id", kind, host, pid, version, schema, state, is_live as "isLive", settings from perennial.list_processes()`,
  )
  return processFindings(
    rows.filter(({ isLive }) => isLive),
    connections,
  )
}

/** Connections that one process of each kind opens at most, those of the server, and those to be left for the command line and a backup. */
export interface Connections {
  ofProcess: Readonly<Record<ProcessKind, number>>
  ofServer: number
  spare: number
}

/** Makes the findings about live processes. */
export function processFindings(
  live: readonly ListedProcess[],
  { ofProcess, ofServer, spare }: Connections,
): Finding[] {
  if (live.length === 0) return []
  const counts = new Map<string, number>()
  for (const { kind, version } of live) {
    const name = `${kind} ${version}`
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  const there = [...counts].map(([name, count]) => `${count} × ${name}`).join(', ')
  const named = new Set<string>()
  const differences = live.flatMap((one) =>
    differencesTo(one, live).flatMap((difference) => {
      if (named.has(difference.setting)) return []
      named.add(difference.setting)
      return [
        doubtful(
          'processes',
          `in ${one.host}:${one.pid} ${sentenceOf(difference)}`,
          'set it to the same everywhere, and start them anew',
        ),
      ]
    }),
  )
  const wanted = live.reduce((sum, { kind }) => sum + ofProcess[kind], 0)
  const text = `live on this database: ${there}; together they open up to ${wanted} connections of the ${ofServer} that the server has`
  const count =
    wanted + spare > ofServer
      ? doubtful('processes', text, 'raise max_connections, or lower DATABASE_POOL')
      : fine('processes', text)
  return [count, ...statesOf(live), ...differences]
}

/** States in which a process refuses requests and begins no duty, and what ends them. */
const IDLE_STATES = {
  outdated: 'start the version of the program that migrated the database in their place',
  maintenance: '"perennial maintenance" shows until when, "perennial maintenance off" ends it',
} as const

const statesOf = (live: readonly ListedProcess[]): Finding[] =>
  Object.entries(IDLE_STATES).flatMap(([state, mend]) => {
    const found = live.filter((one) => one.state === state).map(({ kind, host, pid }) => `${kind} ${host}:${pid}`)
    return found.length === 0 ? [] : [doubtful('processes', `no work is done (${state}) by ${found.join(', ')}`, mend)]
  })
