import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * A balancer as operators put one before several services: it takes turns among those that are ready, asks each for that twice a second, and repeats
 * nothing. Knows no test runner.
 */

const ASK_EVERY_MS = 500
const ASK_PATIENCE_MS = 2_000

interface Target {
  address: string
  isReady: boolean
  agent: Agent
}

export interface Balancer {
  address: string
  /** Puts a service, or another one in its place, before callers once it is ready. */
  put(name: string, address: string): void
  addressOf(name: string): string
  /** Names of the services that are ready. */
  ready(): string[]
  /** How many requests of callers found their connection cut, by the name of the service. */
  readonly cuts: ReadonlyMap<string, number>
  close(): Promise<void>
}

/** Asks whether a service is ready, by a connection of its own. */
const asksReady = (address: string): Promise<boolean> =>
  new Promise((resolve) => {
    const asked = request(`${address}/readyz`, { agent: false, timeout: ASK_PATIENCE_MS }, (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    })
    asked.on('timeout', () => asked.destroy())
    asked.on('error', () => resolve(false))
    asked.end()
  })

export async function startBalancer(host = '127.0.0.1'): Promise<Balancer> {
  const targets = new Map<string, Target>()
  const cuts = new Map<string, number>()
  let turn = 0

  const look = (target: Target) =>
    void asksReady(target.address).then((isReady) => {
      target.isReady = isReady
    })
  const timer = setInterval(() => targets.forEach(look), ASK_EVERY_MS)

  function next(): [string, Target] | undefined {
    const ready = [...targets].filter(([, { isReady }]) => isReady)
    turn += 1
    return ready[turn % ready.length]
  }

  function pass(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const chosen = next()
    if (!chosen) {
      incoming.resume()
      outgoing.writeHead(503, { 'content-type': 'application/json', 'retry-after': '1' })
      outgoing.end('{"Errors":[{"Code":"no_service","Message":"No service is ready.","Field":null}]}')
      return
    }
    const [name, { address, agent }] = chosen
    const cut = () => {
      if (outgoing.destroyed) return
      cuts.set(name, (cuts.get(name) ?? 0) + 1)
      outgoing.destroy()
    }
    const { method, url, headers } = incoming
    const passed = request(address + url, { method, headers, agent }, (response) => {
      // Of the connection to the service alone.
      const { connection: _, 'keep-alive': __, ...kept } = response.headers
      outgoing.writeHead(response.statusCode ?? 502, kept)
      response.pipe(outgoing)
      response.on('error', cut)
      response.on('aborted', cut)
    })
    passed.on('error', cut)
    outgoing.on('close', () => {
      if (!outgoing.writableFinished) passed.destroy()
    })
    incoming.pipe(passed)
  }

  const server = createServer(pass)
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  return {
    address: `http://${host}:${(server.address() as AddressInfo).port}`,
    put: (name, address) => {
      targets.get(name)?.agent.destroy()
      const target = { address, isReady: false, agent: new Agent({ keepAlive: true }) }
      targets.set(name, target)
      look(target)
    },
    addressOf: (name) => targets.get(name)?.address ?? '',
    ready: () => [...targets].filter(([, { isReady }]) => isReady).map(([name]) => name),
    cuts,
    close: async () => {
      if (!server.listening) return
      clearInterval(timer)
      for (const { agent } of targets.values()) agent.destroy()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
