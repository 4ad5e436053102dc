import type pg from 'pg'
import { cautionOf, describeCluster, refusalOf } from '../database/cluster.ts'
import { lackingOn, type NodeLack } from '../database/distribution.ts'
import { broken, doubtful, fine, type Finding } from './finding.ts'

/** A cluster of Citus: whether its coordinator is what the settings name, its workers are reached, and each has the roles and functions that it needs. */

const ABOUT = 'Citus'

export interface ClusterFindings {
  findings: Finding[]
  /** Accounts can be read: all of the workers are there, or there is none. */
  hasAccounts: boolean
}

/** Checks the cluster that a connection of a login leads to; `isOurs` if its login may see what is the service's. Nothing is found where there is no Citus. */
export async function checkCluster(client: pg.Client, isOurs: boolean): Promise<ClusterFindings> {
  const cluster = await describeCluster(client)
  if (!cluster) return { findings: [], hasAccounts: true }
  const refusal = refusalOf(cluster)
  if (refusal !== undefined)
    return { findings: [broken(ABOUT, refusal, 'docs/operate/citus.md')], hasAccounts: !cluster.isWorker }
  const caution = cautionOf(cluster)
  const { version, workers, distributed } = cluster
  const findings = [
    fine(ABOUT, `version ${version}, ${distributed > 0 ? `accounts on ${workers} workers` : 'no accounts on workers'}`),
    ...(caution === undefined ? [] : [doubtful(ABOUT, caution, 'use PostgreSQL 15')]),
  ]
  if (distributed === 0 || !isOurs) return { findings, hasAccounts: true }
  const lacks = await lackingOn(client)
  return {
    findings: [...findings, ...lacks.map(findingOf)],
    hasAccounts: lacks.every(({ isAway }) => !isAway),
  }
}

function findingOf({ node, isAway, lacks }: NodeLack): Finding {
  const about = `worker ${node}`
  if (isAway)
    return broken(
      about,
      'is not reached by the coordinator: its accounts get 503, and what reads all accounts was not checked',
      'start it, and let it take connections of the coordinator',
    )
  if (lacks === null) return fine(about, 'is reached by the coordinator')
  if (lacks.length === 0) return fine(about, 'has the roles and functions that it needs')
  return broken(
    about,
    `lacks ${lacks.join(', ')}`,
    'run on the coordinator, as superuser:  select start_metadata_sync_to_all_nodes();',
  )
}
