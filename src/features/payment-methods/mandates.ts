import type { IsoDate } from '../../kernel/calendar.ts'
import { conflict } from '../../kernel/fault.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { gatewayFactsOf } from '../gateways/facts.ts'
import type { Gateway } from '../gateways/queries.ts'
import { listMandateUses, type MandateUse, NEVER_USED, type StoredMethod } from './queries.ts'
import { mandateProblem, type MandateProblem } from './rules.ts'

/** Mandates of SEPA: what gateways that name them to the bank need of a method. */

/** Returns when the mandate of each method was last used, and the account that its bank knows, in one statement for any number. */
export async function mandateUsesOf(
  db: Queryable,
  account: AccountId,
  methods: readonly Pick<StoredMethod, 'id'>[],
): Promise<Map<bigint, MandateUse>> {
  if (methods.length === 0) return new Map()
  const uses = await listMandateUses(
    db,
    account,
    methods.map(({ id }) => id),
  )
  return new Map(uses.map((use) => [use.id, use]))
}

type MandatedMethod = Pick<StoredMethod, 'id' | 'mandateReference' | 'mandateDate'>

/** Returns why a method cannot be debited on a day through a gateway that needs a mandate; null where it can. */
export async function mandateProblemOn(
  db: Queryable,
  account: AccountId,
  gateway: Pick<Gateway, 'type'>,
  method: MandatedMethod,
  actionDate: IsoDate,
): Promise<MandateProblem | null> {
  if (!gatewayFactsOf(gateway.type).needsMandates) return null
  const use = (await mandateUsesOf(db, account, [method])).get(method.id) ?? NEVER_USED
  return mandateProblem(method, use.lastUsedOn, actionDate)
}

/**
 * Throws a conflict where a gateway needs a mandate for a debit on a day and the method has none that serves: `mandate_missing`,
 * `mandate_lapsed`, or `mandate_unfit`.
 */
export async function refuseMandate(
  db: Queryable,
  account: AccountId,
  gateway: Pick<Gateway, 'type'>,
  method: MandatedMethod,
  actionDate: IsoDate,
): Promise<void> {
  const problem = await mandateProblemOn(db, account, gateway, method, actionDate)
  if (problem)
    throw conflict(problem.code, `Payment method ${method.id} cannot be debited: ${problem.message}`, 'paymentMethodID')
}
