import { type BatchDays, isActionDay, lastMoment } from '../../kernel/batch-days.ts'
import { MOVES_MAX } from '../../engine/collection/batch-days.ts'
import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { Account, Moment } from '../../kernel/context.ts'
import { conflict, type Problems } from '../../kernel/fault.ts'
import { gatewayFactsOf } from '../gateways/facts.ts'
import type { Gateway } from '../gateways/queries.ts'
import { currenciesOf, isReady, kindsOf } from '../gateways/rules.ts'
import type { StoredMethod } from '../payment-methods/queries.ts'
import type { Batch, BatchState } from './queries.ts'

/** Rules of batches, as functions of facts: what each state allows, and on which days. */

/** Lines that a batch may have. */
export const LINES_MAX = 500

export type BatchStep = 'edit' | 'lines' | 'submit' | 'release' | 'cancel' | 'results'

const ALLOWED: Readonly<Record<BatchState, readonly BatchStep[]>> = {
  open: ['edit', 'lines', 'submit', 'cancel'],
  build: [],
  failed: ['edit', 'cancel'],
  submitted: ['results'],
  completed: ['results'],
  cancelled: [],
}
const ALLOWED_WAITING: readonly BatchStep[] = ['edit', 'release', 'cancel']

const WORDS: Readonly<Record<BatchStep, string>> = {
  edit: 'it cannot be edited',
  lines: 'its lines cannot change',
  submit: 'it cannot be submitted',
  release: 'it waits for no release',
  cancel: 'it cannot be cancelled',
  results: 'it takes no results',
}

/** Returns whether a batch was submitted and waits for another key to release it. */
export const isAwaitingRelease = ({ state, needsRelease, releasedAt }: Batch): boolean =>
  state === 'build' && needsRelease && releasedAt === null

/** Returns the state of a batch as messages name it. */
export const stateWord = (batch: Batch): string =>
  isAwaitingRelease(batch) ? 'waiting for its release' : batch.state === 'build' ? 'being built' : batch.state

/** Throws a conflict where the state of a batch does not allow a step. */
export function checkStep(batch: Batch, step: BatchStep): void {
  const isWaiting = isAwaitingRelease(batch)
  if ((isWaiting ? ALLOWED_WAITING : ALLOWED[batch.state]).includes(step)) return
  throw conflict(`batch_${batch.state}`, `Batch ${batch.token} is ${stateWord(batch)}; ${WORDS[step]}.`, 'BatchToken')
}

/** Returns whether the last moment of a batch with lines is past while nobody submitted it, and the service will not move it. */
export const isDayPassed = (
  { state, lineCount, isServiceMade, moves }: Pick<Batch, 'state' | 'lineCount' | 'isServiceMade' | 'moves'>,
  lastMomentAt: Instant | null,
  now: Instant,
): boolean =>
  (state === 'open' || state === 'failed') &&
  lineCount > 0 &&
  lastMomentAt !== null &&
  Date.parse(now) > Date.parse(lastMomentAt) &&
  !(isServiceMade && state === 'open' && moves < MOVES_MAX)

/** Notes a day of the debit that is over (400). */
export function checkNotPast(actionDate: IsoDate | undefined, today: IsoDate, problems: Problems): void {
  if (actionDate !== undefined && actionDate < today)
    problems.add('date_in_past', 'ActionDate', `ActionDate ${actionDate} lies before today, ${today}.`)
}

/** Throws a conflict where a gateway can debit on a day no more, or never: its calendar excludes the day, or the last moment has passed. */
export function checkActionDay(
  days: BatchDays,
  actionDate: IsoDate,
  { account, moment }: { account: Pick<Account, 'timeZone'>; moment: Moment },
): void {
  if (!isActionDay(days, actionDate))
    throw conflict('no_bank_day', `ActionDate ${actionDate} is no bank day of the gateway.`, 'ActionDate')
  const last = lastMoment(days, actionDate, account.timeZone)
  if (Date.parse(moment.now) > Date.parse(last))
    throw conflict(
      'too_late',
      `A batch for ActionDate ${actionDate} had to be submitted by ${last}; choose a later day.`,
      'ActionDate',
    )
}

type LineMethod = Pick<
  StoredMethod,
  'id' | 'customerId' | 'kind' | 'state' | 'mandateReference' | 'mandateDate' | 'gatewayId' | 'gatewayToken'
>

/** Returns the kind of a payment by a bank account, as payments are labelled. */
export const wordOf = (kind: StoredMethod['kind']) => (kind === 'debit_order' ? 'debit_order' : 'bank_account')

/** Reason why a batch cannot carry a line, for a program and for a person. */
export interface LineRefusal {
  code: string
  message: string
}

/** Returns why a gateway cannot debit a method; undefined where it can. */
export function refusalOfMethod(gateway: Gateway, method: LineMethod): LineRefusal | undefined {
  const label = `Payment method ${method.id}`
  if (method.kind === 'credit_card')
    return {
      code: 'payment_method_unfit',
      message: `${label} is a card: batches take bank accounts, and cards are charged by POST /v1/invoices/{invoiceID}/collect.`,
    }
  if (!kindsOf(gateway).includes(method.kind))
    return {
      code: 'payment_method_unfit',
      message: `${label} is ${method.kind}, which the gateway ${gateway.id} does not debit.`,
    }
  const isKept = method.gatewayToken !== null
  if (isKept ? method.gatewayId !== gateway.id : gatewayFactsOf(gateway.type).keepsAccounts)
    return {
      code: 'payment_method_unfit',
      message: isKept
        ? `${label} is kept by gateway ${method.gatewayId}, and no other debits it.`
        : `${label} is not kept by gateway ${gateway.id}, which debits only accounts that it keeps itself.`,
    }
  if (method.state === 'rejected')
    return {
      code: 'payment_method_rejected',
      message: `${label} was rejected; ${isKept ? 'send the customer a link to a new mandate' : 'edit or validate it first'}.`,
    }
  return undefined
}

/** Throws a conflict where a gateway is not in use, takes no batches, or none in a currency. */
export function checkBatchGateway(gateway: Gateway, currency: string): void {
  const { id, token, type } = gateway
  const refuse = (code: string, message: string) => conflict(code, message, 'GatewayToken')
  if (!isReady(gateway)) throw refuse('gateway_inactive', `The gateway ${id} (${token}) is not active.`)
  if (!gatewayFactsOf(type).batches) throw refuse('gateway_unfit', `The gateway ${id} (${token}) takes no batches.`)
  if (!currenciesOf(gateway).includes(currency))
    throw conflict('gateway_unfit', `The gateway ${id} (${token}) does not take ${currency}.`, 'CurrencyCode')
}
