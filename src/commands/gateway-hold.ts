import { listBatches } from '../features/batches/queries.ts'
import { holdByHand, releaseGateway } from '../features/gateways/actions.ts'
import { findGateway, type HeldGateway, listHeldGateways, listHeldGatewaysOf } from '../features/gateways/queries.ts'
import { getAccount, listAllAccounts } from '../features/accounts/queries.ts'
import { backgroundContext, momentOf, type RequestContext } from '../kernel/context.ts'
import { conflict, missing } from '../kernel/fault.ts'
import type { AccountId, Id } from '../kernel/ids.ts'
import { plural } from '../kernel/text.ts'
import type { Database } from '../platform/database/database.ts'
import { type FailoverNote, listOpenEffects } from '../platform/failover/queries.ts'
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

interface Released extends Pick<HeldGateway, 'account' | 'id' | 'type' | 'heldFor'> {
  unsubmitted: Unsubmitted[]
  effects: readonly FailoverNote[]
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

/** Throws where calls left of which this database may know nothing: charged again, a customer pays twice. */
function refuseEffects({ id }: HeldGateway, effects: readonly FailoverNote[]): void {
  if (effects.length === 0) return
  const named = effects
    .slice(0, NAMED_MAX)
    .map(({ operation, id: reference, sentAt }) => `${operation} ${reference} (${sentAt})`)
  const more = effects.length > NAMED_MAX ? ` and ${effects.length - NAMED_MAX} more` : ''
  throw conflict(
    'effects_open',
    `Gateway ${id} stays held: what left before the failover may not be known here: ${named.join(', ')}${more}. Compare each with the gateway's console, record what is missing, then add --anyway.`,
  )
}

/** Releases a gateway, or each that is held, of one account or of all, and lists what was not handed over by what this database knows. */
export async function releaseGatewaysCommand(
  context: CommandContext,
  { account, gateway, isAnyway }: { account: AccountId | undefined; gateway: Id | undefined; isAnyway: boolean },
): Promise<number> {
  const released = await withDatabase(context, async (db): Promise<Released[]> => {
    const held = (await heldOf(db, account)).filter(({ id }) => gateway === undefined || id === gateway)
    if (gateway !== undefined && held.length === 0) await accountOf(db, gateway, account)
    const done: Released[] = []
    // All or none.
    const effectsOf = new Map<Id, FailoverNote[]>()
    for (const { account, id } of held) effectsOf.set(id, await listOpenEffects(db.reader(account), account, id))
    for (const one of held) if (!isAnyway) refuseEffects(one, effectsOf.get(one.id) ?? [])
    for (const one of held) {
      const about = await contextOf(db, one.account)
      const unsubmitted = await unsubmittedOf(db, one)
      await db.transaction(one.account, (tx) => releaseGateway(tx, about, one))
      done.push({ ...one, unsubmitted, effects: effectsOf.get(one.id) ?? [] })
    }
    return done
  })
  if (context.isJson) printJson(released.map(asJson))
  else if (released.length === 0)
    printLine(gateway === undefined ? 'No gateway is held.' : `Gateway ${gateway} is not held.`)
  else for (const one of released) printReleased(one)
  return EXIT.done
}

const asJson = ({ id, account, heldFor, unsubmitted, effects }: Released) => ({
  gatewayID: id,
  AccountID: account,
  WasHeldFor: heldFor,
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

function printReleased({ id, account, heldFor, unsubmitted, effects }: Released): void {
  printLine(`Money moves again through gateway ${id} of account ${account}, which was held (${heldFor}).`)
  if (effects.length > 0) printLine('  These left before a failover, and their records may be missing:')
  for (const { operation, id: reference, sentAt } of effects) printLine(`  ${operation} ${reference}, ${sentAt}`)
  if (unsubmitted.length === 0) return
  printLine('  These batches are not handed over by what this database knows: compare them with what the bank got.')
  for (const { token, state, actionDate, lines } of unsubmitted)
    printLine(`  ${token}  ${state}, for ${actionDate}, ${plural(lines, 'line')}`)
}
