import { conflict, type Problems } from '../../kernel/fault.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { checkCurrencyHeld } from '../currencies/held.ts'
import { recordEvent } from '../events/record.ts'
import {
  type AccountSettings,
  getAccountSettings,
  insertAccountVersion,
  notifyAccountChange,
  updateAccount,
  updateNextInvoiceNumber,
} from './queries.ts'
import { checkAccount, frozenOfAccount } from './rules.ts'
import { type AccountBody, accountFromWire, AccountOut, accountToWire } from './wire.ts'

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

/** Every process forgets what it remembers of the account: this one after the commit, the others when the database tells them. */
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
  const edited = accountFromWire(body, present)
  if (JSON.stringify(frozenOfAccount(edited)) !== JSON.stringify(frozenOfAccount(present))) {
    await insertAccountVersion(tx, tx.account, present.version, frozenOfAccount(present))
    edited.version = present.version + 1
  }
  await raiseInvoiceNumber(tx, context, present.nextInvoiceNumber, edited.nextInvoiceNumber)
  await updateAccount(tx, tx.account, edited)
  const record = AccountOut.write(accountToWire(await getAccountSettings(tx, tx.account)))
  await recordEvent(tx, context, { type: 'account.updated', recordId: tx.account, record })
  return edited
}

/** The gap that a raised number leaves is told by an event with both numbers: a check of the numbers accepts that one and no other. */
async function raiseInvoiceNumber(tx: Transaction, context: RequestContext, from: bigint, to: bigint): Promise<void> {
  if (to === from) return
  if (to < from)
    throw conflict(
      'invoice_number_lowered',
      `NextInvoiceNum is ${from} and can only be raised; ${to} was sent.`,
      'NextInvoiceNum',
    )
  await updateNextInvoiceNumber(tx, tx.account, to)
  const record = JSON.stringify({ From: Number(from), To: Number(to) })
  await recordEvent(tx, context, { type: 'account.invoice_number_raised', recordId: tx.account, record })
}
