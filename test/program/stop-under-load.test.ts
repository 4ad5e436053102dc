import { Agent, request } from 'node:http'
import { expect, test } from 'vitest'
import { call, serve, type Serving, startedFolder } from './program.ts'

const WRITERS = 24
const ACKNOWLEDGED_MIN = 300
/** The service gives running work this long. */
const STOP_MS_MAX = 30_000

type Outcome = { status: number; customer: number } | 'refused' | 'taken and dropped' | 'half an answer'

/**
 * Writes over a kept connection, as clients with a pool do. The request waits for "100 Continue" before it sends its body, and so knows whether it
 * was taken when no answer comes.
 */
function write(service: Serving, credentials: Serving, agent: Agent, key: string): Promise<Outcome> {
  const body = JSON.stringify({ Name: key, LastName: 'Writer' })
  return new Promise((resolve) => {
    let noAnswer: Outcome = 'refused'
    const asking = request(
      `${service.address}/v1/customers`,
      {
        agent,
        method: 'POST',
        auth: `${credentials.account}:${credentials.key}`,
        headers: {
          'content-type': 'application/json',
          'content-length': body.length,
          'idempotency-key': key,
          expect: '100-continue',
        },
      },
      (answer) => {
        noAnswer = 'half an answer'
        let text = ''
        answer.setEncoding('utf8').on('data', (piece: string) => (text += piece))
        answer.on('error', () => resolve('half an answer'))
        answer.on('end', () => {
          if (answer.complete) resolve({ status: answer.statusCode ?? 0, customer: JSON.parse(text).customerID })
          else resolve('half an answer')
        })
      },
    )
    asking.on('continue', () => {
      noAnswer = 'taken and dropped'
      asking.end(body)
    })
    asking.on('error', () => resolve(noAnswer))
    asking.flushHeaders()
  })
}

/** Every customer's name, page after page. */
async function namesOf(service: Serving, credentials: Serving): Promise<string[]> {
  const names: string[] = []
  for (let page = 1; ; page += 1) {
    const { body } = await call(service, credentials, `/v1/customers?page=${page}&page_size=100`)
    names.push(...body.map(({ Name }: { Name: string }) => Name))
    if (body.length < 100) return names
  }
}

test('SIGTERM among many writers: each answer is whole, each acknowledged write is kept, each other one is done once when it is sent again', async () => {
  const env = { DATA_DIR: startedFolder(), LOG_LEVEL: 'warn' }
  const first = await serve(env)
  const outcomes = new Map<string, Outcome>()
  let acknowledged = 0
  let stopAskedMs = 0
  const agent = new Agent({ keepAlive: true, maxSockets: WRITERS })
  await Promise.all(
    Array.from({ length: WRITERS }, async (_, writer) => {
      for (let n = 0; ; n += 1) {
        const key = `writer-${writer}-${n}`
        const outcome = await write(first, first, agent, key)
        outcomes.set(key, outcome)
        if (typeof outcome === 'string') return
        acknowledged += 1
        if (acknowledged === ACKNOWLEDGED_MIN) {
          stopAskedMs = performance.now()
          first.child.kill('SIGTERM')
        }
      }
    }),
  )
  const ended = await first.ended
  agent.destroy()
  expect(ended.code).toBe(0)
  expect(performance.now() - stopAskedMs).toBeLessThan(STOP_MS_MAX)
  expect(ended.err).not.toContain('could be finished')
  const told = [...outcomes.values()]
  expect(told.filter((outcome) => outcome === 'half an answer' || outcome === 'taken and dropped')).toEqual([])
  expect(told.filter((outcome) => typeof outcome === 'object' && outcome.status !== 201)).toEqual([])
  // Whoever was not served was told so by a closed or refused connection, each writer once.
  expect(told.filter((outcome) => outcome === 'refused')).toHaveLength(WRITERS)

  const second = await serve(env)
  const kept = await namesOf(second, first)
  const acknowledgedKeys = [...outcomes].flatMap(([key, outcome]) => (typeof outcome === 'object' ? [key] : []))
  // Neither is an acknowledged write lost, nor was one done whose caller was not told: what was taken was answered.
  expect(kept.toSorted()).toEqual(acknowledgedKeys.toSorted())
  const again = new Agent({ keepAlive: true })
  for (const [key, before] of outcomes) {
    const after = await write(second, first, again, key)
    expect(after).toMatchObject({ status: 201 })
    if (typeof before === 'object') expect(after).toEqual(before)
  }
  again.destroy()
  const all = await namesOf(second, first)
  expect(all.toSorted()).toEqual([...outcomes.keys()].toSorted())
})
