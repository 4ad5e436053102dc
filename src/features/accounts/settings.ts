import type { IsoDate } from '../../kernel/calendar.ts'
import { conflict, type Problems } from '../../kernel/fault.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import { backgroundContext, momentOf, type RealClock, type RequestContext } from '../../kernel/context.ts'
import { dateWithOffset } from '../../kernel/zone.ts'
import { checkCurrencyHeld } from '../currencies/held.ts'
import { recordEvent } from '../events/record.ts'
import {
  type AccountSettings,
  findAccount,
  getAccountSettings,
  getNextCreditNumber,
  insertAccountVersion,
  lockAccountSettings,
  notifyAccountChange,
  updateAccount,
  updateNextCreditNumber,
  updateNextInvoiceNumber,
} from './queries.ts'
import { checkAccount, frozenOfAccount } from './rules.ts'
import {
  type AccountBody,
  accountFromWire,
  AccountOut,
  accountToWire,
  ChangedLockDateOut,
  RaisedNumberOut,
} from './wire.ts'

/** Changing the settings of an account. */

export async function checkAccountBody(
  tx: Transaction,
  { moment }: RequestContext,
  body: Partial<AccountBody>,
  problems: Problems,
): Promise<void> {
  checkAccount(body, moment.today, problems)
  await checkCurrencyHeld(tx, body.CurrencyCode, problems)
}

/** Lets every process forget what it remembers of the account: this one after the commit, the others when the database notifies them. */
export async function announceAccountChange(
  tx: Transaction,
  forgetAccount: (account: AccountId) => void,
): Promise<void> {
  await notifyAccountChange(tx)
  tx.afterCommit(() => forgetAccount(tx.account))
}

/** Changes what is sent of an account's settings; `present` is locked with its counters. */
export async function editAccount(
  tx: Transaction,
  context: RequestContext,
  present: AccountSettings,
  body: AccountBody,
): Promise<AccountSettings> {
  if (body.TestMailTo != null && present.mode !== 'test')
    throw conflict(
      'account_live',
      'TestMailTo is for test accounts: mail of a live one goes to its receivers.',
      'TestMailTo',
    )
  const edited = accountFromWire(body, present)
  if (JSON.stringify(frozenOfAccount(edited)) !== JSON.stringify(frozenOfAccount(present))) {
    await insertAccountVersion(tx, tx.account, present.version, frozenOfAccount(present))
    edited.version = present.version + 1
  }
  await raiseInvoiceNumber(tx, context, present.nextInvoiceNumber, edited.nextInvoiceNumber)
  await recordLockDate(tx, context, present, edited)
  await updateAccount(tx, tx.account, edited)
  const record = AccountOut.write(accountToWire(await getAccountSettings(tx, tx.account)))
  await recordEvent(tx, context, { type: 'account.updated', recordId: tx.account, record })
  return edited
}

/** Raises the next invoice number. The event keeps both numbers: the check of the numbers accepts the gap between them and no other. */
async function raiseInvoiceNumber(tx: Transaction, context: RequestContext, from: bigint, to: bigint): Promise<void> {
  if (to === from) return
  if (to < from)
    throw conflict(
      'invoice_number_lowered',
      `NextInvoiceNum is ${from} and can only be raised; ${to} was sent.`,
      'NextInvoiceNum',
    )
  await updateNextInvoiceNumber(tx, tx.account, to)
  const record = RaisedNumberOut.write({ From: from, To: to })
  await recordEvent(tx, context, { type: 'account.invoice_number_raised', recordId: tx.account, record })
}

/**
 * Raises the next numbers of a locked account above those that were given, as a change of NextInvoiceNum does; what is higher already stays. Events keep both
 * numbers of each gap.
 */
export async function raiseNumbersAbove(
  tx: Transaction,
  context: RequestContext,
  { invoice, creditNote }: { invoice: bigint; creditNote: bigint },
): Promise<void> {
  const { nextInvoiceNumber } = await lockAccountSettings(tx, tx.account)
  const nextCreditNumber = await getNextCreditNumber(tx, tx.account)
  if (invoice < nextInvoiceNumber && creditNote < nextCreditNumber) return
  if (invoice >= nextInvoiceNumber) await raiseInvoiceNumber(tx, context, nextInvoiceNumber, invoice + 1n)
  if (creditNote >= nextCreditNumber) {
    await updateNextCreditNumber(tx, tx.account, creditNote + 1n)
    const raised = RaisedNumberOut.write({ From: nextCreditNumber, To: creditNote + 1n })
    await recordEvent(tx, context, { type: 'account.credit_number_raised', recordId: tx.account, record: raised })
  }
  const record = AccountOut.write(accountToWire(await getAccountSettings(tx, tx.account)))
  await recordEvent(tx, context, { type: 'account.updated', recordId: tx.account, record })
  await notifyAccountChange(tx)
}

/** Raises the next invoice number of an account. Throws a conflict for a lower one. */
export async function raiseInvoiceNumberTo(tx: Transaction, context: RequestContext, next: bigint): Promise<void> {
  const { nextInvoiceNumber } = await lockAccountSettings(tx, tx.account)
  if (next < nextInvoiceNumber) return raiseInvoiceNumber(tx, context, nextInvoiceNumber, next)
  await raiseNumbersAbove(tx, context, { invoice: next - 1n, creditNote: 0n })
}

/** Raises the next number of an account's own sequence of credit notes. Throws a conflict for a lower one. */
export async function raiseCreditNumberTo(tx: Transaction, context: RequestContext, next: bigint): Promise<void> {
  await lockAccountSettings(tx, tx.account)
  const present = await getNextCreditNumber(tx, tx.account)
  if (next < present)
    throw conflict(
      'credit_number_lowered',
      `The next credit note has number CN-${present}, which can only be raised; ${next} was given.`,
      '--credit-numbers',
    )
  await raiseNumbersAbove(tx, context, { invoice: 0n, creditNote: next - 1n })
}

/**
 * Makes the function that raises the numbers of an account after a failover that lost some which were given. An account that is not there any more has
 * none.
 */
export const raisingAfterFailover =
  (realClock: RealClock) =>
  (
    db: Pick<Database, 'transaction'>,
    { account: id, ...given }: { account: AccountId; invoice: bigint; creditNote: bigint },
  ): Promise<void> =>
    db.transaction(id, async (tx) => {
      const account = await findAccount(tx, id)
      if (!account) return
      await raiseNumbersAbove(
        tx,
        backgroundContext(account, momentOf(account, realClock), { actor: 'failover' }),
        given,
      )
    })

/** Records which days were closed and which are from now on: who opens books that were closed leaves a trace. */
async function recordLockDate(
  tx: Transaction,
  context: RequestContext,
  { lockDate: from, timeZone }: AccountSettings,
  { lockDate: to }: AccountSettings,
): Promise<void> {
  if (to === from) return
  const shown = (day: IsoDate | null) => (day === null ? null : dateWithOffset(day, timeZone))
  const record = ChangedLockDateOut.write({ From: shown(from), To: shown(to) })
  await recordEvent(tx, context, { type: 'account.lock_date_changed', recordId: tx.account, record })
}
