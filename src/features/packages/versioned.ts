import { sendChanged } from '../events/queries.ts'
import { assert } from '../../kernel/assert.ts'
import { conflict, type Fault, missing, type Problems } from '../../kernel/fault.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import { sentenceList } from '../../kernel/text.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { type RequestContext, writingOf } from '../../kernel/context.ts'
import type { PathParams } from '../../platform/http/operation.ts'
import type { RecordShape } from '../../platform/wire/columns.ts'
import type { Field } from '../../platform/wire/read.ts'
import { recordEvent } from '../events/record.ts'
import { becomesDefault, checkCanBeSpared, defaultAfterEdit } from './rules.ts'
import type { Version, VersionChoice, VersionTree } from './types.ts'

/** Versions of packages and of components: one set of rules for which is the default, what is frozen, and what can be deleted. */

export interface VersionBody {
  VersionName: string
  isActive: boolean
  isDefault?: boolean | null
}

/** A package or a component, as the rules of its versions see it. */
export interface AnyOwner {
  id: Id
  lastVersionNo: number
}

/** A plan for new prices; `frozen` names what would change though it may not once a subscription names the version. */
export interface FrozenPlan {
  frozen: readonly string[]
}

/** A version within its tree. */
export interface VersionInTree<Owner, V extends Version> extends VersionTree<Owner, V> {
  version: V
}

type VersionEvents = 'package_version' | 'component_version'

/** How the versions of one kind of owner are read and written, and what they are called. */
export interface VersionedKind<
  Owner extends AnyOwner,
  V extends Version,
  Body extends VersionBody,
  Prices,
  Plan extends FrozenPlan,
> {
  owner: 'package' | 'component'
  code: VersionEvents
  /** The collection of the owners, and the parameter that names one: /v1/packages, packageID. */
  path: string
  param: string
  tag: string
  shape: RecordShape<V>
  etag(version: V): string
  /** The field of a body that holds the prices. */
  pricesField: string
  newBody: Field<Body>
  editBody: Field<Body>
  ownerIdOf(version: V): Id
  currenciesOf(version: V): string[]
  /** Finds the owner of a path, or throws its 404. */
  foundOwner(db: Queryable, context: RequestContext, params: PathParams): Promise<Owner>
  lockedTree(tx: Transaction, context: RequestContext, params: PathParams): Promise<VersionTree<Owner, V>>
  list(db: Queryable, account: AccountId, choice: VersionChoice, today: IsoDate): Promise<V[]>
  count(db: Queryable, account: AccountId, ownerId: Id): Promise<number>
  /** Reads the prices of a body, checked on their own and against the account's currencies; undefined when none were sent. */
  readPrices(tx: Transaction, body: Partial<Body>, path: string, problems: Problems): Promise<Prices[] | undefined>
  /** Refuses a new currency that comes without its prices. */
  checkNewPrices(body: Partial<Body>, present: V, path: string, problems: Problems): void
  currencyOf(prices: Prices): string
  planPrices(present: V, wanted: readonly Prices[]): Plan
  isUsed(tx: Transaction, account: AccountId, id: Id): Promise<boolean>
  updateOwner(tx: Transaction, account: AccountId, owner: Owner): Promise<unknown>
  insert(tx: Transaction, account: AccountId, version: Omit<Version, 'id'> & { ownerId: Id }): Promise<Id>
  insertPrices(tx: Transaction, account: AccountId, id: Id, prices: readonly Prices[]): Promise<void>
  update(tx: Transaction, account: AccountId, version: Omit<Version, 'versionNo'>): Promise<unknown>
  unsetDefault(tx: Transaction, account: AccountId, ownerId: Id): Promise<unknown>
  applyPlan(tx: Transaction, account: AccountId, id: Id, plan: Plan): Promise<void>
  remove(tx: Transaction, account: AccountId, id: Id): Promise<unknown>
}

export interface Versions<Owner, V extends Version, Prices> {
  unknown(ownerId: Id): (versionNo: bigint | string) => Fault
  locate(tree: VersionTree<Owner, V>, versionNo: bigint): VersionInTree<Owner, V>
  /** Adds a version under the next number; it takes the default only where the rule lets it. */
  add(
    tx: Transaction,
    context: RequestContext,
    tree: VersionTree<Owner, V>,
    body: VersionBody,
    prices: readonly Prices[],
  ): Promise<V>
  /** Replaces a version; an absent isDefault and absent prices stay as they are. */
  edit(
    tx: Transaction,
    context: RequestContext,
    present: VersionInTree<Owner, V>,
    body: VersionBody,
    wanted: readonly Prices[] | undefined,
  ): Promise<V>
  /** Deletes a version that no subscription ever named and that its owner can do without. */
  remove(tx: Transaction, context: RequestContext, present: VersionInTree<Owner, V>): Promise<void>
}

/** Makes the changes of the versions of one kind of owner. Each throws a Fault where a rule forbids it. */
export function versionsOf<
  Owner extends AnyOwner,
  V extends Version,
  Body extends VersionBody,
  Prices,
  Plan extends FrozenPlan,
>(kind: VersionedKind<Owner, V, Body, Prices, Plan>): Versions<Owner, V, Prices> {
  const named = ({ owner }: VersionTree<Owner, V>) => `${kind.owner} ${owner.id}`
  const defaultIn = ({ versions }: VersionTree<Owner, V>) => versions.find(({ isDefault }) => isDefault)
  const currenciesHeld = (version: V | undefined) => (version ? kind.currenciesOf(version) : [])
  const unknown = (ownerId: Id) => (versionNo: bigint | string) =>
    missing(`${kind.code}_unknown`, `The ${kind.owner} ${ownerId} has no version ${versionNo}.`, 'versionno')

  async function recordVersionEvent(
    tx: Transaction,
    context: RequestContext,
    change: 'created' | 'updated' | 'deleted',
    version: V,
  ): Promise<void> {
    const text = kind.shape.write(version, writingOf(context))
    await recordEvent(tx, context, { type: `${kind.code}.${change}`, recordId: version.id, record: text })
    sendChanged(tx, kind.owner, [kind.ownerIdOf(version)])
  }

  async function loadVersion(tx: Transaction, context: RequestContext, ownerId: Id, versionNo: number): Promise<V> {
    const choice = { ownerId, versionNo: BigInt(versionNo) }
    const [version] = await kind.list(tx, tx.account, choice, context.moment.today)
    assert(version, `version ${versionNo} of ${kind.owner} ${ownerId} exists`)
    return version
  }

  const usedBy = (version: V, what: string, field: string) =>
    conflict(
      `${kind.code}_used`,
      `Version ${version.versionNo} of ${kind.owner} ${kind.ownerIdOf(version)} is ${what}`,
      field,
    )

  /** Rule: a version that subscriptions name keeps its prices, because what they were sold stays what they are billed. */
  async function checkFrozen(tx: Transaction, version: V, frozen: readonly string[]): Promise<void> {
    if (frozen.length === 0 || !(await kind.isUsed(tx, tx.account, version.id))) return
    const what = `in use by subscriptions: ${sentenceList(frozen)} cannot change. Add a new version instead.`
    throw usedBy(version, what, kind.pricesField)
  }

  return {
    unknown,
    locate: (tree, versionNo) => {
      const version = tree.versions.find((one) => BigInt(one.versionNo) === versionNo)
      if (!version) throw unknown(tree.owner.id)(versionNo)
      return { ...tree, version }
    },
    add: async (tx, context, tree, body, prices) => {
      const { account } = tx
      const { owner } = tree
      const versionNo = owner.lastVersionNo + 1
      const losing = defaultIn(tree)
      const wanted = {
        isDefault: body.isDefault ?? false,
        isActive: body.isActive,
        currencies: prices.map(kind.currencyOf),
      }
      const isDefault = becomesDefault(wanted, currenciesHeld(losing))
      await kind.updateOwner(tx, account, { ...owner, lastVersionNo: versionNo })
      if (isDefault) await kind.unsetDefault(tx, account, owner.id)
      const added = { ownerId: owner.id, versionNo, name: body.VersionName, isDefault, isActive: body.isActive }
      await kind.insertPrices(tx, account, await kind.insert(tx, account, added), prices)
      const version = await loadVersion(tx, context, owner.id, versionNo)
      await recordVersionEvent(tx, context, 'created', version)
      if (isDefault && losing) await recordVersionEvent(tx, context, 'updated', { ...losing, isDefault: false })
      return version
    },
    edit: async (tx, context, present, body, prices) => {
      const { account } = tx
      const { owner, version, versions } = present
      const { VersionName: name, isActive } = body
      const currencies = prices?.map(kind.currencyOf) ?? kind.currenciesOf(version)
      const wanted = { isDefault: body.isDefault ?? version.isDefault, isActive, currencies }
      const held = currenciesHeld(defaultIn(present))
      const isDefault = defaultAfterEdit(named(present), version, versions.length, wanted, held)
      const plan = prices && kind.planPrices(version, prices)
      if (plan) await checkFrozen(tx, version, plan.frozen)
      const losing = isDefault && !version.isDefault ? defaultIn(present) : undefined
      if (losing) await kind.unsetDefault(tx, account, owner.id)
      await kind.update(tx, account, { id: version.id, name, isDefault, isActive })
      if (plan) await kind.applyPlan(tx, account, version.id, plan)
      const edited = await loadVersion(tx, context, owner.id, version.versionNo)
      await recordVersionEvent(tx, context, 'updated', edited)
      if (losing) await recordVersionEvent(tx, context, 'updated', { ...losing, isDefault: false })
      return edited
    },
    remove: async (tx, context, present) => {
      const { version, versions } = present
      checkCanBeSpared(named(present), version, versions.length)
      if (await kind.isUsed(tx, tx.account, version.id))
        throw usedBy(version, 'named by subscriptions and cannot be deleted; make it inactive instead.', 'versionno')
      await kind.remove(tx, tx.account, version.id)
      await recordVersionEvent(tx, context, 'deleted', version)
    },
  }
}
