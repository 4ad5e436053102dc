import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { type Binaries, DATABASE_ENVIRONMENT } from './binaries.ts'
import type { DataFolder } from './data-folder.ts'
import type { Identity } from './identity.ts'
import { findServersIn } from './processes.ts'
import { type ServerSettings, serverArguments } from './settings.ts'

/** End of the server process. */
export type ServerEnd = {
  /** Exit code of the server; null when a signal ended its guard. */
  readonly code: number | null
  /** True when the end was asked for by `stop()`. */
  readonly wasAsked: boolean
}

/** A server under its guard. */
export type GuardedServer = {
  readonly exited: Promise<ServerEnd>
  /** The last lines that the server wrote, for a sentence about why it did not start. */
  lastWords(): string
  /** Asks the server to stop (transactions under way are rolled back) and waits until it has. Harmless when repeated. */
  stop(): Promise<void>
}

// PostgreSQL's life is tied to the pipe that comes from the service: however the service ends, the pipe ends too.
// Stopping by SIGINT writes a last checkpoint, so that the next start has nothing to replay.
// The guard runs as the database's user, so what it writes and removes in the folder needs no trust from root.
// What a killed server left (pid file, socket) is removed under the lock: PostgreSQL itself would refuse to start
// when the number in its pid file is by now another process of the same user.
const GUARD = `
trap '' HUP INT TERM
umask 077
rm -f postmaster.pid .s.PGSQL.5432 .s.PGSQL.5432.lock
printf '%s\\n' 'local all all peer map=perennial' 'local replication all peer map=perennial' > pg_hba.conf || exit 70
printf '%s\\n' "$1" > pg_ident.conf || exit 70
shift
exec 4<&0 < /dev/null
"$@" 4<&- &
server=$!
(
  read -r ended <&4
  kill -INT $server
  seconds=0
  while kill -0 $server 2> /dev/null && test $seconds -lt 60; do sleep 1; seconds=$((seconds + 1)); done
  kill -QUIT $server
) 3<&- > /dev/null 2>&1 &
reader=$!
wait $server
code=$?
kill -KILL $reader
exit $code
`

const LAST_LINES = 20
const RETRY_MS = 20
const STOP_MS = 70_000
const LAST_WORDS_MS = 200

/** Starts the server in its folder, in a session of its own: Ctrl-C in a terminal reaches only the service. */
export function startGuardedServer(given: {
  folder: DataFolder
  lockDescriptor: number
  binaries: Binaries
  identity: Identity
  settings: ServerSettings | undefined
  onLine: (line: string) => void
}): GuardedServer {
  const { folder, identity, binaries } = given
  const server = [
    join(binaries.bin, 'postgres'),
    ...serverArguments(folderAsSeenInside(folder.cluster), given.settings),
  ]
  const child = spawn('/bin/sh', ['-c', GUARD, 'perennial-guard', identMap(identity), ...server], {
    ...identity.runAs,
    cwd: folder.cluster,
    env: DATABASE_ENVIRONMENT,
    detached: true,
    stdio: ['pipe', 'ignore', 'pipe', given.lockDescriptor],
  })
  return follow(child, folder.cluster, given.onLine)
}

/**
 * Returns how a database program names the folder it was started in. On Linux it never needs the path, so that folders above, which its
 * user may not be able to enter, need not be opened up.
 */
export function folderAsSeenInside(path: string): string {
  return process.platform === 'linux' ? '/proc/self/cwd' : path
}

// Only root and the service's own user may connect, as whatever database role they name.
function identMap(identity: Identity): string {
  const users = new Set(['root', identity.serviceUser])
  return [...users].map((user) => `perennial "${user}" all`).join('\n')
}

// When the guard itself was killed, its reader stops the server a little later.
async function noServerIn(folder: string): Promise<void> {
  const since = performance.now()
  while (findServersIn(folder).length > 0 && performance.now() - since < STOP_MS) await delay(RETRY_MS)
}

function follow(child: ChildProcess, folder: string, onLine: (line: string) => void): GuardedServer {
  const lines: string[] = []
  let wasAsked = false
  let allRead: Promise<unknown> = Promise.resolve()
  if (child.stderr) {
    const reading = createInterface({ input: child.stderr }).on('line', (line) => {
      lines.push(line)
      if (lines.length > LAST_LINES) lines.shift()
      onLine(line)
    })
    allRead = once(reading, 'close')
  }
  // A guard that is already gone breaks the pipe; its end is reported by exited.
  child.stdin?.on('error', () => undefined)
  const exited = new Promise<ServerEnd>((resolve, reject) => {
    child.once('error', reject)
    // Why it ended stands in the last lines; a process that outlives its guard for a moment may keep the pipe open.
    child.once('exit', (code) => {
      void Promise.race([allRead, delay(LAST_WORDS_MS)]).then(() => resolve({ code, wasAsked }))
    })
  })
  return {
    exited,
    lastWords: () => lines.join('\n'),
    stop: async () => {
      wasAsked = true
      child.stdin?.end()
      await exited
      await noServerIn(folder)
    },
  }
}
