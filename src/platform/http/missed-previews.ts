import type { Problems } from '../../kernel/fault.ts'
import { isJsonObject, type Json } from '../wire/json.ts'
import { nearName } from '../wire/near-names.ts'
import { type Operation, permissionOf } from './operation.ts'

/**
 * Previews that were meant and not asked for: a request that ignores `?previw=true` would do what its caller only wanted to look at. Unknown names
 * are ignored elsewhere; these are refused.
 */

const PREVIEW: ReadonlyMap<string, string> = new Map([['preview', 'preview']])

/** Other words for it, without case and underscores. */
const ALSO_CALLED = new Set(['dryrun', 'ispreview', 'simulate', 'testrun', 'whatif'])

const isMeant = (name: string): boolean =>
  nearName(name, PREVIEW) !== undefined || ALSO_CALLED.has(name.toLowerCase().replaceAll(/[_-]/g, ''))

/** Parameters that are looked at: a query of thousands has no more than these to be taken for a preview. */
const LOOKED_AT_MAX = 100

/** Returns whether a preview of an operation could be wanted: it changes something. */
export const changesSomething = (operation: Operation): boolean =>
  operation.kind !== 'read' && permissionOf(operation) === 'full' && operation.changesNothing !== true

/** Rule: whatever is not false asks for a preview; a name that comes twice arrives as a list. */
const isWish = (value: unknown): boolean => [value].flat().some((one) => String(one).toLowerCase() !== 'false')

/**
 * Adds a problem where a preview is asked of an operation that changes something and has none, strict or not: it would do what its caller only
 * wanted to look at. Returns the parameters that are left to be read.
 */
export function refuseAbsentPreview(
  operation: Operation,
  query: Record<string, unknown>,
  problems: Problems,
): Record<string, unknown> {
  if (operation.preview || !changesSomething(operation)) return query
  const wishes = Object.keys(query).filter((name) => name.toLowerCase() === 'preview' && isWish(query[name]))
  const [name] = wishes
  if (name === undefined) return query
  problems.add('no_preview', name, `${operation.method} ${operation.path} has no preview. Nothing was done.`)
  return Object.fromEntries(Object.entries(query).filter(([sent]) => !wishes.includes(sent)))
}

/** Adds a problem for each parameter that is unknown and nearly `preview`, and for a `preview` in a body that has no such field. */
export function refuseMissedPreviews(query: Record<string, unknown>, body: Json | undefined, problems: Problems): void {
  for (const name of Object.keys(query).slice(0, LOOKED_AT_MAX))
    // In another letter case it is a problem already.
    if (name.toLowerCase() !== 'preview' && isMeant(name))
      problems.add(
        'preview_misnamed',
        name,
        `The parameter ${name} is not known; did you mean preview? Nothing was done.`,
      )
  if (body === undefined || !isJsonObject(body)) return
  const wish = body['preview']
  if (wish === true || wish === 'true')
    problems.add('preview_misplaced', 'preview', 'preview belongs into the query, as ?preview=true. Nothing was done.')
}
