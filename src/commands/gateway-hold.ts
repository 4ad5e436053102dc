import { withFollowUps } from '../duties.ts'
import { getAccount, listAllAccounts } from '../features/accounts/queries.ts'
import { listBatches } from '../features/batches/queries.ts'
import type { ReportDeps } from '../features/gateway-reports/apply.ts'
import { type ReadBefore, readBeforeRelease } from '../features/gateway-reports/before-release.ts'
import { reportLostCard } from '../features/gateway-reports/receive.ts'
import { holdByHand, releaseGateway } from '../features/gateways/actions.ts'
import { makeAdapters } from '../features/gateways/adapters.ts'
import { gatewayFactsOf } from '../features/gateways/facts.ts'
import {
  findGateway,
  getHeldFrom,
  type HeldGateway,
  listHeldGateways,
  listHeldGatewaysOf,
} from '../features/gateways/queries.ts'
import { openTexts } from '../features/result-files/list-lines.ts'
import { listUnknownToGateway } from '../features/result-files/queries.ts'
import { assert } from '../kernel/assert.ts'
import type { Instant } from '../kernel/calendar.ts'
import { backgroundContext, momentOf, type RequestContext } from '../kernel/context.ts'
import { conflict, missing } from '../kernel/fault.ts'
import type { AccountId, Id } from '../kernel/ids.ts'
import { plural } from '../kernel/text.ts'
import type { Database } from '../platform/database/database.ts'
import { sendsMail } from '../platform/config.ts'
import { type FailoverNote, listFailovers, listOpenEffects } from '../platform/failover/queries.ts'
import { callingOf } from './calling.ts'
import { chosenAccount } from './chosen-account.ts'
import { type CommandContext, withDatabase } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { printJson, printLine } from './output.ts'

/** `perennial gateway hold` and `release`: whether money moves through a gateway. */

async function contextOf(db: Database, id: AccountId): Promise<RequestContext> {
  const account = await getAccount(db.reader(id), id)
  return backgroundContext(account, momentOf(account, Date.now), { actor: 'command line' })
}

/** Finds the account of a gateway: the one that is named, or any. */
async function accountOf(db: Database, gateway: Id, named: AccountId | undefined): Promise<AccountId> {
  const accounts = named === undefined ? await listAllAccounts(db.unscoped) : [await chosenAccount(db, named)]
  for (const { id } of accounts) if (await findGateway(db.reader(id), id, gateway)) return id
  throw missing(
    'gateway_unknown',
    named === undefined ? `There is no gateway ${gateway}.` : `Account ${named} has no gateway ${gateway}.`,
  )
}

/** Lists the gateways that are held, of one account or of all. */
async function heldOf(db: Database, named: AccountId | undefined): Promise<HeldGateway[]> {
  if (named === undefined) return listHeldGateways(db.unscoped)
  const { id } = await chosenAccount(db, named)
  return listHeldGatewaysOf(db.reader(id), id)
}

/** Holds a gateway of a live or a test account at once. Where the account is named, no other is asked. */
export async function holdGatewayCommand(
  context: CommandContext,
  { account: named, gateway }: { account: AccountId | undefined; gateway: Id },
): Promise<number> {
  const held = await withDatabase(context, async (db) => {
    const account = await accountOf(db, gateway, named)
    const about = await contextOf(db, account)
    await db.transaction(account, (tx) => holdByHand(tx, about, { id: gateway }))
    const found = await findGateway(db.reader(account), account, gateway)
    return { account, heldFor: found?.heldFor ?? null }
  })
  if (context.isJson) printJson({ gatewayID: gateway, AccountID: held.account, HeldFor: held.heldFor })
  else printLine(`No money moves through gateway ${gateway} of account ${held.account} now (${held.heldFor}).`)
  return EXIT.done
}

/** A batch that this database has not handed over: its bank may have got it all the same. */
interface Unsubmitted {
  token: string
  state: string
  actionDate: string
  lines: number
}

/** A held gateway with what was found before it is released. */
interface Looked extends HeldGateway {
  /** Undefined where it has no reports to read. */
  read: ReadBefore | undefined
  /** Its charges and refunds that this database does not know, as sentences of the list in which a person closes them. */
  unknown: readonly string[]
  effects: readonly FailoverNote[]
  unsubmitted: readonly Unsubmitted[]
}

/** States of a batch that is not handed over. */
const UNSUBMITTED = ['open', 'failed', 'build'] as const
const PAGE = 1_000
/** Effects that a refusal names. */
const NAMED_MAX = 20

async function unsubmittedOf(db: Database, { account, id }: HeldGateway): Promise<Unsubmitted[]> {
  const reader = db.reader(account)
  const gateway = await findGateway(reader, account, id)
  const found: Unsubmitted[] = []
  for (const state of UNSUBMITTED) {
    const filter = { state, gatewayToken: gateway?.token, from: undefined, to: undefined, passed: null }
    for (let fromId: Id | undefined = 0n; fromId !== undefined;) {
      const batches = await listBatches(reader, account, filter, { fromId, skip: 0 }, PAGE)
      for (const { token, actionDate, lineCount } of batches)
        if (lineCount > 0) found.push({ token, state, actionDate, lines: lineCount })
      const last = batches.at(-1)
      fromId = batches.length < PAGE || last === undefined ? undefined : last.id + 1n
    }
  }
  return found
}

const listed = (all: readonly string[]): string =>
  all.slice(0, NAMED_MAX).join(', ') + (all.length > NAMED_MAX ? ` and ${all.length - NAMED_MAX} more` : '')

const effectOf = ({ operation, id: reference, sentAt }: FailoverNote): string => `${operation} ${reference} (${sentAt})`

/** Throws where money may have moved of which this database may know nothing: charged again, a customer pays twice. */
function refuseOpen({ id, type, read, unknown, effects }: Looked): void {
  const refuse = (code: string, why: string) => {
    throw conflict(code, `Gateway ${id} stays held: ${why}, then add --anyway.`)
  }
  const compare = 'Compare the payments since then with its console, record what is missing'
  if (read?.isForgotten)
    refuse(
      'reports_forgotten',
      `its reports are needed from ${read.since} on, and ${type} forgets them after ${gatewayFactsOf(type).reportDays} days. ${compare}`,
    )
  if (read?.isRead === false)
    refuse(
      'reports_unread',
      `it did not list what it has reported since ${read.since}. Run this again later, or: ${compare}`,
    )
  if (read && read.unanswered.length > 0)
    refuse(
      'reports_unanswered',
      `it has reported, and did not answer about ${listed(read.unanswered)}. Run this again later, or: ${compare}`,
    )
  if (unknown.length > 0)
    refuse(
      'charges_unknown',
      `it has made what this database does not know: ${listed(unknown)} Record each, and close its line in /v1/resultfiles, or have compared all of them`,
    )
  if (effects.length > 0)
    refuse(
      'effects_open',
      `what left before the failover may not be known here: ${listed(effects.map(effectOf))}. Compare each with the gateway's console, record what is missing`,
    )
}

/** Lines of charges that are not known which are read. */
const UNKNOWN_MAX = 1_000

/** Reads what a held gateway has reported, and finds what may be missing here. */
async function lookAt(deps: ReportDeps, held: HeldGateway): Promise<Looked> {
  const { db } = deps
  const { account: accountId, id } = held
  const reader = db.reader(accountId)
  const gateway = await findGateway(reader, accountId, id)
  assert(gateway, `gateway ${id} exists`)
  const account = await getAccount(reader, accountId)
  const read = await readBeforeRelease(deps, account, gateway, await lossFrom(db, held))
  const lines = await listUnknownToGateway(reader, accountId, id, UNKNOWN_MAX)
  return {
    ...held,
    read,
    unknown: lines.map((line) => openTexts(deps, accountId, line).reference ?? `line ${line.id}`),
    effects: await listOpenEffects(reader, accountId, id),
    unsubmitted: await unsubmittedOf(db, held),
  }
}

/** Returns from when on records may be missing here: after a failover, from the last commit that was replayed. */
async function lossFrom(db: Database, { account, id, heldFor }: HeldGateway): Promise<Instant> {
  const heldFrom = await getHeldFrom(db.reader(account), account, id)
  if (heldFor !== 'failover') return heldFrom
  const lossy = (await listFailovers(db.unscoped)).findLast(({ isLossy }) => isLossy)
  return lossy?.replayedAt ?? heldFrom
}

/**
 * Releases a gateway, or each that is held, of one account or of all: all or none. First reads what they have reported; throws what is still open, unless
 * `isAnyway`.
 */
export async function releaseHeld(
  deps: ReportDeps,
  { account, gateway, isAnyway }: { account: AccountId | undefined; gateway: Id | undefined; isAnyway: boolean },
): Promise<Looked[]> {
  const { db } = deps
  const held = (await heldOf(db, account)).filter(({ id }) => gateway === undefined || id === gateway)
  if (gateway !== undefined && held.length === 0) await accountOf(db, gateway, account)
  const all: Looked[] = []
  for (const one of held) all.push(await lookAt(deps, one))
  if (!isAnyway) for (const one of all) refuseOpen(one)
  for (const one of all) {
    const about = await contextOf(db, one.account)
    await db.transaction(one.account, (tx) => releaseGateway(tx, about, one))
  }
  return all
}

/** Releases gateways, and lists what was found before and what was not handed over by what this database knows. */
export async function releaseGatewaysCommand(
  context: CommandContext,
  wish: { account: AccountId | undefined; gateway: Id | undefined; isAnyway: boolean },
): Promise<number> {
  const released = await withDatabase(context, async (db, opened) => {
    const envelope = await opened.openEnvelope()
    const adapters = makeAdapters({ db, envelope, calling: callingOf(context.config, db), onCardGone: reportLostCard })
    const hasMailServer = sendsMail(context.config)
    return releaseHeld({ ...withFollowUps({ envelope, adapters, hasMailServer }), db, realClock: Date.now }, wish)
  })
  if (context.isJson) printJson(released.map(asJson))
  else if (released.length === 0)
    printLine(wish.gateway === undefined ? 'No gateway is held.' : `Gateway ${wish.gateway} is not held.`)
  else for (const one of released) printReleased(one)
  return EXIT.done
}

const asJson = ({ id, account, heldFor, read, unknown, unsubmitted, effects }: Looked) => ({
  gatewayID: id,
  AccountID: account,
  WasHeldFor: heldFor,
  Reports: read && {
    Since: read.since,
    isRead: read.isRead && !read.isForgotten,
    Named: read.named,
    Unanswered: read.unanswered,
  },
  Unknown: unknown,
  Unsubmitted: unsubmitted.map(({ token, state, actionDate, lines }) => ({
    BatchToken: token,
    State: state,
    ActionDate: actionDate,
    Lines: lines,
  })),
  Effects: effects.map(({ operation, id: reference, sentAt }) => ({
    Kind: operation,
    Reference: reference,
    At: sentAt,
  })),
})

function printReleased({ id, account, heldFor, read, unknown, unsubmitted, effects }: Looked): void {
  printLine(`Money moves again through gateway ${id} of account ${account}, which was held (${heldFor}).`)
  if (read) printLine(`  Its reports since ${read.since}: ${plural(read.named, 'name')} given back.`)
  if (read && (read.isForgotten || !read.isRead))
    printLine('  They were not read from there on: some are forgotten there, or it did not answer.')
  if (unknown.length > 0) printLine('  It has made what this database does not know:')
  for (const one of unknown) printLine(`  ${one}`)
  if (effects.length > 0) printLine('  These left before a failover, and their records may be missing:')
  for (const { operation, id: reference, sentAt } of effects) printLine(`  ${operation} ${reference}, ${sentAt}`)
  if (unsubmitted.length === 0) return
  printLine('  These batches are not handed over by what this database knows: compare them with what the bank got.')
  for (const { token, state, actionDate, lines } of unsubmitted)
    printLine(`  ${token}  ${state}, for ${actionDate}, ${plural(lines, 'line')}`)
}
