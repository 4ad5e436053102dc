import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { call, serve, type Serving, startedFolder, startProcess } from './program.ts'

/** A write of which only the head and the first half of the body have arrived. */
async function halfSentWrite(service: Serving): Promise<{ socket: Socket; finish(): Promise<string> }> {
  const body = JSON.stringify({ Name: 'Half', LastName: 'Sent' })
  const { hostname, port } = new URL(service.address)
  const socket = connect(Number(port), hostname)
  const credentials = Buffer.from(`${service.account}:${service.key}`).toString('base64')
  socket.write(
    `POST /v1/customers HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Basic ${credentials}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`,
  )
  // The server says "go on", so it has taken the request.
  await once(socket, 'data')
  socket.write(body.slice(0, 5))
  return {
    socket,
    finish: async () => {
      let answer = ''
      socket.setEncoding('utf8').on('data', (text: string) => (answer += text))
      socket.write(body.slice(5))
      await once(socket, 'close')
      return answer
    },
  }
}

const whenRefused = async (service: Serving): Promise<void> => {
  for (;;) {
    const isRefused = await fetch(`${service.address}/healthz`).then(
      () => false,
      () => true,
    )
    if (isRefused) return
  }
}

describe('stop', () => {
  test('a stop signal lets a running request finish, takes no new one, and ends with 0; what was answered is kept', async () => {
    const env = { DATA_DIR: startedFolder() }
    const service = await serve(env)
    const write = await halfSentWrite(service)
    service.child.kill('SIGTERM')
    await whenRefused(service)
    const answer = await write.finish()
    expect(answer).toMatch(/^HTTP\/1\.1 201 /)
    const location = /"customerID":(\d+)/.exec(answer)?.[1]
    expect((await service.ended).code).toBe(0)

    const again = await serve(env, ['--no-worker'])
    const kept = await call(again, service, `/v1/customers/${location}`)
    expect(kept.status).toBe(200)
  })

  test('behind a balancer it is not ready at once, goes on answering for a while on connections that each answer closes, and ends with 0', async () => {
    const service = await serve({ DATA_DIR: startedFolder(), DRAIN_SECONDS: '15' }, ['--no-worker'])
    service.child.kill('SIGTERM')
    await expect.poll(async () => (await fetch(`${service.address}/readyz`)).status, { interval: 20 }).toBe(503)
    const authorization = `Basic ${Buffer.from(`${service.account}:${service.key}`).toString('base64')}`
    const answer = await fetch(`${service.address}/v1/customers`, { headers: { authorization } })
    expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close'])
    expect((await service.ended).code).toBe(0)
  })

  test('a second signal ends at once, and the data folder is free for the next start', async () => {
    const env = { DATA_DIR: startedFolder() }
    const service = await serve(env)
    const { socket } = await halfSentWrite(service)
    socket.on('error', () => {})
    service.child.kill('SIGINT')
    await whenRefused(service)
    // Pressed again and again: what comes right behind the first is taken for the same.
    const pressing = setInterval(() => service.child.kill('SIGINT'), 100)
    expect((await service.ended).code).toBe(130)
    clearInterval(pressing)
    await serve(env, ['--no-worker'])
  })

  test('a key that reaches the program twice, from the terminal and from npm, stops it as once', async () => {
    const service = await serve({ DATA_DIR: startedFolder() })
    const write = await halfSentWrite(service)
    service.child.kill('SIGINT')
    service.child.kill('SIGINT')
    await whenRefused(service)
    service.child.kill('SIGINT')
    expect(await write.finish()).toMatch(/^HTTP\/1\.1 201 /)
    expect((await service.ended).code).toBe(0)
  })

  test('a signal to npm start reaches the service, and npm ends with 0 as well', async () => {
    const npm = startProcess('npm', ['start', '--silent'], { DATA_DIR: startedFolder() })
    await npm.says(/serves at/)
    npm.child.kill('SIGTERM')
    expect((await npm.ended).code).toBe(0)
  })

  test('a database that ends by itself ends the service with a failure, so that whoever runs it starts it again', async () => {
    const DATA_DIR = startedFolder()
    const service = await serve({ DATA_DIR })
    process.kill(postmasterOf(DATA_DIR), 'SIGKILL')
    const { code } = await service.ended
    expect(code).toBe(1)
  })
})

const postmasterOf = (dataDir: string): number =>
  Number(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])

test.each([
  ['silent', 'SIGQUIT', /^the database has ended: .*received immediate shutdown request/],
  ['fatal', 'SIGKILL', /^the database has ended: killed by signal 9 \(SIGKILL\)$/],
  ['info', 'SIGKILL', /^the database has ended: killed by signal 9 \(SIGKILL\)$/],
] as const)(
  'a service whose database has died says so at LOG_LEVEL=%s after %s, and fails',
  async (LOG_LEVEL, signal, reason) => {
    const DATA_DIR = startedFolder()
    // A worker would still be starting, and fail with words of its own.
    const service = await serve({ DATA_DIR, LOG_LEVEL }, ['--no-worker'])
    const postmaster = Number(readFileSync(join(DATA_DIR, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])
    process.kill(postmaster, signal)
    const { code, err } = await service.ended
    expect(code).toBe(1)
    const last = JSON.parse(
      err
        .trimEnd()
        .split('\n')
        .findLast((line) => line.includes('ended')) ?? '{}',
    ) as object
    expect(last).toMatchObject({
      level: 60,
      reason: expect.stringMatching(reason),
      msg: 'the service ends',
    })
  },
)

test('the log says what starts and that it has stopped, and after a kill that the service before did not stop', async () => {
  const DATA_DIR = startedFolder()
  const linesOf = ({ err }: { err: string }) =>
    err
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { msg: string })
  const killed = /did not stop by itself/
  const first = await serve({ DATA_DIR })
  first.child.kill('SIGTERM')
  const lines = linesOf(await first.ended)
  expect(lines.find(({ msg }) => msg === 'starting')).toMatchObject({
    msg: 'starting',
    version: expect.any(String),
    database: 'embedded',
    dataDir: DATA_DIR,
  })
  expect(lines.slice(-2)).toMatchObject([{ msg: 'stopping' }, { msg: 'stopped' }])
  const second = await serve({ DATA_DIR })
  second.child.kill('SIGKILL')
  expect((await second.ended).err).not.toMatch(killed)
  const third = await serve({ DATA_DIR }, ['--no-worker'])
  expect(third.said.err).toMatch(killed)
})
