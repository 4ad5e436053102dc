import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'

/**
 * Machines of a test: each a network namespace of its own where the right and the program for that are there, so that its link can be taken down, after
 * which packets are lost and nothing is reset; else addresses of this machine. Knows no test runner.
 */

export interface Machine {
  address: string
  /** The words that come before those of a program that runs on it. */
  enter: readonly string[]
}

export interface Network {
  /** Each machine is a namespace. */
  isApart: boolean
  /** The address of the machine of the test itself. */
  own: string
  machine(place: number): Machine
  /** Takes the link of a machine down, or up again; only where it is a namespace. */
  link(place: number, isUp: boolean): void
  remove(): void
}

const ip = (...words: string[]) => execFileSync('ip', words, { stdio: ['ignore', 'ignore', 'pipe'] })

/** Returns why no namespaces can be made here; undefined if they can. */
export function whyNotApart(): string | undefined {
  const name = `perennial-try-${process.pid}`
  try {
    ip('netns', 'add', name)
    ip('netns', 'del', name)
    return undefined
  } catch (error) {
    return String((error as { stderr?: Buffer }).stderr ?? error).trim()
  }
}

/** Makes the network of so many machines: namespaces if `isApart`. */
export const makeNetwork = (count: number, isApart: boolean): Network => (isApart ? apart(count) : onThisMachine())

const onThisMachine = (): Network => ({
  isApart: false,
  own: '127.0.0.1',
  machine: (place) => ({ address: `127.0.0.${place + 2}`, enter: [] }),
  link: () => {
    throw new Error('a machine that is none has no link')
  },
  remove: () => {},
})

function apart(count: number): Network {
  // Tests beside each other have networks of their own.
  const mark = process.pid % 60_000
  const subnet = `10.${64 + Math.floor(mark / 250)}.${mark % 250}`
  const bridge = `pb${mark}`
  const spaceOf = (place: number) => `pn${mark}-${place}`
  const portOf = (place: number) => `pv${mark}-${place}`
  const addressOf = (place: number) => `${subnet}.${place + 1}`
  ip('link', 'add', bridge, 'type', 'bridge')
  ip('addr', 'add', `${subnet}.254/24`, 'dev', bridge)
  ip('link', 'set', bridge, 'up')
  for (let place = 0; place < count; place += 1) {
    const [space, port] = [spaceOf(place), portOf(place)]
    ip('netns', 'add', space)
    ip('link', 'add', port, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', space)
    ip('link', 'set', port, 'master', bridge, 'up')
    ip('-n', space, 'addr', 'add', `${addressOf(place)}/24`, 'dev', 'eth0')
    ip('-n', space, 'link', 'set', 'eth0', 'up')
    ip('-n', space, 'link', 'set', 'lo', 'up')
  }
  return {
    isApart: true,
    own: `${subnet}.254`,
    machine: (place) => ({ address: addressOf(place), enter: ['ip', 'netns', 'exec', spaceOf(place)] }),
    // At the end of the bridge: the machine itself notices nothing but silence.
    link: (place, isUp) => ip('link', 'set', portOf(place), isUp ? 'up' : 'down'),
    remove: () => {
      for (let place = 0; place < count; place += 1) ip('netns', 'del', spaceOf(place))
      ip('link', 'del', bridge)
    },
  }
}

/** Passes connections to an address of a machine on to a socket. */
const FORWARD = `
  const [net, [, host, port, path]] = [require('node:net'), process.argv]
  net.createServer((outside) => {
    const inside = net.connect(path)
    for (const [one, other] of [[outside, inside], [inside, outside]]) {
      one.setNoDelay?.(true)
      one.pipe(other)
      one.on('error', () => other.destroy())
      one.on('close', () => other.destroy())
    }
  }).listen(Number(port), host, () => console.log('forwards'))`

/** Starts on a machine what passes connections to its port on to a socket: servers of tests listen on sockets alone. Returns how to end it. */
export async function forward({ address, enter }: Machine, port: number, socket: string): Promise<() => void> {
  const [program = '', ...words] = [...enter, process.execPath, '-e', FORWARD, address, String(port), socket]
  const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  return () => void child.kill('SIGKILL')
}
