import type pg from 'pg'
import { nodesFrom } from '../database/away-nodes.ts'
import { cautionOf, describeCluster, refusalOf } from '../database/cluster.ts'
import type { Connection } from '../database/database.ts'
import { lackingOn } from '../database/distribution.ts'
import { clientConfig } from '../database/open-database.ts'
import { roleWithoutLogin } from '../database/reached.ts'
import { SCOPES } from '../database/scoped-query.ts'
import { broken, doubtful, fine, type Finding } from './finding.ts'

/** A cluster of Citus: whether its coordinator is what the settings name, its workers let in whom they must, and each has the roles and functions that it needs. */

const ABOUT = 'Citus'

export interface ClusterFindings {
  findings: Finding[]
  /** The server is a worker: nothing else is to be asked of it. */
  isWorker: boolean
  /** Accounts can be read: all of the workers are there, or there is none. */
  hasAccounts: boolean
}

/** How a database is asked: at its address, under the roles that work on its workers; none where the login may not take them. */
export interface AskedCluster {
  connection: Connection
  roles: readonly string[]
}

/** Checks the cluster that a connection of a login leads to. Nothing is found where there is no Citus. */
export async function checkCluster(client: pg.Client, { connection, roles }: AskedCluster): Promise<ClusterFindings> {
  const cluster = await describeCluster(client)
  if (!cluster) return { findings: [], isWorker: false, hasAccounts: true }
  const { isWorker } = cluster
  const refusal = refusalOf(cluster)
  if (refusal !== undefined)
    return { findings: [broken(ABOUT, refusal, 'docs/operate/citus.md')], isWorker, hasAccounts: !isWorker }
  const caution = cautionOf(cluster)
  const { version, workers, distributed } = cluster
  const findings = [
    fine(ABOUT, `version ${version}, ${distributed > 0 ? `accounts on ${workers} workers` : 'no accounts on workers'}`),
    ...(caution === undefined ? [] : [doubtful(ABOUT, caution, 'use PostgreSQL 15')]),
  ]
  if (distributed === 0 || roles.length === 0) return { findings, isWorker, hasAccounts: true }
  const entries = await tryEntries(connection, roles)
  const isCompared = entries.every(({ isOpenToLogin, refused }) => isOpenToLogin && refused.length === 0)
  const lacks = new Map(isCompared ? (await lackingOn(client)).map((one) => [one.node, one.lacks]) : [])
  return {
    findings: [...findings, ...entries.map((entry) => findingOf(entry, lacks.get(entry.node)))],
    isWorker,
    hasAccounts: entries.every(({ refused }) => refused.length === 0),
  }
}

/** A worker, and whom of those who ask it does not let in. */
interface Entry {
  node: string
  isOpenToLogin: boolean
  refused: { role: string; reason: string | null }[]
  isOpenToAny: boolean
}

/** Asks for all workers under the login and each of the roles, at the same time: one that is silent takes its time once. */
async function tryEntries(connection: Connection, roles: readonly string[]): Promise<Entry[]> {
  const [byLogin, ...byRole] = await Promise.all(
    [undefined, ...roles].map((role) => nodesFrom(clientConfig(connection, role), SCOPES.citus.nodes)),
  )
  return (byLogin ?? []).map(({ name, isUp }, place) => {
    const refused = roles.flatMap((role, number) => {
      const found = byRole[number]?.[place]
      return found?.isUp ? [] : [{ role, reason: found?.reason ?? null }]
    })
    return { node: name, isOpenToLogin: isUp, refused, isOpenToAny: isUp || refused.length < roles.length }
  })
}

function findingOf({ node, refused, isOpenToAny }: Entry, lacks: readonly string[] | undefined): Finding {
  const about = `worker ${node}`
  const [first] = refused
  const without = refused.flatMap(({ reason }) => roleWithoutLogin(reason ?? '') ?? [])
  if (without.length > 0)
    return broken(
      about,
      `refuses: ${without.map((role) => `role "${role}" is not permitted to log in`).join(', ')}`,
      `run on the coordinator, which passes it on:  ${without.map((role) => `alter role ${role} login;`).join(' ')}`,
    )
  if (first && isOpenToAny)
    return broken(
      about,
      `does not let ${refused.map(({ role }) => role).join(' and ')} in from the coordinator${inBrackets(first.reason)}: its accounts get 503`,
      'let it in by pg_hba.conf of the worker; a password that it asks for stands in pg_dist_authinfo of all servers',
    )
  if (first)
    return broken(
      about,
      `is not reached by the coordinator${inBrackets(first.reason)}: its accounts get 503, and what reads all accounts was not checked`,
      'start it, and let it take connections of the coordinator',
    )
  if (lacks === undefined) return fine(about, 'is reached by the coordinator')
  if (lacks.length === 0) return fine(about, 'has the roles and functions that it needs')
  return broken(
    about,
    `lacks ${lacks.join(', ')}`,
    'run on the coordinator, as superuser:  select start_metadata_sync_to_all_nodes();',
  )
}

const inBrackets = (reason: string | null): string => (reason === null ? '' : ` (${reason})`)
