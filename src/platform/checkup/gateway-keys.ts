import type pg from 'pg'
import { hasFunction } from '../database/is-there.ts'
import { doubtful, fine, type Finding } from './finding.ts'

/** Gateways that are called with a secret key: of which mode and account, and when they reported last. */

interface Row {
  id: string
  account: string
  type: string
  mode: string
  there: string | null
  state: 'refused' | 'unanswered' | null
  /** As the driver reads moments: a text in the program. */
  reportedAt: Date | string | null
  reportedBy: 'webhook' | 'polling' | null
}

export async function checkGatewayKeys(client: pg.Client): Promise<Finding[]> {
  if (!(await hasFunction(client, 'perennial.list_gateways_with_keys()'))) return []
  const { rows } = await client.query<Row>(
    `select gateway_id::text as "id", account_id::text as "account", type, mode, gateway_account as "there", key_state as "state",
            reported_at as "reportedAt", reported_by as "reportedBy" from perennial.list_gateways_with_keys()`,
  )
  return rows.map(findingOf)
}

function findingOf({ id, account, type, mode, there, state, reportedAt, reportedBy }: Row): Finding {
  const keys = `gateway ${id} of account ${account} (${type}) has keys of the ${mode} mode`
  const whose = there === null ? 'whose account there is not known' : `of ${there}`
  if (state !== null)
    return doubtful(
      'gateways',
      `${keys}, ${whose}, which ${state === 'refused' ? 'it does not accept' : 'it has not answered about yet'}: no money moves through it`,
      `it is asked again; otherwise send another key: PUT /v1/gateways/${id}`,
    )
  const last =
    reportedAt === null
      ? 'nothing was reported yet'
      : `the last report came ${new Date(reportedAt).toISOString()} by ${reportedBy}`
  return fine('gateways', `${keys}, ${whose}; ${last}`)
}
