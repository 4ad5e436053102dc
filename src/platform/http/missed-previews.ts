import type { Problems } from '../../kernel/fault.ts'
import { isJsonObject, type Json } from '../wire/json.ts'
import { nearName } from '../wire/near-names.ts'

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
