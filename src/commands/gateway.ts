import { reportLostCard } from '../features/gateway-reports/receive.ts'
import { makeAdapters } from '../features/gateways/adapters.ts'
import { askGateway } from '../features/gateways/call.ts'
import type { AccountAnswer } from '../features/gateways/contract.ts'
import { type Gateway, listAllGateways } from '../features/gateways/queries.ts'
import { momentOf } from '../kernel/context.ts'
import { missing } from '../kernel/fault.ts'
import type { AccountId, Id } from '../kernel/ids.ts'
import { chosenAccount } from './chosen-account.ts'
import { callingOf } from './calling.ts'
import { type CommandContext, withDatabase } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { printJson, printTable } from './output.ts'

/** `perennial gateway …`: what an operator asks of gateways themselves. */

const WORDS = { accepted: 'accepts the Settings', refused: 'refused', unknown: 'no answer', not_sent: 'not reached' }

/** Asks one gateway of an account, or each of them, whether it answers and accepts its Settings. */
export async function testGatewaysCommand(
  context: CommandContext,
  named: { account: AccountId | undefined; gateway: Id | undefined },
): Promise<number> {
  const asked = await withDatabase(context, async (db, opened) => {
    const account = await chosenAccount(db, named.account)
    const gateways = (await listAllGateways(db.reader(account.id), account.id)).filter(
      ({ id }) => named.gateway === undefined || id === named.gateway,
    )
    if (named.gateway !== undefined && gateways.length === 0)
      throw missing('gateway_unknown', `Account ${account.id} has no gateway ${named.gateway}.`)
    const envelope = await opened.openEnvelope()
    const deps = {
      envelope,
      adapters: makeAdapters({ db, envelope, calling: callingOf(context.config, db), onCardGone: reportLostCard }),
    }
    const about = { account, moment: momentOf(account, Date.now) }
    return Promise.all(
      gateways.map(async (gateway) => ({
        gateway,
        answer: await askGateway(deps, about, gateway, (adapter, call) => adapter.check(call)),
      })),
    )
  })
  if (context.isJson) printJson(asked.map(asJson))
  else
    printTable(
      ['Gateway', 'Type', 'Name', 'Answer'],
      asked.map(({ gateway, answer }) => [
        String(gateway.id),
        gateway.type,
        gateway.friendlyName,
        answer.kind === 'refused' ? `refused: ${answer.reason}` : WORDS[answer.kind],
      ]),
    )
  return asked.every(({ answer }) => answer.kind === 'accepted') ? EXIT.done : EXIT.failed
}

const asJson = ({ gateway, answer }: { gateway: Gateway; answer: AccountAnswer }) => ({
  gatewayID: gateway.id,
  GatewayType: gateway.type,
  FriendlyName: gateway.friendlyName,
  Answer: answer.kind,
  Reason: answer.kind === 'refused' ? answer.reason : null,
})
