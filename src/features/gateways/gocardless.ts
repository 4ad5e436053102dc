import { textIn } from './answer-objects.ts'
import type { Calling } from './calling.ts'
import type { AccountAnswer, GatewayAdapter, GatewayCall } from './contract.ts'
import { GOCARDLESS } from './facts.ts'
import { gocardlessApi, listAll } from './gocardless-api.ts'
import { gocardlessMandates } from './gocardless-mandates.ts'
import { gocardlessPayments } from './gocardless-payments.ts'
import { gocardlessRefunds } from './gocardless-refunds.ts'
import { gocardlessReports, readGoCardlessReport } from './gocardless-reports.ts'

/** Bank accounts debited by GoCardless (§38), which keeps them with their mandates. */

/** Origins of the pages on which payers give mandates. */
const PAGES = { live: 'https://pay.gocardless.com', test: 'https://pay-sandbox.gocardless.com' } as const

export function gocardlessAdapter(calling: Calling): GatewayAdapter {
  const api = gocardlessApi(calling)
  return {
    ...GOCARDLESS,
    check: async (call: GatewayCall): Promise<AccountAnswer> => {
      const answer = await listAll(api, call, 'creditors', {})
      if (answer.kind === 'ok')
        return creditorAnswer(
          call,
          answer.objects.map((one) => textIn(one, 'id')),
        )
      if (answer.kind !== 'not_sent') return { kind: 'unknown' }
      return answer.refused?.by === 'key'
        ? { kind: 'refused', reason: 'The gateway does not accept AccessToken.' }
        : { kind: 'not_sent' }
    },
    mandateOrigins: { ...PAGES, test: calling.endpoints.gocardless ?? PAGES.test },
    ...gocardlessMandates(api, calling),
    ...gocardlessPayments(api, calling),
    ...gocardlessRefunds(api, calling),
    ...gocardlessReports(api),
    readReport: readGoCardlessReport,
  }
}

/** Rule: a token with several creditors needs the ID of the one whose mandates these are. */
function creditorAnswer({ settings: { CreditorID } }: GatewayCall, creditors: readonly string[]): AccountAnswer {
  const [one, ...others] = creditors
  if (CreditorID === undefined && others.length > 0)
    return { kind: 'refused', reason: 'The AccessToken has several creditors: send the ID of one as CreditorID.' }
  const found = CreditorID === undefined ? one : creditors.find((id) => id === CreditorID)
  return found === undefined
    ? { kind: 'refused', reason: 'The AccessToken does not have this creditor.' }
    : { kind: 'accepted', account: found }
}
