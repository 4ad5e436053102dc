import { getAccount } from '../features/accounts/queries.ts'
import { reportLostCard } from '../features/gateway-reports/receive.ts'
import { makeAdapters } from '../features/gateways/adapters.ts'
import { askGateway } from '../features/gateways/call.ts'
import type { TriedStep } from '../features/gateways/contract.ts'
import { findGateway } from '../features/gateways/queries.ts'
import { currenciesOf, refuseStopped } from '../features/gateways/rules.ts'
import { momentOf } from '../kernel/context.ts'
import { conflict, missing } from '../kernel/fault.ts'
import type { AccountId, Id } from '../kernel/ids.ts'
import { callingOf } from './calling.ts'
import { chosenAccount } from './chosen-account.ts'
import { type CommandContext, withDatabase } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { printJson, printLine } from './output.ts'

/** `perennial gateway try`: a charge from its beginning to its report, by keys for tests. Nothing of it is written into the books. */

/** A trial waits for a report; more than that it never takes, in milliseconds. */
const PATIENCE_MS = 300_000

/** Tries a gateway of a test account out, and prints each step with the gateway's names of its requests. Answers 1 where one went wrong. */
export async function tryGatewayCommand(
  context: CommandContext,
  named: { account: AccountId | undefined; gateway: Id },
): Promise<number> {
  const isRight = await withDatabase(context, async (db, opened) => {
    const { id } = await chosenAccount(db, named.account)
    const account = await getAccount(db.reader(id), id)
    const gateway = await findGateway(db.reader(id), id, named.gateway)
    if (!gateway) throw missing('gateway_unknown', `Account ${id} has no gateway ${named.gateway}.`)
    if (account.mode === 'live')
      throw conflict(
        'gateway_live',
        `A trial charges a card: it is for keys of tests alone. "perennial gateway test ${gateway.id}" asks whether the keys of a live account are accepted.`,
      )
    if (gateway.heldFor !== null) refuseStopped(gateway)
    const envelope = await opened.openEnvelope()
    const calling = callingOf(context.config, db)
    const deps = { envelope, adapters: makeAdapters({ db, envelope, calling, onCardGone: reportLostCard }) }
    const about = { account, moment: momentOf(account, Date.now) }
    const onStep = (step: TriedStep) => print(step, context.isJson)
    const ended = await askGateway(
      deps,
      about,
      gateway,
      async (adapter, call) => {
        if (adapter.tryOut) return adapter.tryOut(call, { currency: currenciesOf(gateway)[0] ?? 'USD', onStep })
        const isAccepted = (await adapter.check(call)).kind === 'accepted'
        onStep({ what: 'the Settings are accepted', isRight: isAccepted, requests: [] })
        return { kind: 'tried', isRight: isAccepted } as const
      },
      { patienceMs: PATIENCE_MS },
    )
    return ended.kind === 'tried' && ended.isRight
  })
  return isRight ? EXIT.done : EXIT.failed
}

function print({ what, isRight, requests }: TriedStep, isJson: boolean): void {
  if (isJson) return printJson({ Step: what, isRight, Requests: requests })
  printLine(`${isRight ? 'ok  ' : 'FAIL'}  ${what}`)
  for (const request of requests) printLine(`        ${request}`)
}
