import { introduced } from '../../platform/http/tags.ts'
import { assert } from '../../kernel/assert.ts'
import { type RequestContext, writingOf } from '../../kernel/context.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { listOperation } from '../../platform/http/list.ts'
import { type Operation, readOperation, writeOperation } from '../../platform/http/operation.ts'
import type { BodyOf } from '../../platform/wire/read.ts'
import { getAccountSettings } from '../accounts/queries.ts'
import { findCustomerView } from '../customers/queries.ts'
import { ofCustomerInPath } from '../customers/record.ts'
import { invoicePreviewShape } from '../invoices/wire.ts'
import { addRecurring, cancelRecurring, editRecurring, reactivateRecurring } from './actions.ts'
import { recurringContext } from './bill.ts'
import { type ResolvedRecurring, resolveRecurring } from './resolve.ts'
import { loadRecurring } from './load.ts'
import { writeRecurringPreview } from './preview.ts'
import { countRecurring, listRecurring, type RecurringFilter, type RecurringInvoice } from './queries.ts'
import { recurringKind, shownRecurring } from './record.ts'
import { skipRecurringOperation } from './skip-routes.ts'
import { recurringFilters, RecurringIn, recurringShape, type ShownRecurring } from './wire.ts'
import { noContent } from '../../platform/http/answer.ts'

const tag = introduced('Recurring invoices', 'Lines that are invoiced again each term, without a package.')
/** Number of recurring invoices whose lines are loaded at once: each can have a thousand, so those of a page are never in memory together. */
const PORTION = 20

async function* shownPortions(
  db: Queryable,
  context: RequestContext,
  rows: readonly RecurringInvoice[],
): AsyncGenerator<ShownRecurring[]> {
  const taxes = await recurringContext(db, context)
  for (let from = 0; from < rows.length; from += PORTION) {
    const loaded = await loadRecurring(db, context.account.id, rows.slice(from, from + PORTION))
    yield loaded.map((one) => shownRecurring(one, taxes))
  }
}

const list = {
  tag,
  out: recurringShape,
  filters: recurringFilters,
  filterOf: ({ Reference, comp_Status }: BodyOf<typeof recurringFilters>): RecurringFilter => ({
    reference: Reference,
    status: comp_Status,
  }),
  knowsUpdates: true as const,
  rows: listRecurring,
  count: countRecurring,
  pieces: (db: Queryable, context: RequestContext, rows: RecurringInvoice[]) =>
    recurringShape.list.pieces(shownPortions(db, context, rows), writingOf(context)),
}

const reading: Operation[] = [
  listOperation({
    ...list,
    id: 'listRecurringInvoices',
    path: '/v1/recurring-invoices',
    summary: 'List recurring invoices',
  }),
  listOperation({
    ...list,
    id: 'listCustomerRecurringInvoices',
    path: '/v1/customers/{customerID}/recurring-invoices',
    summary: 'List the recurring invoices of a customer',
    parent: ofCustomerInPath,
  }),
  recurringKind.readOperation({ id: 'getRecurringInvoice', tag, summary: 'Read a recurring invoice' }),
  readOperation({
    id: 'previewRecurringInvoice',
    path: `${recurringKind.editing.path}/preview`,
    tag,
    summary: 'Preview the next invoice, with its own date; nothing is stored',
    success: { status: 200, schema: invoicePreviewShape.schema },
    read: async (db, context, { params }) => {
      const loaded = await recurringKind.found(db, context, params)
      const { account, moment } = context
      const customer = await findCustomerView(db, account.id, loaded.recurring.customerId, moment.today)
      assert(customer, `customer ${loaded.recurring.customerId} exists`)
      const about = { customer, moment, account: await getAccountSettings(db, account.id) }
      return { status: 200, body: writeRecurringPreview(loaded, await recurringContext(db, context), about) }
    },
  }),
]

const changing: Operation[] = [
  writeOperation({
    id: 'addRecurringInvoice',
    method: 'POST',
    path: '/v1/recurring-invoices',
    tag,
    summary: 'Add a recurring invoice; what is due today is invoiced at once',
    body: RecurringIn,
    success: { status: 201, schema: recurringShape.schema },
    refusals: { 409: 'The customer is suspended or archived, or another recurring invoice has the Reference' },
    references: (tx, context, { body }, problems) => resolveRecurring(tx, context, body, problems),
    write: async (tx, context, { body }, _record, resolved) =>
      recurringKind.created(await addRecurring(tx, context, resolved as ResolvedRecurring, body), context),
  }),
  writeOperation({
    ...recurringKind.editing,
    id: 'editRecurringInvoice',
    tag,
    summary: 'Replace the fields of a recurring invoice, from its next invoice on',
    body: RecurringIn,
    refusals: { 409: 'It has ended, something fixed differs, or another recurring invoice has the Reference' },
    references: (tx, context, { body }, problems, loaded) => resolveRecurring(tx, context, body, problems, loaded),
    write: async (tx, context, { body }, loaded, resolved) =>
      recurringKind.edited(await editRecurring(tx, context, loaded, resolved as ResolvedRecurring, body)),
  }),
  writeOperation({
    ...recurringKind.deleting,
    id: 'cancelRecurringInvoice',
    tag,
    summary: 'Cancel a recurring invoice now; what has been invoiced stays',
    refusals: { 409: 'It has ended already' },
    write: async (tx, context, _input, loaded) => {
      await cancelRecurring(tx, context, loaded)
      return noContent()
    },
  }),
  writeOperation({
    ...recurringKind.editing,
    id: 'reactivateRecurringInvoice',
    path: `${recurringKind.editing.path}/reactivate`,
    tag,
    summary: 'Start an ended recurring invoice again, at its own first renewal on or after today',
    refusals: { 409: 'It has not ended, or its customer is suspended or archived' },
    write: async (tx, context, _input, loaded) => recurringKind.edited(await reactivateRecurring(tx, context, loaded)),
  }),
]

export const recurringInvoiceOperations = (): Operation[] => [...reading, ...changing, skipRecurringOperation()]
