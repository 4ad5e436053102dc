import { addMonths, type IsoDate, later } from '../../kernel/calendar.ts'
import { conflict } from '../../kernel/fault.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { isSepaReference } from '../../rails/sepa/characters.ts'
import { gatewayFactsOf, type MandateRule } from '../gateways/facts.ts'
import type { Gateway } from '../gateways/queries.ts'
import { listMandateUses, type MandateUse, NEVER_USED, type StoredMethod } from './queries.ts'

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
  const { needsMandates } = gatewayFactsOf(gateway.type)
  if (!needsMandates) return null
  const use = (await mandateUsesOf(db, account, [method])).get(method.id) ?? NEVER_USED
  return mandateProblem(needsMandates, method, use.lastUsedOn, actionDate)
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

const MANDATE_MONTHS = 36

interface MandateProblem {
  code: 'mandate_missing' | 'mandate_lapsed' | 'mandate_unfit'
  message: string
}

/**
 * Returns what keeps a mandate from serving a debit on a day, null where nothing does. Rule: reference and day of the signature are known, the bank
 * takes the reference, and the mandate was signed by then and used (or signed) not more than 36 months before; outside of SEPA the day alone counts.
 */
export function mandateProblem(
  rule: MandateRule,
  { mandateReference, mandateDate }: Pick<StoredMethod, 'mandateReference' | 'mandateDate'>,
  lastUsedOn: IsoDate | null,
  actionDate: IsoDate,
): MandateProblem | null {
  if (mandateDate === null && rule === 'signed')
    return { code: 'mandate_missing', message: 'it has no MandateDate, the day on which the payer allowed the debits.' }
  if (mandateDate === null || (mandateReference === null && rule === 'sepa'))
    return { code: 'mandate_missing', message: 'it has no MandateReference and MandateDate.' }
  if (rule === 'sepa' && !isSepaReference(mandateReference ?? ''))
    return { code: 'mandate_unfit', message: 'its MandateReference has characters that SEPA does not carry.' }
  if (mandateDate > actionDate)
    return { code: 'mandate_unfit', message: `its mandate is signed on ${mandateDate}, after ${actionDate}.` }
  if (rule !== 'sepa') return null
  const usedOn = lastUsedOn === null ? mandateDate : later(lastUsedOn, mandateDate)
  if (addMonths(usedOn, MANDATE_MONTHS) < actionDate)
    return {
      code: 'mandate_lapsed',
      message: `its mandate was last used or signed on ${usedOn}, more than ${MANDATE_MONTHS} months before ${actionDate}.`,
    }
  return null
}

/** Months after its last use, or its signature, when a mandate of SEPA lapses (EPC016-06). */
