import { createHash } from 'node:crypto'
import { demoClient, type Send } from '../src/demo/client.ts'
import { liveStory } from '../src/demo/story.ts'
import { addMonths } from '../src/kernel/calendar.ts'
import type { RecordedCall } from '../src/platform/http/recorded.ts'
import { type Body, bodyOf, type Call, QUERIES, STORY, UNRECORDED } from './recorded-story.ts'

/** Records one call of each operation over the records of a demo. What is random in answers is replaced, so that every run gives the same. */

const LAST_DAY = '2027-01-01'
export const FIRST_DAY = addMonths(LAST_DAY, -12)
/** The moment of the story, by the real clock too. */
export const NOW = `${LAST_DAY}T09:00:00.000Z`
const CUSTOMERS = 12
const SEED = 7

/** Operations that the story calls at a moment of its own. */
const OWN_STEPS = new Set(STORY.flatMap((step) => (typeof step === 'object' ? [step.id] : [])))
/** Entries of a list that an example shows. */
const ENTRIES_MAX = 2

interface Reply {
  status: number
  body: unknown
  text: string
}
export type Request = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Reply>

/** The parts of openapi.json that the recording reads. */
interface Documented {
  paths: Record<
    string,
    Record<
      string,
      {
        operationId: string
        parameters?: { name: string; in: string; required: boolean }[]
        responses: Record<string, { content?: Record<string, unknown> }>
      }
    >
  >
}

interface Operation {
  id: string
  method: string
  path: string
  params: { name: string; in: string; required: boolean }[]
  isJson: boolean
}

const operationsOf = (document: Documented): Operation[] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, parameters = [], responses }]) => ({
      id: operationId,
      method: method.toUpperCase(),
      path,
      params: parameters,
      isJson: Object.entries(responses).some(
        ([status, { content }]) => Number(status) < 300 && content?.['application/json'] !== undefined,
      ),
    })),
  )

/** Returns the same requests, one after the other: identifiers follow from their order. */
function oneByOne(request: Request): Request {
  let last: Promise<unknown> = Promise.resolve()
  return (...given) => {
    const reply = last.then(() => request(...given))
    last = reply.catch(() => {})
    return reply
  }
}

/** Lives the demo and the story with the requests of an account that is new, and returns the calls by operation. */
export async function recordExamples(given: Request): Promise<Record<string, RecordedCall>> {
  const request = oneByOne(given)
  const send: Send = (method, path, body) => request(method, path, body)
  const wish = { customers: CUSTOMERS, seed: SEED, firstDay: FIRST_DAY, lastDay: LAST_DAY, now: NOW }
  await liveStory(demoClient(send), wish, { lived: () => {}, lastDayComes: () => {} })
  const operations = operationsOf((await request('GET', '/openapi.json')).body as Documented)
  return withoutRandom(await recordStory(request, operations))
}

async function recordStory(request: Request, operations: readonly Operation[]): Promise<Record<string, RecordedCall>> {
  const byId = new Map(operations.map((operation) => [operation.id, operation]))
  const recorded: Record<string, RecordedCall> = {}
  const known: Body = {}
  const must = async (method: string, path: string, body?: unknown, headers?: Record<string, string>) => {
    const reply = await request(method, path, body, headers)
    if (reply.status >= 400) throw new Error(`${method} ${path} ${reply.status} ${reply.text}`)
    return reply
  }
  const record = async (call: Call) => {
    const operation = byId.get(call.id)
    if (!operation) throw new Error(`There is no operation ${call.id}`)
    const path = pathOf(operation, call, known)
    const body = bodyOf(call, known)
    const isPreviewed = operation.params.some(({ name }) => name === 'preview')
    const preview = isPreviewed
      ? (await must(operation.method, `${path}${path.includes('?') ? '&' : '?'}preview=true`, body)).body
      : undefined
    const { status, body: answer } = call.file
      ? await must(operation.method, path, call.file, { 'content-type': 'application/xml' })
      : await must(operation.method, path, body)
    recorded[call.id] = { path, body, status, answer: cut(answer), preview }
    Object.assign(known, call.learn?.(answer))
  }
  for (const step of STORY)
    if (typeof step === 'function')
      Object.assign(known, await step(async (...sent) => (await must(...sent)).body, known))
    else if (step === 'reads')
      for (const { id, method, isJson } of operations) {
        if (method === 'GET' && isJson && !OWN_STEPS.has(id) && !(id in UNRECORDED)) await record({ id })
      }
    else await record(step)
  return recorded
}

const MAIL_LENGTH = 200
/** Cuts lists and the pages of mails down to what shows their form. */
const cut = (answer: unknown): unknown =>
  answer === undefined
    ? undefined
    : JSON.parse(JSON.stringify(Array.isArray(answer) ? answer.slice(0, ENTRIES_MAX) : answer), (name, value) =>
        name === 'Html' && value?.length > 2 * MAIL_LENGTH ? `${value.slice(0, MAIL_LENGTH)}…` : value,
      )

function pathOf(operation: Operation, { path = () => ({}), query = QUERIES[operation.id] }: Call, known: Body): string {
  const values = { ...known, ...path(known) }
  const found = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    if (values[name] === undefined) throw new Error(`${operation.id} needs ${name}`)
    return encodeURIComponent(String(values[name]))
  })
  const isList = operation.params.some(({ name }) => name === 'sort')
  const sent = query ? query(known) : isList ? { sort: '-id', page_size: ENTRIES_MAX } : {}
  const text = new URLSearchParams(
    Object.entries(sent).map(([name, value]): [string, string] => [name, String(value)]),
  ).toString()
  return text === '' ? found : `${found}?${text}`
}

/** Identifiers, tokens, keys and hashes that are drawn anew in each run; a token may begin with a hyphen, which is no boundary of a word. */
const RANDOM =
  /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32,}\b|(?<=[-x])[a-z2-7]{26}\b|(?<=whsec_)[\w+/]{43}=|(?<=\bsandbox-[a-z]+-\d+\.)[\w-]{12}|(?<![\w-])(?!whsec_)(?=[\w-]*[A-Z])(?=[\w-]*[\d_-])[\w-]{32,}/g

/** An instant of the machine's clock; those of the story have whole minutes. */
const REAL_INSTANT = /\d{4}-\d\d-\d\dT\d\d:\d\d:(?!00\.000)\d\d\.\d{3}Z/g

/** Puts others in the places of random texts, of the same form and always the same: one for each, wherever it stands. */
export function withoutRandom(recorded: Record<string, RecordedCall>): Record<string, RecordedCall> {
  const others = new Map<string, string>()
  const text = JSON.stringify(recorded)
    .replaceAll(RANDOM, (found) => {
      const other = others.get(found) ?? otherOf(found, others.size)
      others.set(found, other)
      return other
    })
    .replaceAll(REAL_INSTANT, NOW)
  return JSON.parse(text) as Record<string, RecordedCall>
}

/** Returns a text of the form of another: of hexadecimal digits where that has only those and small letters, else of any. */
function otherOf(text: string, number: number): string {
  const digest = createHash('sha512').update(`example ${number}`)
  // A short one may lack capitals by chance.
  if (text.length < 26 || /[A-Z]/.test(text)) return digest.digest('base64url').slice(0, text.length)
  const digits = digest.digest('hex')
  return text.replaceAll(/[0-9a-z]/g, (_, at: number) => digits[at % digits.length] as string)
}
