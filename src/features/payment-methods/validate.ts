import type { RequestContext } from '../../kernel/context.ts'
import { conflict, Fault, invalid } from '../../kernel/fault.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { type Answer, noContent } from '../../platform/http/answer.ts'
import { lockCustomer } from '../customers/queries.ts'
import { askGateway, type GatewayDeps } from '../gateways/call.ts'
import type { AccountAnswer } from '../gateways/contract.ts'
import { gatewayFactsOf } from '../gateways/facts.ts'
import type { Gateway } from '../gateways/queries.ts'
import { kindsOf, refuseUnready } from '../gateways/rules.ts'
import { numberHash, type OnMethodChanged } from './actions.ts'
import type { CheckedAccount } from './checks.ts'
import { listMethodsOf, updateMethodState } from './queries.ts'
import { recordMethod } from './record.ts'
import type { ValidationBody } from './wire.ts'

/** Asking a gateway about a bank account, stored or not. */

/** Refuses a gateway that takes no such accounts, or is not in use. */
export function refuseGateway(gateway: Gateway, { kind }: CheckedAccount): void {
  refuseUnready(gateway)
  if (!kindsOf(gateway).includes(kind))
    throw conflict('gateway_unfit', `The gateway ${gateway.id} takes no ${kind} accounts.`, 'gatewayID')
  if (gatewayFactsOf(gateway.type).keepsAccounts)
    throw conflict('gateway_unfit', `The gateway ${gateway.id} takes accounts by its own page alone.`, 'gatewayID')
}

/** Answer of a gateway that has no online check: format and check sums were looked at, and nothing else is known. */
interface NotChecked {
  kind: 'not_checked'
}

export const askAboutAccount = (
  deps: GatewayDeps,
  context: RequestContext,
  gateway: Gateway,
  checked: CheckedAccount,
  { BankAccount: body }: ValidationBody,
): Promise<AccountAnswer | NotChecked> =>
  askGateway<AccountAnswer | NotChecked>(deps, context, gateway, async (adapter, call) => {
    if (!adapter.verifyAccount) return { kind: 'not_checked' }
    const { kind, number, branchCode, routingNumber, bic } = checked
    return adapter.verifyAccount(call, {
      kind,
      accountType: body.AccountType,
      accountHolder: body.AccountHolder,
      bank: body.Bank,
      accountNumber: kind === 'sepa' ? null : number,
      iban: kind === 'sepa' ? number : null,
      branchCode,
      routingNumber,
      bic,
    })
  })

/** Writes the answer into the stored method of the customer with the same number and kind, if there is one. */
export async function finishValidation(
  tx: Transaction,
  context: RequestContext,
  deps: GatewayDeps & { onMethodChanged: OnMethodChanged },
  { customerID }: ValidationBody,
  checked: CheckedAccount,
  outcome: AccountAnswer | NotChecked,
): Promise<Answer | Fault> {
  if (outcome.kind === 'not_checked') return noContent()
  if (outcome.kind !== 'accepted' && outcome.kind !== 'refused')
    return new Fault(
      'unavailable',
      [{ code: 'gateway_no_answer', message: 'The gateway gave no answer; try again.', field: null }],
      5,
    )
  if (customerID != null && (await lockCustomer(tx, tx.account, customerID))) {
    const hash = numberHash(deps.envelope, tx.account, checked)
    const state = outcome.kind === 'accepted' ? 'verified' : 'rejected'
    for (const method of await listMethodsOf(tx, tx.account, customerID)) {
      if (!method.numberHash?.equals(hash) || method.state === state) continue
      await updateMethodState(tx, method.id, state)
      await recordMethod(tx, context, 'payment_method.validated', method.id)
      await deps.onMethodChanged(tx, context, method)
    }
  }
  return outcome.kind === 'accepted'
    ? noContent()
    : invalid('bank_account_refused', `The gateway refused the account: ${outcome.reason}`, 'BankAccount')
}
