import { introduced } from '../../platform/http/tags.ts'
import { identifies } from '../../platform/wire/shared-sentences.ts'
import { pathParameter } from '../../platform/http/path-parameters.ts'
import { assert } from '../../kernel/assert.ts'
import { type RequestContext, writingOf } from '../../kernel/context.ts'
import { missing } from '../../kernel/fault.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { type Input, lookupOperation, type Operation, writeOperation } from '../../platform/http/operation.ts'
import { pathId } from '../../platform/http/handle.ts'
import { listOperation } from '../../platform/http/list.ts'
import { baseOf } from '../../platform/page/base.ts'
import { checkCustomerReference } from '../customers/record.ts'
import { checkReason } from '../money/rules.ts'
import type { OnMethodChanged } from '../payment-methods/actions.ts'
import { addSession, checkSession, completeSession } from './actions.ts'
import type { CapturedDeps } from './captured.ts'
import { findSessionByToken, lockSessionByToken } from './queries.ts'
import { settleSaleByHand } from './by-hand.ts'
import { findSale } from './sale-queries.ts'
import { countUnsettledSales, listUnsettledSales } from './unsettled-queries.ts'
import { namedSession, type SessionDeps, shownSession, tokenHash } from './record.ts'
import {
  CompletionIn,
  namedSessionShape,
  SaleResultIn,
  SessionIn,
  shownSessionShape,
  unsettledSaleShape,
} from './wire.ts'
import { noContent } from '../../platform/http/answer.ts'

pathParameter('SessionToken', 'The token of the capture session.', { type: 'string' })

pathParameter('captureSaleID', identifies('sale of the capture widget'))

const tag = introduced(
  'Capture widget',
  'Sessions in which a frame of the service, on a page of yours, takes a card or a bank account from its holder.',
)
const PATH = '/v1/widgets/capturepaymethod'

const unknownToken = () =>
  missing('capture_session_unknown', 'There is no capture session of this token.', 'SessionToken')

/** Finds the session of a token, as it is answered. */
async function sessionOf(
  db: Queryable,
  context: RequestContext,
  deps: SessionDeps,
  { address }: Pick<Input<unknown, unknown>, 'address'>,
  token = '',
) {
  const session = await findSessionByToken(db, context.account.id, tokenHash(token))
  if (!session) throw unknownToken()
  return namedSession(context, deps, session, token, baseOf(context, address))
}

const unknownSale = (id: Id | string) =>
  missing('capture_sale_unknown', `There is no sale of a capture session ${id}.`, 'captureSaleID')

/** Sales on which a person has to decide. */
const saleOperations = (deps: CapturedDeps): Operation[] => [
  listOperation({
    id: 'listUnsettledCaptureSales',
    path: `${PATH}/sales`,
    tag,
    summary:
      'List the sales on which a person has to decide: their gateway is silent, or gives their charge back no more',
    out: unsettledSaleShape,
    rows: listUnsettledSales,
    count: countUnsettledSales,
  }),
  writeOperation({
    id: 'settleCaptureSaleByHand',
    method: 'PUT',
    path: `${PATH}/sales/{captureSaleID}/result`,
    tag,
    summary:
      'Settle a sale, or its refund, by hand once its gateway has been silent for 24 hours or refused the refund',
    body: SaleResultIn,
    refusals: { 409: 'It waits for nothing, or the gateway may still answer' },
    record: async (tx, _context, { params }) => {
      const id = pathId(params, 'captureSaleID', unknownSale)
      const sale = await findSale(tx, tx.account, id)
      if (!sale) throw unknownSale(id)
      return sale
    },
    references: async (_tx, _context, { body }, problems) => checkReason(body, '', problems),
    write: async (tx, context, { body }, sale) => {
      await settleSaleByHand(tx, context, deps, sale, body)
      return noContent()
    },
  }),
]

export const captureSessionOperations = (
  deps: SessionDeps & CapturedDeps & { onMethodChanged: OnMethodChanged },
): Operation[] => [
  writeOperation({
    id: 'createCaptureSession',
    method: 'POST',
    path: `${PATH}/create`,
    tag,
    summary: 'Begin a session in which somebody enters a card or a bank account in a frame of this service',
    body: SessionIn,
    success: { status: 200, schema: namedSessionShape.schema },
    refusals: {
      409: 'The gateway is not active, does not take the currency, or takes nothing that could be captured; the account is live',
    },
    references: (tx, context, { body }, problems) => checkSession(tx, context, body, problems),
    write: async (tx, context, input, _record, checked) => {
      assert(checked, 'a session that was checked is whole')
      const { session, sessionToken } = await addSession(tx, context, input.body, checked)
      const base = baseOf(context, input.address)
      const named = namedSession(context, deps, session, sessionToken, base)
      return { status: 200, body: namedSessionShape.write(named, writingOf(context)), isSecret: true }
    },
  }),
  writeOperation({
    id: 'completeCaptureSession',
    method: 'PUT',
    path: `${PATH}/complete`,
    tag,
    summary: 'Make what a session has captured the payment method of a customer',
    body: CompletionIn,
    representation: {
      schema: namedSessionShape.schema,
      read: async (tx, context, input) => {
        const session = await sessionOf(tx, context, deps, input, input.body.SessionToken)
        return { status: 200, body: namedSessionShape.write(session, writingOf(context)), isSecret: true }
      },
    },
    refusals: {
      409: 'Nothing was captured, the session was completed before or has expired, or the customer is archived',
    },
    references: async (tx, _context, { body }, problems) => {
      const customer = await checkCustomerReference(tx, body.customerID, problems)
      const token = body.SessionToken
      const session = token === undefined ? undefined : await lockSessionByToken(tx, tokenHash(token))
      if (token !== undefined && !session) problems.found.push(...unknownToken().problems)
      return { customer, session }
    },
    write: async (tx, context, _input, _record, { customer, session }) => {
      assert(customer && session, 'a customer and a session that were checked are there')
      await completeSession(tx, context, deps, session, customer)
      return noContent()
    },
  }),
  lookupOperation({
    id: 'getCaptureSession',
    path: `${PATH}/get/{SessionToken}`,
    tag,
    summary: 'Read a session by its token; HashToken and Html are for a key with full permission',
    success: { status: 201, schema: shownSessionShape.schema },
    read: async (db, context, input) => ({
      status: 201,
      body: shownSessionShape.write(
        shownSession(context, await sessionOf(db, context, deps, input, input.params['SessionToken'])),
        writingOf(context),
      ),
    }),
  }),
  lookupOperation({
    id: 'buildCaptureSession',
    path: `${PATH}/build/{SessionToken}`,
    tag,
    summary: 'Read the markup that shows the frame of a session, as a JSON string, for a key with full permission',
    permission: 'full',
    success: { status: 200, schema: { type: 'string' } },
    read: async (db, context, input) => ({
      status: 200,
      body: JSON.stringify((await sessionOf(db, context, deps, input, input.params['SessionToken'])).html),
    }),
  }),
  ...saleOperations(deps),
]
