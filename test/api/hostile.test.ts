import pg from 'pg'
import { expect, test } from 'vitest'
import { clientConfig } from '../../src/platform/database/open-database.ts'
import { startTestService } from '../support/app.ts'
import { answerChecker, type DocumentedOperation, operationsOf, readDocument } from './document.ts'
import { HOSTILE_TEXTS, hostileBody, rightBody, WRONG_BODIES, writeJson } from './samples.ts'
import { authorization, makeWorld, pathOf, PNG, RECIPES, type World } from './world.ts'

/**
 * Thousands of wrong requests, made from the OpenAPI document: none may be answered with a 5xx or with anything that its operation does
 * not declare, and none that is refused may change a row. Operations join by being declared.
 */

const WORKERS = 4
/** Hostile bodies altogether, shared by the operations that have one: more operations, not more time. */
const BODIES = Number(process.env['HOSTILE_BODIES'] ?? 1000)

interface Request {
  method: string
  url: string
  payload?: string | Buffer
  /** Description of the hostile part. */
  note?: string
  headers?: Record<string, string>
}

const service = await startTestService()
const document = await readDocument(service)
const operations = operationsOf(document)
const check = answerChecker(document)
const bodiesEach = Math.ceil(BODIES / operations.filter(({ body }) => body).length)

/**
 * Notes every row that a committed transaction touched: a refused request must leave no note. What a key was last used at is no data, nor is the lease by
 * which a long operation is known to be under way while it is found out whether it is refused.
 */
async function watchTables(owner: pg.Client): Promise<void> {
  await owner.query(`
    create table public.touched (id bigint generated always as identity primary key, account_id bigint, relation text);
    create index on public.touched (account_id, id);
    create function public.note_touched() returns trigger language plpgsql security definer as $$
    begin
      insert into public.touched (account_id, relation)
        values (case when tg_op = 'DELETE' then old.account_id else new.account_id end, tg_table_name);
      return null;
    end $$;
    do $$ declare name text; begin
      for name in select c.relname from pg_class c where c.relnamespace = 'perennial'::regnamespace and c.relkind = 'r' and c.relname not in ('api_keys', 'leases')
           and exists (select 1 from pg_attribute a where a.attrelid = c.oid and a.attname = 'account_id')
      loop
        execute format('create trigger noted after insert or update or delete on perennial.%I for each row execute function public.note_touched()', name);
      end loop;
    end $$`)
}

async function connectOwner(): Promise<pg.Client> {
  const owner = new pg.Client(clientConfig(service.connection, undefined))
  await owner.connect()
  return owner
}

const LEFT_OVER = { 'content-type': 'application/json' }

/** For each parameter: there are hundreds of these. */
const TEXTS_EACH = 3

/** Some of what is hostile: over all operations every one has its turns. */
const some = (world: World, all: readonly string[], count = TEXTS_EACH): string[] =>
  Array.from({ length: count }, () => all[world.random(all.length)] as string)

function* hostileRequests(operation: DocumentedOperation, world: World): Generator<Request> {
  const { method } = operation
  const own = pathOf(operation, world) ?? operation.path
  const payload = operation.body ? { payload: writeJson(rightBody(operation, world)), headers: LEFT_OVER } : {}
  const right = (url: string): Request => ({ method, url, ...payload })
  const foreign = pathOf(operation, world, 'foreign')
  if (operation.pathParams.length > 0 && foreign) yield right(foreign)
  for (const name of operation.pathParams)
    for (const text of some(world, HOSTILE_TEXTS)) {
      const path = operation.path.replace(`{${name}}`, text || '%20')
      yield right(path.replace(/\{\w+\}/g, '1'))
    }
  for (const { name } of operation.query)
    for (const text of some(world, HOSTILE_TEXTS)) yield right(`${own}?${name}=${encodeURIComponent(text)}`)
  for (const { name } of operation.query)
    for (const text of some(world, ['%00', '%zz', '%ed%a0%80', 'a&' + name + '=b'], 1))
      yield right(`${own}?${name}=${text}`)
  const odd: Record<string, string>[] = [
    { 'idempotency-key': 'k'.repeat(300) },
    { 'if-match': '"nope"' },
    { 'if-match': ',,W/' },
    { prefer: 'handling=strict' },
    { 'content-type': 'text/plain' },
    { 'content-type': ';;;' },
  ]
  for (const headers of odd) yield { ...right(own), headers: { ...LEFT_OVER, ...headers } }
  // What takes no body reads none.
  for (const wrong of operation.body ? WRONG_BODIES : some(world, WRONG_BODIES, 3))
    yield { method, url: own, payload: wrong, headers: LEFT_OVER }
  for (const wrong of [PNG, PNG.subarray(0, 10), Buffer.alloc(1_100_000, 'x')])
    yield { method, url: own, payload: wrong, headers: { 'content-type': operation.rawTypes[0] ?? 'application/json' } }
  if (!operation.body) return
  for (let n = 0; n < bodiesEach; n += 1) {
    const url = (n % 3 === 0 ? pathOf(operation, world) : own) ?? own
    yield {
      method,
      url,
      ...hostileBody(operation, world),
      headers: n % 5 === 0 ? { ...LEFT_OVER, prefer: 'handling=strict' } : LEFT_OVER,
    }
  }
}

interface Outcome {
  requests: number
  failures: string[]
  /** Statuses seen, by operation. */
  seen: Map<string, Set<number>>
}

/** Sends requests to operations as one account, and notes what is wrong with the answers. */
function attacker(world: World, owner: pg.Client) {
  const outcome: Outcome = { requests: 0, failures: [], seen: new Map() }
  const credentials = authorization(world.client)
  let last: string | undefined
  /** The newest note of a row that was touched in the account. */
  const look = async () => {
    const touched = await owner.query<{ last: string; relation: string }>(
      'select id as last, relation from public.touched where account_id = $1 order by id desc limit 1',
      [world.client.id],
    )
    const [now] = touched.rows
    const isChanged = now?.last !== last
    last = now?.last
    return { isChanged, relation: now?.relation }
  }
  const send = async (operation: DocumentedOperation, request: Request): Promise<void> => {
    const headers = { ...request.headers, authorization: credentials }
    const { url, payload } = request
    const reply = await service.app.server.inject({
      method: request.method as 'GET',
      url,
      headers,
      ...(payload === undefined ? {} : { payload }),
    })
    const { isChanged, relation } = await look()
    outcome.requests += 1
    outcome.seen.set(operation.id, (outcome.seen.get(operation.id) ?? new Set()).add(reply.statusCode))
    // A hostile identifier can make another path of the interface, which has its own methods.
    const isOtherPath = reply.statusCode === 405 && operation.pathParams.length > 0
    const answered = { status: reply.statusCode, text: reply.payload, headers: reply.headers }
    const wrong = isOtherPath ? undefined : check(operation, answered)
    const problem =
      isChanged && reply.statusCode >= 400 ? `refused with ${reply.statusCode}, yet ${relation} changed` : wrong
    if (problem)
      outcome.failures.push(
        `${operation.id} ${problem} | ${request.method} ${request.url.slice(0, 120)} ${request.note ?? String(request.payload ?? '').slice(0, 200)}`,
      )
  }
  return { outcome, send, look }
}

async function rightRequest(operation: DocumentedOperation, world: World): Promise<Request> {
  const recipe = await RECIPES[operation.id]?.(world)
  if (recipe)
    return {
      method: operation.method,
      url: recipe.path,
      headers: recipe.payload === undefined ? LEFT_OVER : { 'content-type': operation.rawTypes[0] ?? '' },
      ...(recipe.body ? { payload: writeJson(recipe.body) } : {}),
      ...(recipe.payload === undefined ? {} : { payload: recipe.payload }),
    }
  const body = rightBody(operation, world)
  const payload = operation.rawTypes.length > 0 ? PNG : body && writeJson(body)
  const headers = operation.rawTypes[0] ? { 'content-type': operation.rawTypes[0] } : LEFT_OVER
  const url = pathOf(operation, world) ?? operation.path
  return { method: operation.method, url, headers, ...(payload ? { payload } : {}) }
}

/** Operations that only Stripe, or a simulator of it, lets succeed: `test/journeys/stripe-operated.test.ts` does. */
const AT_STRIPE: ReadonlySet<string> = new Set(['connectGateway', 'disconnectGateway'])

/** Records are picked at random, and not every one can be deleted or changed. */
const RIGHT_TRIES = 40

/** Attacks with one worker's account: right requests to all of its operations while its records are new, then the hostile ones. */
async function attack(world: World, mine: readonly DocumentedOperation[], owner: pg.Client): Promise<Outcome> {
  const { outcome, send, look } = attacker(world, owner)
  const order = { GET: 0, DELETE: 1, PUT: 2, POST: 3 }
  for (const operation of mine.toSorted((a, b) => order[a.method] - order[b.method])) {
    const isDone = () => outcome.seen.get(operation.id)?.has(operation.success)
    for (let tries = 0; tries < RIGHT_TRIES && !isDone(); tries += 1) {
      const request = await rightRequest(operation, world)
      await look()
      await send(operation, request)
    }
    if (!isDone() && !AT_STRIPE.has(operation.id))
      outcome.failures.push(
        `${operation.id}: no right request could be made (${[...(outcome.seen.get(operation.id) ?? [])].join(', ')}); samples.ts or world.ts must learn how`,
      )
  }
  for (const operation of mine) for (const request of hostileRequests(operation, world)) await send(operation, request)
  return outcome
}

test(
  'no wrong request ends in a 5xx, in an undeclared answer, or in a change of data when it is refused',
  { timeout: 900_000 },
  async () => {
    const foreign = await makeWorld(service, operations, 'foreign')
    const worlds = await Promise.all(
      Array.from({ length: WORKERS }, (_, n) => makeWorld(service, operations, `world ${n}`)),
    )
    for (const world of worlds) world.foreignIds = foreign.ids
    const owners = await Promise.all(worlds.map(connectOwner))
    await watchTables(owners[0] as pg.Client)
    const started = Date.now()
    // What moves the clock or deletes comes last in each account: the others want records to be about.
    const order = (operation: DocumentedOperation) =>
      operation.path === '/v1/clock' ? 2 : operation.method === 'DELETE' ? 1 : 0
    const sorted = operations.toSorted((a, b) => order(a) - order(b))
    const outcomes = await Promise.all(
      worlds.map((world, n) =>
        attack(
          world,
          sorted.filter((_, position) => position % WORKERS === n),
          owners[n] as pg.Client,
        ),
      ),
    )
    const strangers = await (owners[0] as pg.Client).query(
      'select distinct relation from public.touched where account_id = $1',
      [foreign.client.id],
    )
    const noted = await (owners[0] as pg.Client).query<{ n: number }>('select count(*)::int as n from public.touched')
    await Promise.all(owners.map((owner) => owner.end()))
    const requests = outcomes.reduce((sum, outcome) => sum + outcome.requests, 0)
    if (process.env['TEST_LOG'])
      console.log(`${requests} requests to ${operations.length} operations in ${Date.now() - started} ms`)
    expect(outcomes.flatMap(({ failures }) => failures).slice(0, 40)).toEqual([])
    expect(strangers.rows).toEqual([])
    // The watch itself works: right requests left their notes.
    expect(noted.rows[0]?.n).toBeGreaterThan(100)
    expect(requests).toBeGreaterThan(3000)
  },
)
