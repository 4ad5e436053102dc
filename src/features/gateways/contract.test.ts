import { createHmac } from 'node:crypto'
import { describe } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'
import { achFile } from './ach-file.ts'
import { COMPANY } from './company.testing.ts'
import { testContract } from './contract.testing.ts'
import { callOf } from './calls.testing.ts'
import type { ChargingCall } from './contract.ts'
import { manual } from './manual.ts'
import { sandboxAdapter, sandboxReport } from './sandbox.ts'
import { sepaFile } from './sepa-file.ts'

/** Every adapter is held to the one contract. */

const service = await startTestService()
const keyedHash = (text: string) => createHmac('sha256', 'key of this test').update(text).digest()
const TODAY = '2027-01-31'
let gateways = 0n

const callWith = (settings: Record<string, unknown>) => async (): Promise<ChargingCall> => {
  const { id: accountId } = await service.newAccount()
  gateways += 1n
  return callOf({ accountId, gatewayId: gateways, settings, now: `${TODAY}T08:00:00.000Z`, today: TODAY })
}

describe('the contract of gateways', () => {
  testContract({
    type: 'sandbox',
    make: () => sandboxAdapter(service.db, keyedHash),
    newCall: callWith({ EventSecret: 'secret of reports' }),
    cards: { approved: '4242424242424242', declined: '4000000000009995', refusedAtStoring: '4000000000000002' },
    paid: ({ accountId, gatewayId }) =>
      service.db.reader(accountId).count(sql`
        select count(*) as "n" from sandbox_charges where account_id = ${accountId} and gateway_id = ${gatewayId} and state = 'succeeded'`),
    refundThere: async ({ accountId, today }, { reference }, amountMinor) => {
      await service.db.transaction(accountId, (tx) =>
        tx.rows(sql`
          update sandbox_charges set refunded_on = ${today}, refunded_minor = ${amountMinor}
           where account_id = ${accountId} and reference = ${reference}`),
      )
    },
    signed: (call, reports) => sandboxReport(call, keyedHash, reports, call.now),
    secrets: ['secret of reports'],
  })
  testContract({ type: 'manual', make: () => manual, newCall: callWith({}) })
  testContract({
    type: 'sepa-file',
    make: () => sepaFile,
    newCall: callWith({
      CreditorName: 'Acme',
      CreditorIBAN: 'DE89370400440532013000',
      CreditorBIC: 'COBADEFFXXX',
      CreditorIdentifier: 'DE98ZZZ09999999999',
    }),
    secrets: ['DE89370400440532013000', 'DE98ZZZ09999999999'],
  })
  testContract({ type: 'ach-file', make: () => achFile, newCall: callWith(COMPANY), secrets: ['1234567890'] })
})
