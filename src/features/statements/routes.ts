import { identifies } from '../../platform/wire/shared-sentences.ts'
import { pathParameter } from '../../platform/http/path-parameters.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import { missing } from '../../kernel/fault.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { type Account, type RequestContext, writingOf } from '../../kernel/context.ts'
import { pathId } from '../../platform/http/handle.ts'
import { listOperation } from '../../platform/http/list.ts'
import { wantsForm } from '../../platform/http/media.ts'
import { type Operation, type PathParams, readOperation } from '../../platform/http/operation.ts'
import { checkDates } from '../../platform/http/query.ts'
import { findLogo } from '../accounts/queries.ts'
import { refuseUnknownCurrency } from '../currencies/held.ts'
import { customerKind, foundCustomerId, ofCustomerInPath, unknownCustomer } from '../customers/record.ts'
import { type Customer, findCustomer } from '../customers/queries.ts'
import type { StatementDocument } from '../documents/document.ts'
import type { Drawing } from '../documents/draw.ts'
import { PDF_REFUSALS, pdfAnswer } from '../documents/routes.ts'
import { readKept } from './kept.ts'
import { countStatements, findStatement, listStatements } from './kept-queries.ts'
import { loadStatementDocument } from './load-document.ts'
import { arrivingStatementOf, keptTooLong, listCurrencyBalances, PDF_MOVEMENTS_MAX } from './make.ts'
import { customerBalanceShape, keptStatementShape, StatementOut, StatementQuery, statementToWire } from './wire.ts'
import type { Answer } from '../../platform/http/answer.ts'

pathParameter('statementID', identifies('statement'))

const tag = 'Customers'

interface Deps {
  drawing: Drawing
}

const unknownStatement = (id: bigint | string) =>
  missing('statement_unknown', `There is no statement ${id} of this customer.`, 'statementID')

async function foundCustomer(db: Queryable, { account }: RequestContext, params: PathParams): Promise<Customer> {
  const id = customerKind.pathId(params)
  const customer = await findCustomer(db, account.id, id)
  if (!customer) throw unknownCustomer(id)
  return customer
}

/** Answers a statement as a PDF, named after its days. */
const drawnStatement = (drawing: Drawing, account: Account, document: StatementDocument): Answer =>
  pdfAnswer(drawing, account, { kind: 'statement', document })

function periodOf(
  query: { from?: IsoDate | null; to?: IsoDate | null },
  { moment }: RequestContext,
): { from: IsoDate; to: IsoDate } {
  const to = query.to ?? moment.today
  const from = query.from ?? `${moment.today.slice(0, 8)}01`
  checkDates({ from, to }, 'from', 'to')
  return { from, to }
}

const askedFor = ({ drawing }: Deps): Operation[] => [
  readOperation({
    id: 'listCustomerBalances',
    hasStrictQuery: true,
    path: '/v1/customers/{customerID}/balances',
    tag,
    summary: 'Read what a customer owes, by currency and age',
    success: { status: 200, schema: customerBalanceShape.list.schema },
    read: async (db, context, { params }) => {
      const customer = await foundCustomer(db, context, params)
      const balances = await listCurrencyBalances(db, context.account.id, customer, context.moment)
      return { status: 200, body: customerBalanceShape.list.write(balances, writingOf(context)) }
    },
  }),
  readOperation({
    id: 'getStatement',
    hasStrictQuery: true,
    path: '/v1/customers/{customerID}/statement',
    tag,
    summary: 'Read a statement of some days, both included: of one currency as JSON, of all as PDF',
    query: StatementQuery,
    success: { status: 200, schema: StatementOut.schema, media: ['application/pdf'], headers: ['Perennial-Warning'] },
    refusals: PDF_REFUSALS,
    isExpensive: true,
    record: (db, context, params) => foundCustomer(db, context, params),
    read: async (db, context, { params, query, headers }) => {
      const { account } = context
      const period = periodOf(query, context)
      const isPdf = wantsForm('pdf', 'application/pdf', { format: query.format, accept: headers['accept'] })
      const customer = await foundCustomer(db, context, params)
      if (query.currency) await refuseUnknownCurrency(db, account.id, query.currency, 'currency')
      if (isPdf) {
        const { document } = await loadStatementDocument(db, context, customer, period, PDF_MOVEMENTS_MAX)
        return drawnStatement(drawing, account, document)
      }
      const currency = query.currency ?? customer.currency
      const arriving = await arrivingStatementOf(db, account.id, customer.id, currency, {
        ...period,
        now: context.moment.now,
      })
      return { status: 200, pieces: StatementOut.pieces(statementToWire(arriving, account.timeZone)) }
    },
  }),
]

const kept = ({ drawing }: Deps): Operation[] => [
  listOperation({
    id: 'listStatements',
    hasStrictQuery: true,
    path: '/v1/customers/{customerID}/statements',
    tag,
    summary: 'List the automatic statements of a customer, as they were sent',
    out: keptStatementShape,
    parent: ofCustomerInPath,
    rows: listStatements,
    count: countStatements,
  }),
  readOperation({
    id: 'getStatementPdf',
    hasStrictQuery: true,
    path: '/v1/customers/{customerID}/statements/{statementID}/pdf',
    tag,
    summary: 'Download an automatic statement as a PDF, as it was sent',
    success: { status: 200, media: ['application/pdf'], headers: ['Perennial-Warning'] },
    refusals: PDF_REFUSALS,
    read: async (db, { account }, { params }) => {
      const customerId = await foundCustomerId(db, account.id, params)
      const id = pathId(params, 'statementID', unknownStatement)
      const row = await findStatement(db, account.id, customerId, id, PDF_MOVEMENTS_MAX)
      if (!row) throw unknownStatement(id)
      if (row.document === null) throw keptTooLong()
      const logo = await findLogo(db, account.id)
      return drawnStatement(drawing, account, readKept(row.document, logo?.content ?? null))
    },
  }),
]

export const statementOperations = (deps: Deps): Operation[] => [...askedFor(deps), ...kept(deps)]
