import { assert } from '../../kernel/assert.ts'
import { type RequestContext, writingOf } from '../../kernel/context.ts'
import { pathId } from '../../platform/http/handle.ts'
import { type Operation, readOperation, writeOperation } from '../../platform/http/operation.ts'
import { pathParameter } from '../../platform/http/path-parameters.ts'
import { introduced } from '../../platform/http/tags.ts'
import { baseOf } from '../../platform/page/base.ts'
import { type Links, linkUrl } from '../../platform/page/links.ts'
import { identifies } from '../../platform/wire/shared-sentences.ts'
import { addSetup, checkSetup } from './actions.ts'
import { findSetup, type MandateSetup } from './queries.ts'
import { setupLink, unknownSetup } from './record.ts'
import { SetupIn, setupShape } from './wire.ts'

pathParameter('mandateSetupID', identifies('set-up of a mandate'))

const tag = introduced(
  'Mandate set-ups',
  'Links by which payers give the mandate for an account that a gateway keeps, on a page of that gateway.',
)
const PATH = '/v1/paymentmethods/mandate'

/** Writes a set-up with the address of its page. */
const answerOf = (links: Links, context: RequestContext, address: string, setup: MandateSetup) => {
  const url = linkUrl(baseOf(context, address), 'd', links.token(setupLink(context, setup.id)))
  return setupShape.write({ ...setup, url }, writingOf(context))
}

export const mandateSetupOperations = ({ links }: { links: Links }): Operation[] => [
  writeOperation({
    id: 'addMandateSetup',
    method: 'POST',
    path: PATH,
    tag,
    summary: 'Make a link by which a payer gives a mandate for an account that the gateway keeps',
    body: SetupIn,
    success: { status: 201, schema: setupShape.schema },
    refusals: {
      409: 'No active gateway keeps such accounts, the customer is archived; PUBLIC_URL is not set, and the account is live',
    },
    references: (tx, context, { body }, problems) => checkSetup(tx, context, body, problems),
    write: async (tx, context, { body, address }, _record, checked) => {
      assert(checked, 'a body that was checked is whole')
      baseOf(context, address)
      const setup = await addSetup(tx, context, checked, body)
      const headers = { location: `${PATH}/${setup.id}` }
      return { status: 201, body: answerOf(links, context, address, setup), headers, isSecret: true }
    },
  }),
  readOperation({
    id: 'getMandateSetup',
    method: 'GET',
    path: `${PATH}/{mandateSetupID}`,
    tag,
    permission: 'full',
    summary: 'Read how far the set-up of a mandate is',
    success: { status: 200, schema: setupShape.schema },
    read: async (db, context, { params, address }) => {
      const id = pathId(params, 'mandateSetupID', unknownSetup)
      const setup = await findSetup(db, context.account.id, id)
      if (!setup) throw unknownSetup(id)
      return { status: 200, body: answerOf(links, context, address, setup), isSecret: true }
    },
  }),
]
