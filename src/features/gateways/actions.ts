import { assert } from '../../kernel/assert.ts'
import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { conflict, invalid, missing } from '../../kernel/fault.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import { dateIn } from '../../kernel/zone.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import type { Envelope } from '../../platform/envelope/envelope.ts'
import { closeNotes } from '../../platform/failover/queries.ts'
import { canonicalJson } from '../../platform/wire/json.ts'
import { isRecordedFor, sendEvents } from '../events/queries.ts'
import { recordChange, recordEvent } from '../events/record.ts'
import { gatewayFactsOf, type GatewayFacts, type GatewayType, SANDBOX } from './facts.ts'
import {
  countGateways,
  deleteGateway,
  drawGatewayId,
  endHold,
  findGateway,
  type Gateway,
  type GatewayInput,
  gatewayUses,
  hasMandates,
  beginHold,
  insertGateway,
  lockChoices,
  listReturnCodes,
  lockGateway,
  lockRatesReported,
  noteKeyAccepted,
  noteKeyRefused,
  noteRefusal,
  replacePrimaries,
  type StoredSettings,
  updateGateway,
  writeRatesReported,
} from './queries.ts'
import { accountOfKey, noteAnswer, type SecretKeyAnswer } from './keys.ts'
import { gatewayKind } from './record.ts'
import { boundsToReport, daysOfRates, ratesFrom, type ReturnRates } from './return-rates.ts'
import { rateReportedToWire } from './return-rates-wire.ts'
import { type AskedAbout, nameOfAnswer, namedOtherwise, type NamedAnswer } from './references.ts'
import { primaryKindsAfter } from './rules.ts'
import { mergedSettings, openSettings, settingsPlace, readSettings, type SentSettings } from './settings.ts'
import { type GatewayBody, gatewayFromWire, gatewayShape } from './wire.ts'

/** Changes of gateways, each in one transaction. */

/** Gateways that an account may have. */
const GATEWAYS_MAX = 20

function sealedSettings(
  envelope: Envelope,
  account: AccountId,
  { id, type }: Pick<Gateway, 'id' | 'type'>,
  settings: SentSettings,
): Omit<StoredSettings, 'accountThere'> {
  const settingNames = Object.keys(settings).sort()
  const keyEnding = keyIn(type, settings)?.trim().slice(-ENDING) ?? null
  if (settingNames.length === 0) return { settings: null, settingNames, keyEnding }
  return { settings: envelope.seal(account, settingsPlace(id), canonicalJson(settings)), settingNames, keyEnding }
}

/** Last characters of a secret key, by which a person knows which one it is. */
const ENDING = 4

/** Returns the secret key of Settings; undefined where there is none. */
function keyIn(type: GatewayType, settings: Readonly<Record<string, unknown>>): string | undefined {
  const { secretKey } = gatewayFactsOf(type)
  const key = secretKey === undefined ? undefined : settings[secretKey]
  return typeof key === 'string' ? key : undefined
}

function refuseNew(facts: GatewayFacts, { mode }: RequestContext['account']): void {
  if (!facts.modes.includes(mode))
    throw conflict('gateway_mode', `A ${mode} account cannot have a gateway of type ${facts.type}.`, 'GatewayType')
  if (facts.isGiven)
    throw conflict('gateway_given', `The account has its gateway of type ${facts.type} already.`, 'GatewayType')
}

export async function addGateway(
  tx: Transaction,
  context: RequestContext,
  envelope: Envelope,
  body: GatewayBody & { GatewayType: GatewayType },
  asked: SecretKeyAnswer | undefined,
): Promise<Gateway> {
  const facts = gatewayFactsOf(body.GatewayType)
  refuseNew(facts, context.account)
  await lockChoices(tx, tx.account)
  if ((await countGateways(tx, tx.account)) >= GATEWAYS_MAX)
    throw invalid('too_many_gateways', `An account may have at most ${GATEWAYS_MAX} gateways.`)
  const id = await drawGatewayId(tx)
  const input = gatewayFromWire(body, facts.type)
  const settings = mergedSettings(facts, {}, body.Settings ?? {})
  const sealed = sealedSettings(envelope, tx.account, { id, type: facts.type }, settings)
  await insertGateway(
    tx,
    tx.account,
    { ...input, ...sealed, accountThere: asked?.account ?? null, id, type: facts.type },
    context.moment.now,
  )
  await noteAnswer(tx, id, { isNewKey: keyIn(facts.type, settings) !== undefined, version: null, asked })
  const kinds = primaryKindsAfter({ ...input, type: facts.type }, [], body.isPrimary ?? null)
  await replacePrimaries(tx, tx.account, id, kinds)
  return recorded(tx, context, 'gateway.created', id)
}

/** Holds a gateway by hand: no money moves through it until it is released. */
export async function holdByHand(tx: Transaction, context: RequestContext, { id }: Pick<Gateway, 'id'>): Promise<void> {
  if ((await beginHold(tx, id, 'by_hand')).length > 0) await recorded(tx, context, 'gateway.updated', id)
}

/** Lets money move through a held gateway again, whatever held it. */
export async function releaseGateway(
  tx: Transaction,
  context: RequestContext,
  { id }: Pick<Gateway, 'id'>,
): Promise<void> {
  if ((await endHold(tx, id)).length === 0) return
  await closeNotes(tx, id)
  await recorded(tx, context, 'gateway.updated', id)
}

const NO_SETTINGS: StoredSettings = { settings: null, settingNames: [], accountThere: null, keyEnding: null }

/** Gives a new test account its sandbox; `now` is the account's own clock. */
export async function addSandbox(tx: Transaction, now: Instant, actor: string): Promise<void> {
  const id = await drawGatewayId(tx)
  const { type } = SANDBOX
  await insertGateway(tx, tx.account, { ...gatewayFromWire({}, type), ...NO_SETTINGS, id, type }, now)
  const row = await findGateway(tx, tx.account, id)
  assert(row, `gateway ${id} was written`)
  // No field of a gateway depends on the zone or the day.
  const record = gatewayShape.write(row, { timeZone: 'UTC', today: dateIn(now, 'UTC') })
  const about = { recordId: id, customerId: null, happenedAt: now, actor, reason: null }
  sendEvents(tx, [{ ...about, type: 'gateway.created', record }])
}

export async function editGateway(
  tx: Transaction,
  context: RequestContext,
  envelope: Envelope,
  present: Gateway,
  body: GatewayBody,
  asked: SecretKeyAnswer | undefined,
): Promise<Gateway> {
  if (body.GatewayType != null && body.GatewayType !== present.type)
    throw conflict('gateway_type_fixed', `The GatewayType stays ${present.type}; add another gateway.`, 'GatewayType')
  const input = gatewayFromWire(body, present.type, present)
  refuseOtherScheme(present, input)
  const stored = body.Settings
    ? await editedSettings(tx, envelope, present, body.Settings, asked)
    : { ...present, isNewKey: false }
  const { settings, settingNames, accountThere, keyEnding, isNewKey } = stored
  await updateGateway(tx, tx.account, { ...input, settings, settingNames, accountThere, keyEnding, id: present.id })
  const isAcceptedAgain = await noteAnswer(tx, present.id, { isNewKey, version: present.version, asked })
  const kinds = primaryKindsAfter({ ...input, type: present.type }, present.primaryKinds, body.isPrimary ?? null)
  await replacePrimaries(tx, tx.account, present.id, kinds)
  if (isAcceptedAgain) await recorded(tx, context, 'gateway.accepted', present.id)
  return recorded(tx, context, 'gateway.updated', present.id)
}

/** Throws a conflict where the one currency of a gateway would change: what it keeps is of its scheme. */
function refuseOtherScheme({ type, currencies: before }: Gateway, { currencies }: GatewayInput): void {
  if (!gatewayFactsOf(type).schemes || currencies?.[0] === before?.[0]) return
  throw conflict(
    'currency_fixed',
    `The currency stays ${before?.[0]}; add another gateway for ${currencies?.[0]}.`,
    'CurrencyCodes',
  )
}

/** Merges Settings into those of a gateway. Throws a conflict where mandates were signed for one that would change, or cards are stored under another key. */
async function editedSettings(
  tx: Transaction,
  envelope: Envelope,
  gateway: Gateway,
  sent: SentSettings,
  asked: SecretKeyAnswer | undefined,
): Promise<StoredSettings & { isNewKey: boolean }> {
  const facts = gatewayFactsOf(gateway.type)
  const present = openSettings(envelope, tx.account, gateway)
  const merged = mergedSettings(facts, present, sent)
  const accountThere = await accountOfKey(tx, gateway, { before: present, after: merged }, asked)
  const { type } = gateway
  const isNewKey = keyIn(type, merged) !== keyIn(type, present)
  const stored = { ...sealedSettings(envelope, tx.account, gateway, merged), accountThere, isNewKey }
  const { fixedByMandates: fixed } = facts
  if (fixed === undefined || present[fixed] === undefined) return stored
  const isSame = readSettings(facts, merged)[fixed] === readSettings(facts, present)[fixed]
  if (!isSame && (await hasMandates(tx, tx.account, gateway.id)))
    throw conflict(
      'setting_fixed',
      `Mandates were signed for the ${fixed} of gateway ${gateway.id}; add another gateway for another one.`,
      `Settings.${fixed}`,
    )
  return stored
}

/** Secrets that sign reports: the present one, and the one before, by which some may be under way. */
const REPORT_SECRETS = 2

/** Puts a secret that signs reports before the one of a gateway until then. */
export async function keepReportSecret(
  tx: Transaction,
  context: RequestContext,
  envelope: Envelope,
  { id }: Pick<Gateway, 'id'>,
  secret: string,
): Promise<void> {
  const gateway = await lockGateway(tx, tx.account, id)
  if (!gateway) throw missing('gateway_unknown', `This account has no gateway ${id}.`)
  const present = openSettings(envelope, tx.account, gateway)
  const { WebhookSecrets: before } = present
  const secrets = [secret, ...(Array.isArray(before) ? before : [])].slice(0, REPORT_SECRETS)
  const sealed = sealedSettings(envelope, tx.account, gateway, { ...present, WebhookSecrets: secrets })
  await updateGateway(tx, tx.account, { ...gateway, ...sealed })
  await recorded(tx, context, 'gateway.updated', id)
}

/** Deletes a gateway that nothing names. Methods stored there keep it by their foreign key, which is refused as a use. */
export async function removeGateway(tx: Transaction, context: RequestContext, gateway: Gateway): Promise<void> {
  const { id, type } = gateway
  if (gatewayFactsOf(type).isGiven)
    throw conflict('gateway_given', `The gateway of type ${type} stays with its account; set isActive false.`)
  const uses = await gatewayUses(tx, tx.account, id, context.moment.today)
  const used = [
    uses.methods && 'a payment method',
    uses.customers && 'a customer',
    uses.invoices && 'an open invoice',
    uses.subscriptions && 'a subscription',
    uses.recurring && 'a recurring invoice',
    uses.batches && 'a batch that is not completed',
  ].find(Boolean)
  if (used) throw conflict('gateway_used', `The gateway ${id} is used by ${used}; set isActive false instead.`)
  await recordChange(tx, context, gatewayKind, { type: 'gateway.deleted', row: gateway })
  await deleteGateway(tx, tx.account, id)
}

/**
 * Returns a sentence where an answer is about another charge or refund than was asked about: by the adapter's word, or by its name. `keep` keeps the name
 * and returns the one that is kept then.
 */
export async function mismatchIn(
  answer: NamedAnswer,
  about: AskedAbout,
  keep: (name: string) => Promise<string | null>,
): Promise<string | undefined> {
  if (answer.kind === 'unknown') return answer.mismatch
  const name = nameOfAnswer(answer)
  const kept = name === null ? null : await keep(name)
  return name === null || kept === name ? undefined : namedOtherwise(about, name, kept)
}

/** Records that a gateway answered about another charge or refund than it was asked about: a person has to look. The same is recorded once. */
export const recordMismatch = async (
  tx: Transaction,
  context: RequestContext,
  id: Id,
  reason: string,
): Promise<void> => {
  if (await isRecordedFor(tx, { type: 'gateway.mismatch', recordId: id, reason })) return
  const row = await findGateway(tx, tx.account, id)
  assert(row, `gateway ${id} exists`)
  await recordChange(tx, context, gatewayKind, { type: 'gateway.mismatch', row, reason })
}

/** Records that a gateway takes nothing, once a day for each reason. */
export async function recordRefusal(tx: Transaction, context: RequestContext, id: Id, reason: string): Promise<void> {
  if ((await noteRefusal(tx, id, reason)).length === 0) return
  const row = await findGateway(tx, tx.account, id)
  assert(row, `gateway ${id} exists`)
  await recordChange(tx, context, gatewayKind, { type: 'gateway.refused', row, reason })
}

/**
 * Records that a gateway does not accept the secret key that it was called with, once until it accepts it again: no money moves meanwhile. Nothing where that
 * key is no longer the one of its Settings.
 */
export async function recordKeyRefused(
  tx: Transaction,
  context: RequestContext,
  envelope: Envelope,
  called: { id: Id; settings: Readonly<Record<string, unknown>> },
  reason: string,
): Promise<void> {
  const gateway = await lockGateway(tx, tx.account, called.id)
  if (!gateway) return
  const { type } = gateway
  if (keyIn(type, openSettings(envelope, tx.account, gateway)) !== keyIn(type, called.settings)) return
  if ((await noteKeyRefused(tx, gateway.id)).length === 0) return
  await recordChange(tx, context, gatewayKind, {
    type: 'gateway.refused',
    row: { ...gateway, keyState: 'refused' },
    reason,
  })
}

/** Records that a gateway accepts its secret key, which it did not before, or had not answered about. Nothing where it is another gateway by now. */
export async function recordKeyAccepted(
  tx: Transaction,
  context: RequestContext,
  { id, version }: Gateway,
  accountThere: string | null,
): Promise<void> {
  const gateway = await lockGateway(tx, tx.account, id)
  if (gateway?.version !== version || (await noteKeyAccepted(tx, id, accountThere)).length === 0) return
  await recorded(tx, context, 'gateway.accepted', id)
}

/** Counts the debits that left through a gateway in the last days, and how many of them came back. Throws a conflict for one of another kind. */
export async function returnRatesOf(
  db: Queryable,
  account: AccountId,
  { id, type }: Pick<Gateway, 'id' | 'type'>,
  today: IsoDate,
): Promise<ReturnRates> {
  if (!gatewayFactsOf(type).nachaCompany)
    throw conflict('gateway_unfit', `The gateway ${id} makes no NACHA files, whose returns have limits.`)
  const days = daysOfRates(today)
  return ratesFrom(days, await listReturnCodes(db, account, id, days))
}

/** Records the rates of a gateway that have reached half of a limit, or the limit, each once in 30 days; called after debits came back. Locks the gateway, after all else. */
export async function recordReturnRates(tx: Transaction, context: RequestContext, id: Id): Promise<void> {
  const gateway = await findGateway(tx, tx.account, id)
  assert(gateway, `gateway ${id} exists`)
  if (!gatewayFactsOf(gateway.type).nachaCompany) return
  // Locked before it is counted: of two at the same time the second counts what the first has written.
  const reported = (await lockRatesReported(tx, id)) ?? {}
  const rates = await returnRatesOf(tx, tx.account, gateway, context.moment.today)
  const reached = boundsToReport(rates, reported)
  if (reached.length === 0) return
  for (const { kind, bound } of reached)
    await recordEvent(tx, context, {
      type: 'gateway.return_rate',
      recordId: id,
      record: rateReportedToWire(id, rates, kind),
      reason: bound === 'limit' ? 'The limit of Nacha is reached.' : 'Half of the limit of Nacha is reached.',
    })
  const now = Object.fromEntries(reached.map(({ kind, bound }) => [kind, { bound, on: rates.to }]))
  await writeRatesReported(tx, id, { ...reported, ...now })
}

async function recorded(
  tx: Transaction,
  context: RequestContext,
  type: 'gateway.created' | 'gateway.updated' | 'gateway.accepted',
  id: Id,
): Promise<Gateway> {
  const row = await findGateway(tx, tx.account, id)
  assert(row, `gateway ${id} was written`)
  await recordChange(tx, context, gatewayKind, { type, row })
  return row
}
