import { randomUUID } from 'node:crypto'
import type { Outbound } from '../../platform/outbound/outbound.ts'
import { steadyClock } from '../../platform/steady-clock.ts'
import { type AnswerObject, listIn, record, textIn } from './answer-objects.ts'
import type { Calling } from './calling.ts'
import type { GatewayCall, None, NotSent, Unknown } from './contract.ts'
import { type Meaning, meaningOf } from './gocardless-answers.ts'

/** Requests to GoCardless: JSON wrapped in the name of its collection, of a fixed version, each POST under a key. */

const VERSION = '2015-07-06'
const LIVE = 'https://api.gocardless.com'
const SANDBOX = 'https://api-sandbox.gocardless.com'

/** Calls a second of a gateway: GoCardless allows 1,000 a minute. */
export const GOCARDLESS_PER_SECOND = 15

type Refused = Exclude<Meaning, { kind: 'not_sent' | 'unknown' }>

export type GoCardlessAnswer =
  | { kind: 'ok'; object: AnswerObject; body: AnswerObject }
  | { kind: 'refused'; meaning: Refused }
  | Unknown
  | NotSent

export const NOT_KNOWN: Unknown = { kind: 'unknown' }
export const NONE: None = { kind: 'none' }

/** Returns what an answer without an object leaves: a request that surely did nothing, or nobody knows. */
export function unanswered(answer: Exclude<GoCardlessAnswer, { kind: 'ok' }>): Unknown | NotSent {
  if (answer.kind !== 'refused') return answer
  if (answer.meaning.kind !== 'forbidden') return NOT_KNOWN
  return { kind: 'not_sent', refused: { by: 'permission', code: 'insufficient_permissions' } }
}

/** Path: a collection, the identifier of one of its objects, and what is done with it. */
export type Path = readonly [collection: string, id?: string, action?: string]
export type Query = Readonly<Record<string, string | undefined>>

export interface GoCardlessApi {
  get(call: GatewayCall, path: Path, query?: Query): Promise<GoCardlessAnswer>
  /** A key that is left out is random: of what moves no money and may be made twice. */
  post(call: GatewayCall, path: Path, body: AnswerObject, key?: string): Promise<GoCardlessAnswer>
}

const pathOf = ([collection, id, action]: Path): string =>
  ['', collection, ...(id === undefined ? [] : [id]), ...(action === undefined ? [] : ['actions', action])]
    .map(encodeURIComponent)
    .join('/')

export function gocardlessApi({
  endpoints: { gocardless: endpoint },
  outbound,
  takePlace,
  ...deps
}: Calling): GoCardlessApi {
  async function ask(
    call: GatewayCall,
    path: Path,
    { query = {}, body, key }: { query?: Query; body?: AnswerObject; key?: string },
  ): Promise<GoCardlessAnswer> {
    if (endpoint !== undefined && call.isLive) return { kind: 'not_sent' }
    const { isCustomerPresent: isFirst, signal } = call
    const gateway = `${call.accountId}/${call.gatewayId}`
    if (!(await takePlace({ gateway, perSecond: GOCARDLESS_PER_SECOND, isFirst, signal }))) return { kind: 'not_sent' }
    const url = new URL(pathOf(path), endpoint ?? (call.isLive ? LIVE : SANDBOX))
    for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.append(name, value)
    const [collection, , action] = path
    const wrapped = body && JSON.stringify({ [action === undefined ? collection : 'data']: body })
    return readAnswer(
      collection,
      await outbound.ask(url, {
        method: body ? 'POST' : 'GET',
        headers: headersOf(call, key),
        ...(wrapped !== undefined && { body: wrapped }),
        signal,
        isRepeatable: true,
      }),
    )
  }

  async function measured(method: 'GET' | 'POST', path: Path, asked: Promise<GoCardlessAnswer>) {
    const begun = steadyClock()
    const answer = await asked
    const [collection, id, action] = path
    const operation = [method, collection, ...(id === undefined ? [] : ['*']), ...(action ? [action] : [])].join(' ')
    deps.measured({ type: 'gocardless', operation, outcome: answer.kind, seconds: (steadyClock() - begun) / 1_000 })
    return answer
  }

  return {
    get: (call, path, query = {}) => measured('GET', path, ask(call, path, { query })),
    post: (call, path, body, key = randomUUID()) => measured('POST', path, ask(call, path, { body, key })),
  }
}

const headersOf = ({ settings: { AccessToken } }: GatewayCall, key: string | undefined) => ({
  accept: 'application/json',
  authorization: `Bearer ${typeof AccessToken === 'string' ? AccessToken : ''}`,
  'gocardless-version': VERSION,
  ...(key !== undefined && { 'content-type': 'application/json', 'idempotency-key': key }),
})

const isSuccess = (status: number): boolean => status >= 200 && status < 300

function readAnswer(collection: string, asked: Awaited<ReturnType<Outbound['ask']>>): GoCardlessAnswer {
  if (asked.kind !== 'answered') return { kind: asked.kind }
  const body = record(asked.body)
  if (isSuccess(asked.status)) return { kind: 'ok', object: record(body[collection]), body }
  const meaning = meaningOf(asked.status, record(body.error))
  switch (meaning.kind) {
    case 'unknown':
      return NOT_KNOWN
    case 'not_sent':
      return { kind: 'not_sent', ...(meaning.refused && { refused: meaning.refused }) }
    default:
      return { kind: 'refused', meaning }
  }
}

/** The most that GoCardless lists on a page. */
export const PAGE = 500

/** Reads a page of a list: its objects, and where the next one begins. */
export async function listPage(
  api: GoCardlessApi,
  call: GatewayCall,
  collection: string,
  query: Query,
): Promise<{ kind: 'page'; objects: AnswerObject[]; after: string } | Exclude<GoCardlessAnswer, { kind: 'ok' }>> {
  const answer = await api.get(call, [collection], { ...query, limit: String(PAGE) })
  if (answer.kind !== 'ok') return answer
  if (!Array.isArray(answer.body[collection])) return NOT_KNOWN
  const after = textIn(record(record(answer.body.meta).cursors), 'after')
  return { kind: 'page', objects: listIn(answer.body, collection), after }
}

/** Lists a collection to its end. */
export async function listAll(
  api: GoCardlessApi,
  call: GatewayCall,
  collection: string,
  query: Query,
): Promise<{ kind: 'ok'; objects: AnswerObject[] } | Exclude<GoCardlessAnswer, { kind: 'ok' }>> {
  const objects: AnswerObject[] = []
  for (let after: string | undefined; ;) {
    const page = await listPage(api, call, collection, { ...query, after })
    if (page.kind !== 'page') return page
    objects.push(...page.objects)
    if (page.after === '') return { kind: 'ok', objects }
    after = page.after
  }
}
