import { introduced } from '../../platform/http/tags.ts'
import { type RequestContext, writingOf } from '../../kernel/context.ts'
import type { Id } from '../../kernel/ids.ts'
import { Problems } from '../../kernel/fault.ts'
import type { Database, Queryable, Transaction } from '../../platform/database/database.ts'
import { listOperation } from '../../platform/http/list.ts'
import { type Operation, outwardOperation, readOperation, writeOperation } from '../../platform/http/operation.ts'
import { addGateway, editGateway, removeGateway, returnRatesOf } from './actions.ts'
import type { GatewayDeps } from './call.ts'
import { checkGateway, checkScheme } from './check-body.ts'
import { connectGateway, disconnectGateway, refusalOfConnecting, refuseConnecting, reportAddressOf } from './connect.ts'
import { gatewayFactsOf } from './facts.ts'
import { askAboutKey, type SecretKeyAnswer } from './keys.ts'
import { countGateways, type Gateway, listGateways } from './queries.ts'
import { gatewayKind } from './record.ts'
import { returnRatesShape } from './return-rates-wire.ts'
import { mergedSettings, openSettings } from './settings.ts'
import { type GatewayBody, GatewayEditIn, gatewayEtag, GatewayIn, gatewayShape } from './wire.ts'
import { noContent } from '../../platform/http/answer.ts'

const tag = introduced('Gateways', 'Payment gateways and banks through which money is collected, with their settings.')

interface Deps extends GatewayDeps {
  db: Database
  /** Plans the tries of invoices that could not be tried: methods that had no gateway may have one now. */
  onGatewayChanged(tx: Transaction, context: RequestContext): Promise<void>
  /** Follows Settings that may have moved the days of the gateway's batches. */
  onSettingsChanged(tx: Transaction, about: { timeZone: string; gatewayId: Id }): Promise<void>
}

/** Asks about the secret key of a body that can be written as far as is known; what is wrong with it is left for the transaction to find. */
async function askAboutSettings(
  deps: Deps,
  db: Queryable,
  context: RequestContext,
  body: GatewayBody,
  present?: Gateway,
): Promise<SecretKeyAnswer | undefined> {
  const type = present?.type ?? body.GatewayType
  if (type == null) return undefined
  const facts = gatewayFactsOf(type)
  const before = present ? openSettings(deps.envelope, context.account.id, present) : {}
  const problems = new Problems()
  checkGateway(facts, body, before, context.account, problems)
  if (problems.found.length > 0) return undefined
  const merged = mergedSettings(facts, before, body.Settings ?? {})
  return askAboutKey(deps, db, context, { type, ...(present && { present }), merged })
}

const connectOperations = (deps: Deps): Operation[] => [
  outwardOperation({
    id: 'connectGateway',
    method: 'PUT',
    path: '/v1/gateways/{gatewayID}/connect',
    tag,
    summary: 'Have a gateway report to this service at once, by an address that is made there',
    success: { status: 204 },
    refusals: { 409: 'PUBLIC_URL is no address of https, or the gateway refuses it, or makes no addresses' },
    record: (tx, context, { params }) => gatewayKind.found(tx, context, params),
    begin: async (_tx, context, _input, gateway) => {
      refuseConnecting(deps, gateway)
      // Whoever sends it again makes another address, and has those deleted that were made before.
      return { intent: gateway.id, call: { gateway, url: reportAddressOf(context, gateway) } }
    },
    call: (context, _input, { gateway, url }) => connectGateway(deps, context, gateway, url),
    finish: async (_tx, _context, _input, { gateway }, ended) => refusalOfConnecting(gateway, ended) ?? noContent(),
  }),
  outwardOperation({
    id: 'disconnectGateway',
    method: 'DELETE',
    path: '/v1/gateways/{gatewayID}/connect',
    tag,
    summary:
      'Delete the addresses that were made at a gateway for its reports; it is asked every five minutes as before',
    success: { status: 204 },
    refusals: { 409: 'The gateway refuses it, or makes no addresses' },
    record: (tx, context, { params }) => gatewayKind.found(tx, context, params),
    begin: async (_tx, _context, _input, gateway) => {
      refuseConnecting(deps, gateway)
      return { intent: gateway.id, call: gateway }
    },
    call: (context, _input, gateway) => disconnectGateway(deps, context, gateway),
    finish: async (_tx, _context, _input, gateway, ended) => refusalOfConnecting(gateway, ended) ?? noContent(),
  }),
]

export const gatewayOperations = (deps: Deps): Operation[] => [
  listOperation({
    id: 'listGateways',
    path: '/v1/gateways',
    tag,
    summary: 'List the gateways of the account',
    out: gatewayShape,
    rows: listGateways,
    count: countGateways,
  }),
  gatewayKind.readOperation({ id: 'getGateway', tag, summary: 'Read a gateway' }),
  readOperation({
    id: 'getGatewayReturns',
    method: 'GET',
    path: '/v1/gateways/{gatewayID}/returns',
    tag,
    summary: 'Read at which rates debits of an ach-file gateway came back in the last 60 days',
    success: { status: 200, schema: returnRatesShape.schema },
    refusals: { 409: 'The gateway makes no NACHA files' },
    record: (db, context, params) => gatewayKind.found(db, context, params),
    read: async (db, context, { params }) => {
      const gateway = await gatewayKind.found(db, context, params)
      const rates = await returnRatesOf(db, context.account.id, gateway, context.moment.today)
      return { status: 200, body: returnRatesShape.write(rates, writingOf(context)) }
    },
  }),
  writeOperation({
    id: 'addGateway',
    method: 'POST',
    path: '/v1/gateways',
    tag,
    summary: 'Add a gateway',
    body: GatewayIn,
    success: { status: 201, schema: gatewayShape.schema },
    refusals: { 409: 'The account cannot have a gateway of this type, or has it from its beginning' },
    references: async (_tx, { account }, { body }, problems) => {
      if (body.GatewayType === undefined) return
      const facts = gatewayFactsOf(body.GatewayType)
      checkGateway(facts, { ...body, Settings: body.Settings ?? {} }, {}, account, problems)
      checkScheme(facts, body, true, problems)
    },
    prepare: (db, context, { body }) => askAboutSettings(deps, db, context, body),
    write: async (tx, context, { body }, _record, _found, asked) => {
      const gateway = await addGateway(tx, context, deps.envelope, body, asked)
      await deps.onGatewayChanged(tx, context)
      return gatewayKind.created(gateway, context)
    },
  }),
  writeOperation({
    ...gatewayKind.editing,
    id: 'editGateway',
    tag,
    summary: 'Change a gateway: only what is sent; Settings are merged by name',
    body: GatewayEditIn,
    refusals: {
      409: 'The GatewayType would change, or the SecretKey is of another account there than what is stored',
    },
    references: async (tx, { account }, { body }, problems, present) => {
      const settings = body.Settings ? openSettings(deps.envelope, tx.account, present) : {}
      checkGateway(gatewayFactsOf(present.type), body, settings, account, problems)
      checkScheme(gatewayFactsOf(present.type), body, false, problems)
    },
    prepare: async (db, context, { params, body }) =>
      body.Settings
        ? askAboutSettings(deps, db, context, body, await gatewayKind.found(db, context, params))
        : undefined,
    write: async (tx, context, { body }, present, _found, asked) => {
      const gateway = await editGateway(tx, context, deps.envelope, present, body, asked)
      if (body.Settings) await deps.onSettingsChanged(tx, { timeZone: context.account.timeZone, gatewayId: gateway.id })
      await deps.onGatewayChanged(tx, context)
      return noContent(gatewayEtag(gateway))
    },
  }),
  ...connectOperations(deps),
  writeOperation({
    ...gatewayKind.deleting,
    id: 'deleteGateway',
    tag,
    summary: 'Delete a gateway that nothing uses',
    refusals: { 409: 'The gateway is used, or stays with its account: set isActive false' },
    write: async (tx, context, _input, gateway) => {
      await removeGateway(tx, context, gateway)
      return noContent()
    },
  }),
]
