import { sendDeletedWords } from '../finding/word-queries.ts'
import type { CustomerId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { anonymiseKeptAnswers } from '../../platform/http/idempotency.ts'
import type { LinesOfService } from '../batches/hooks.ts'
import { forgetMethodsOfInvoices } from '../invoices/state-queries.ts'
import { dropLinesOf } from './drop-lines.ts'
import { anonymiseContacts } from '../contacts/queries.ts'
import { anonymiseCustomerRow, anonymiseCustomerVersions } from '../customers/anonymise-queries.ts'
import { recordCustomerEvent } from '../customers/record.ts'
import { hasOpenTry } from '../collection/try-queries.ts'
import { forgetMethodsOfRecurring } from '../recurring-invoices/queries.ts'
import { hasOpenRefund } from '../refunds/queries.ts'
import { forgetMethodsOfSubscriptions } from '../subscriptions/state-queries.ts'
import { conflict } from '../../kernel/fault.ts'
import { anonymiseEvents } from '../events/queries.ts'
import type { MandateDeps } from '../emandates/types.ts'
import { forgetUnsignedMandates } from '../emandates/forget.ts'
import { anonymiseSessions } from '../capture-sessions/queries.ts'
import { anonymiseNotes } from '../notes/queries.ts'
import { anonymiseMails, deleteUnsentMail } from '../outbox/queries.ts'
import { removeMethodsOf } from '../payment-methods/actions.ts'
import { abandonIntentsOf } from '../payment-methods/removal.ts'
import { anonymiseResultLines } from '../result-files/queries.ts'
import { anonymiseStatements } from '../statements/kept-queries.ts'

/** Stands where a name or an address was. No mail can ever reach that address (RFC 2606). */
const NEUTRAL = { text: 'Anonymised', email: 'anonymised@example.invalid' }

/**
 * Makes a locked customer nobody, everywhere at once and for good: in its row, contacts, notes and values, in what its documents froze,
 * in events, mails, kept answers and lines of bank files. Its payment methods are removed, here and at their gateways, and no document names one any more. Amounts, dates, numbers and references stay; nothing is cancelled, and it is billed as before.
 */
export async function anonymiseCustomer(
  tx: Transaction,
  context: RequestContext,
  deps: { linesOfService: LinesOfService } & Pick<MandateDeps, 'links' | 'realClock'>,
  id: CustomerId,
): Promise<void> {
  await dropLinesOf(tx, context, deps.linesOfService, id)
  await refuseUnknownOutcomes(tx, id)
  await anonymiseCustomerRow(tx, tx.account, id, NEUTRAL.text)
  await anonymiseCustomerVersions(tx, tx.account, id, NEUTRAL.text)
  sendDeletedWords(tx, 'customers', [id])
  await forgetUnsignedMandates(tx, context, deps, id)
  await anonymiseSessions(tx, id)
  await removeMethodsOf(tx, context, id)
  for (const forget of [forgetMethodsOfInvoices, forgetMethodsOfSubscriptions, forgetMethodsOfRecurring])
    await forget(tx, id)
  await abandonIntentsOf(tx, id)
  await anonymiseContacts(tx, tx.account, id, NEUTRAL)
  await anonymiseNotes(tx, tx.account, id, NEUTRAL.text)
  await deleteUnsentMail(tx, tx.account, id)
  await anonymiseStatements(tx, id, NEUTRAL.text)
  await anonymiseResultLines(tx, id)
  await anonymiseMails(tx, tx.account, id, NEUTRAL.text)
  await anonymiseKeptAnswers(tx, id, NEUTRAL.text)
  await anonymiseEvents(tx, id, NEUTRAL.text)
  await recordCustomerEvent(tx, context, 'customer.anonymised', id)
}

/** Refuses while a gateway has yet to answer about the customer's money (409): its answer needs the method that would be removed. */
async function refuseUnknownOutcomes(tx: Transaction, id: CustomerId): Promise<void> {
  const waiting = (await hasOpenTry(tx, id)) ? 'a try' : (await hasOpenRefund(tx, id)) ? 'a refund' : null
  if (waiting !== null)
    throw conflict('outcome_unknown', `Customer ${id} has ${waiting} whose outcome is not known yet; wait for it.`)
}
