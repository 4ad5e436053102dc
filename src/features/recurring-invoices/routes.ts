import { assert } from '../../kernel/assert.ts'
import type { CustomerId } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { pathId } from '../../platform/http/handle.ts'
import {
  type Answer,
  noContent,
  type Operation,
  lookupOperation,
  readOperation,
  writeOperation,
} from '../../platform/http/operation.ts'
import { listAnswer } from '../../platform/http/paging.ts'
import { pageOf } from '../../platform/http/query.ts'
import { getAccountSettings } from '../accounts/queries.ts'
import { unknownCustomer } from '../customers/record.ts'
import { findCustomer, findCustomerView } from '../customers/queries.ts'
import { InvoicePreviewOut } from '../invoices/wire.ts'
import {
  addRecurring,
  cancelRecurring,
  editRecurring,
  lockedRecurring,
  reactivateRecurring,
  unknownRecurring,
  writeRecurring,
  writtenRecurring,
} from './actions.ts'
import { recurringAmounts, recurringContext } from './bill.ts'
import { type Chosen, chooseRecurring } from './resolve.ts'
import { findLoaded, type Loaded, loadRecurring } from './load.ts'
import { writeRecurringPreview } from './preview.ts'
import { countRecurring, listRecurring, type RecurringInvoice } from './queries.ts'
import { recurringEtag, RecurringIn, RecurringOut, RecurringQuery, RecurringsOut, recurringToWire } from './wire.ts'

const tag = 'Recurring invoices'
const path = '/v1/recurring-invoices/{recurInvoiceID}'
const id = 'recurInvoiceID'

interface Asked {
  page: ReturnType<typeof pageOf>
  url: string
  publicUrl: string | undefined
}

/**
 * Number of recurring invoices whose lines are loaded at once: each can have a thousand, so those of a page are never in memory together.
 */
const PORTION = 20

async function answerList(
  db: Queryable,
  context: RequestContext,
  customerId: CustomerId | null,
  { page, url, publicUrl }: Asked,
): Promise<Answer> {
  const { account, moment } = context
  const rows = await listRecurring(db, account.id, customerId, (page.page - 1) * page.size, page.size + 1)
  const taxes = await recurringContext(db, context)
  const clock = { timeZone: account.timeZone, today: moment.today }
  async function* written(shown: readonly RecurringInvoice[]) {
    for (let from = 0; from < shown.length; from += PORTION) {
      const loaded = await loadRecurring(db, account.id, shown.slice(from, from + PORTION))
      yield loaded.map((one) => recurringToWire(one, recurringAmounts(one, taxes), clock))
    }
  }
  return listAnswer(
    { rows, page, url, count: () => countRecurring(db, account.id, customerId) },
    (shown) => RecurringsOut.pieces(written(shown)),
    publicUrl,
  )
}

async function foundLoaded(
  db: Queryable,
  { account }: RequestContext,
  params: Record<string, string>,
): Promise<Loaded> {
  const recurringId = pathId(params, id, unknownRecurring)
  const loaded = await findLoaded(db, account.id, recurringId)
  if (!loaded) throw unknownRecurring(recurringId)
  return loaded
}

const reading = ({ publicUrl }: { publicUrl: string | undefined }): Operation[] => [
  readOperation({
    id: 'listRecurringInvoices',
    method: 'GET',
    path: '/v1/recurring-invoices',
    tag,
    summary: 'List recurring invoices',
    query: RecurringQuery,
    success: { status: 200, schema: RecurringsOut.schema },
    read: (db, context, { query, url }) => answerList(db, context, null, { page: pageOf(query), url, publicUrl }),
  }),
  readOperation({
    id: 'listCustomerRecurringInvoices',
    method: 'GET',
    path: '/v1/customers/{customerID}/recurring-invoices',
    tag,
    summary: 'List the recurring invoices of a customer',
    query: RecurringQuery,
    success: { status: 200, schema: RecurringsOut.schema },
    read: async (db, context, { params, query, url }) => {
      const customerId = pathId(params, 'customerID', unknownCustomer)
      if (!(await findCustomer(db, context.account.id, customerId))) throw unknownCustomer(customerId)
      return answerList(db, context, customerId, { page: pageOf(query), url, publicUrl })
    },
  }),
  lookupOperation({
    id: 'getRecurringInvoice',
    method: 'GET',
    path,
    tag,
    summary: 'Read a recurring invoice',
    success: { status: 200, schema: RecurringOut.schema },
    read: async (db, context, { params }) => {
      const [loaded, taxes] = await Promise.all([foundLoaded(db, context, params), recurringContext(db, context)])
      return { status: 200, body: writeRecurring(loaded, taxes, context), etag: recurringEtag(loaded) }
    },
  }),
  readOperation({
    id: 'previewRecurringInvoice',
    method: 'GET',
    path: `${path}/preview`,
    tag,
    summary: 'The next invoice as it would be made, with its own date; nothing is stored',
    success: { status: 200, schema: InvoicePreviewOut.schema },
    read: async (db, context, { params }) => {
      const loaded = await foundLoaded(db, context, params)
      const { account, moment } = context
      const customer = await findCustomerView(db, account.id, loaded.recurring.customerId, moment.today)
      assert(customer, `customer ${loaded.recurring.customerId} exists`)
      const about = { customer, moment, account: await getAccountSettings(db, account.id) }
      return { status: 200, body: writeRecurringPreview(loaded, await recurringContext(db, context), about) }
    },
  }),
]

const changing = (): Operation[] => [
  writeOperation({
    id: 'addRecurringInvoice',
    method: 'POST',
    path: '/v1/recurring-invoices',
    tag,
    summary: 'Add a recurring invoice; what is due today is invoiced at once',
    body: RecurringIn,
    success: { status: 201, schema: RecurringOut.schema },
    refusals: { 409: 'The customer is suspended or archived, or another recurring invoice has the Reference' },
    references: (tx, context, { body }, problems) => chooseRecurring(tx, context, body, problems),
    write: async (tx, context, { body }, _record, chosen) => {
      const loaded = await addRecurring(tx, context, chosen as Chosen, body)
      const headers = { location: `/v1/recurring-invoices/${loaded.recurring.id}` }
      return { status: 201, body: await writtenRecurring(tx, context, loaded), etag: recurringEtag(loaded), headers }
    },
  }),
  writeOperation({
    id: 'editRecurringInvoice',
    method: 'PUT',
    path,
    tag,
    summary: 'Replace the fields of a recurring invoice, from its next invoice on',
    body: RecurringIn,
    success: { status: 204 },
    refusals: { 409: 'It has ended, something fixed differs, or another recurring invoice has the Reference' },
    record: (tx, _context, { params }) => lockedRecurring(tx, pathId(params, id, unknownRecurring)),
    etag: (loaded: Loaded) => recurringEtag(loaded),
    references: (tx, context, { body }, problems, loaded) => chooseRecurring(tx, context, body, problems, loaded),
    write: async (tx, context, { body }, loaded, chosen) =>
      noContent(recurringEtag(await editRecurring(tx, context, loaded, chosen as Chosen, body))),
  }),
  writeOperation({
    id: 'cancelRecurringInvoice',
    method: 'DELETE',
    path,
    tag,
    summary: 'Cancel a recurring invoice now; what has been invoiced stays',
    success: { status: 204 },
    refusals: { 409: 'It has ended already' },
    record: (tx, _context, { params }) => lockedRecurring(tx, pathId(params, id, unknownRecurring)),
    etag: (loaded: Loaded) => recurringEtag(loaded),
    write: async (tx, context, _input, loaded) => {
      await cancelRecurring(tx, context, loaded)
      return noContent()
    },
  }),
  writeOperation({
    id: 'reactivateRecurringInvoice',
    method: 'PUT',
    path: `${path}/reactivate`,
    tag,
    summary: 'Start an ended recurring invoice again, at its own first renewal on or after today',
    success: { status: 204 },
    refusals: { 409: 'It has not ended, or its customer is suspended or archived' },
    record: (tx, _context, { params }) => lockedRecurring(tx, pathId(params, id, unknownRecurring)),
    etag: (loaded: Loaded) => recurringEtag(loaded),
    write: async (tx, context, _input, loaded) =>
      noContent(recurringEtag(await reactivateRecurring(tx, context, loaded))),
  }),
]

export const recurringInvoiceOperations = (deps: { publicUrl: string | undefined }): Operation[] => [
  ...reading(deps),
  ...changing(),
]
