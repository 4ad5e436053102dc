import { pathParameter } from '../../platform/http/path-parameters.ts'
import { listOperation } from '../../platform/http/list.ts'
import { type Operation, type PathParams, readOperation, writeOperation } from '../../platform/http/operation.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { type RequestContext, writingOf } from '../../kernel/context.ts'
import { pathId } from '../../platform/http/handle.ts'
import type { Id } from '../../kernel/ids.ts'
import {
  type AnyOwner,
  type FrozenPlan,
  type VersionBody,
  type VersionedKind,
  type VersionInTree,
  versionsOf,
} from './versioned.ts'
import { type Answer, noContent } from '../../platform/http/answer.ts'
import type { Version } from './types.ts'

pathParameter('versionno', 'The number of the version, counted from 1 within its package or component.', {
  type: 'string',
})

const EDIT_REFUSALS = {
  409: 'Subscriptions name the version and its prices would change, or it is the default and would not be',
}

/** Answers the version of a path. */
const answerVersion =
  <Owner extends AnyOwner, V extends Version, Body extends VersionBody, Prices, Plan extends FrozenPlan>(
    kind: VersionedKind<Owner, V, Body, Prices, Plan>,
  ) =>
  async (db: Queryable, context: RequestContext, { params }: { params: PathParams }): Promise<Answer> => {
    const { unknown } = versionsOf(kind)
    const { id: ownerId } = await kind.foundOwner(db, context, params)
    const versionNo = pathId(params, 'versionno', unknown(ownerId))
    const [version] = await kind.list(db, context.account.id, { ownerId, versionNo }, context.moment.today)
    if (!version) throw unknown(ownerId)(versionNo)
    return { status: 200, body: kind.shape.write(version, writingOf(context)), etag: kind.etag(version) }
  }

/** Locks the owner of the version of a path, and finds the version in it. */
const lockVersion =
  <Owner extends AnyOwner, V extends Version, Body extends VersionBody, Prices, Plan extends FrozenPlan>(
    kind: VersionedKind<Owner, V, Body, Prices, Plan>,
  ) =>
  async (tx: Transaction, context: RequestContext, { params }: { params: PathParams }) => {
    const { locate, unknown } = versionsOf(kind)
    const tree = await kind.lockedTree(tx, context, params)
    return locate(tree, pathId(params, 'versionno', unknown(tree.owner.id)))
  }

/** Declares the five operations on the versions of one kind of owner. */
export function versionOperations<
  Owner extends AnyOwner,
  V extends Version,
  Body extends VersionBody,
  Prices,
  Plan extends FrozenPlan,
>(
  kind: VersionedKind<Owner, V, Body, Prices, Plan>,
  summaries: Record<'list' | 'read' | 'add' | 'edit', string>,
): Operation[] {
  const versions = versionsOf(kind)
  const { tag, pricesField } = kind
  const named = kind.owner === 'package' ? 'PackageVersion' : 'ComponentVersion'
  const path = `${kind.path}/{${kind.param}}/versions`
  const read = answerVersion(kind)
  const editing = {
    path: `${path}/{versionno}`,
    tag,
    success: { status: 204 },
    record: lockVersion(kind),
    etag: ({ version }: VersionInTree<Owner, V>) => kind.etag(version),
  }
  return [
    listOperation({
      id: `list${named}s`,
      path,
      tag,
      summary: summaries.list,
      out: kind.shape,
      parent: async (db, context, params) => ({ ownerId: (await kind.foundOwner(db, context, params)).id }),
      rows: (db, account, filter: { ownerId: Id }, start, limit, today) =>
        kind.list(db, account, { ...filter, start, limit }, today),
      count: (db, account, { ownerId }) => kind.count(db, account, ownerId),
    }),
    readOperation({
      id: `get${named}`,
      path: `${path}/{versionno}`,
      tag,
      summary: summaries.read,
      success: { status: 200, schema: kind.shape.schema },
      read,
    }),
    writeOperation({
      id: `add${named}`,
      method: 'POST',
      path,
      tag,
      summary: summaries.add,
      body: kind.newBody,
      success: { status: 201, schema: kind.shape.schema },
      record: (tx, context, { params }) => kind.lockedTree(tx, context, params),
      references: (tx, _context, { body }, problems) => kind.readPrices(tx, body, pricesField, problems),
      write: async (tx, context, { body }, tree, prices) => {
        const version = await versions.add(tx, context, tree, body, prices ?? [])
        return {
          status: 201,
          body: kind.shape.write(version, writingOf(context)),
          etag: kind.etag(version),
          headers: { location: `${kind.path}/${tree.owner.id}/versions/${version.versionNo}` },
        }
      },
    }),
    writeOperation({
      ...editing,
      id: `edit${named}`,
      method: 'PUT',
      summary: summaries.edit,
      representation: { schema: kind.shape.schema, headers: ['ETag'], read },
      body: kind.editBody,
      refusals: EDIT_REFUSALS,
      references: async (tx, _context, { body }, problems, { version }) => {
        kind.checkNewPrices(body, version, pricesField, problems)
        return kind.readPrices(tx, body, pricesField, problems)
      },
      write: async (tx, context, { body }, present, prices) =>
        noContent(kind.etag(await versions.edit(tx, context, present, body, prices))),
    }),
    writeOperation({
      ...editing,
      id: `delete${named}`,
      method: 'DELETE',
      summary: 'Delete a version that no subscription ever named',
      refusals: { 409: 'Subscriptions name the version, or it is the default or the last one' },
      write: async (tx, context, _input, present) => {
        await versions.remove(tx, context, present)
        return noContent()
      },
    }),
  ]
}
