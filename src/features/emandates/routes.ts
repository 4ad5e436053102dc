import { introduced } from '../../platform/http/tags.ts'
import { withWarnings } from '../../platform/http/warnings.ts'
import { assert } from '../../kernel/assert.ts'
import { type RequestContext, writingOf } from '../../kernel/context.ts'
import { missing } from '../../kernel/fault.ts'
import { lookupOperation, type Operation, writeOperation } from '../../platform/http/operation.ts'
import { baseOf } from '../../platform/page/base.ts'
import { linkUrl } from '../../platform/page/links.ts'
import type { Field } from '../../platform/wire/read.ts'
import { warningsOfHolder } from '../payment-methods/checks.ts'
import { addMandate } from './actions.ts'
import { glyphWarningsOfMandate } from './glyphs.ts'
import { findMandate } from './queries.ts'
import { mandateView } from './record.ts'
import { checkMandate } from './resolve.ts'
import { mandateOfToken, mandateToken } from '../payment-methods/emandate.ts'
import { MandateCreatedOut, MandateIn, mandateShape, type MandateBody, RedirectMandateIn, TokenQuery } from './wire.ts'
import type { Channel, MandateDeps } from './types.ts'

const tag = introduced(
  'eMandates',
  'Mandates to debit a bank account, which the holder signs on a page of the service.',
)

const unknownToken = () => missing('emandate_unknown', 'There is no eMandate of this Token.', 'Token')

/** The two flows differ in one field each. */
type BodyOfEither = Field<MandateBody>

const adding = (
  deps: MandateDeps,
  about: { id: string; path: string; summary: string; channel: Channel; body: BodyOfEither },
): Operation =>
  writeOperation({
    id: about.id,
    method: 'POST',
    path: about.path,
    tag,
    summary: about.summary,
    body: about.body,
    success: { status: 201, schema: MandateCreatedOut.schema, headers: ['Perennial-Warning'] },
    refusals: { 409: 'The stored method is a card, or has a mandate; PUBLIC_URL is not set, and the account is live' },
    references: (tx, context, { body }, problems) => checkMandate(tx, deps.envelope, context, body, problems),
    write: async (tx, context, { body, address }, _record, account) => {
      assert(account, 'an account that was checked is whole')
      const base = baseOf(context, address)
      const mandate = await addMandate(tx, context, deps, body, account, about.channel)
      const made = {
        status: 201,
        body: MandateCreatedOut.write(namesOf(deps, context, mandate.id, base)),
        isSecret: true,
      }
      const ofHolder = warningsOfHolder(account.kind, account.bank.accountHolder)
      return withWarnings(made, [...ofHolder, ...glyphWarningsOfMandate(mandate)])
    },
  })

/** Returns the token of a mandate and the address of its page, below that of the service. */
function namesOf({ links }: MandateDeps, { account }: RequestContext, id: bigint, base: string) {
  const link = { kind: 'm', account: account.id, record: id, counter: 0 } as const
  return { Token: mandateToken(links, account.id, id), Url: linkUrl(base, 'm', links.token(link)) }
}

export const emandateOperations = (deps: MandateDeps): Operation[] => [
  adding(deps, {
    id: 'addEMandate',
    path: '/v1/emandate',
    summary: 'Ask for an eMandate that is signed in a frame of a page of your own',
    channel: 'embedded',
    body: MandateIn as BodyOfEither,
  }),
  adding(deps, {
    id: 'addRedirectEMandate',
    path: '/widget/emandate',
    summary: 'Ask for an eMandate that is signed on a page of this service, to which the signee is sent',
    channel: 'redirect',
    body: RedirectMandateIn as BodyOfEither,
  }),
  lookupOperation({
    id: 'getEMandate',
    path: '/v1/emandate',
    tag,
    summary: 'Read an eMandate by its Token',
    query: TokenQuery,
    success: { status: 200, schema: mandateShape.schema },
    refusals: { 404: 'There is no eMandate of this Token' },
    read: async (db, context, { query }) => {
      const id = mandateOfToken(deps.links, context.account.id, query.Token)
      const mandate = id === undefined ? undefined : await findMandate(db, context.account.id, id)
      if (!mandate) throw unknownToken()
      return { status: 200, body: mandateShape.write(mandateView(context, deps, mandate), writingOf(context)) }
    },
  }),
]
