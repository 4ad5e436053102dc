import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Config } from '../config.ts'
import { StartFailure } from '../postgres/start-failure.ts'

/** Fails as listening will where another program has the port: to be asked before a first start makes a database. */
export async function checkPortIsFree({ host, port }: Pick<Config, 'host' | 'port'>): Promise<void> {
  await startFailureOfListen({ host, port }, async () => {
    const probe = createServer().listen({ host, port })
    await once(probe, 'listening')
    probe.close()
    await once(probe, 'close')
    return host
  })
}

/** Listens, or fails with one sentence that names the remedy. */
export async function startFailureOfListen(
  config: Pick<Config, 'host' | 'port'>,
  listen: () => Promise<string>,
): Promise<string> {
  try {
    return await listen()
  } catch (error) {
    const { code } = error as { code?: string }
    if (code === 'EADDRINUSE')
      throw new StartFailure(
        `Port ${config.port} on ${config.host} is in use: stop the other program, or set PORT to a free one.`,
      )
    if (code === 'EACCES')
      throw new StartFailure(`Port ${config.port} may not be used by this user: set PORT to one from 1024 on.`)
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
      throw new StartFailure(`HOST ${config.host} is no address of this machine: set HOST to 127.0.0.1 or 0.0.0.0.`)
    throw error
  }
}
