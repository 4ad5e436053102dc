import { readFileSync, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { errorCodeOf, OTHER_WAY, StartFailure } from './start-failure.ts'

/** Whom the database runs as, and who may connect to it. */
export type Identity = {
  /** uid and gid for `spawn`; undefined when the service is an ordinary user and the database runs as the same one. */
  readonly runAs: { readonly uid: number; readonly gid: number } | undefined
  /** Name of the service's own user, as PostgreSQL sees it at the other end of the socket. */
  readonly serviceUser: string
}

/**
 * Decides whom the database runs as. PostgreSQL refuses to run as root, so root hands it to the owner of an existing
 * database folder, else to a user `perennial` if someone made one, else to `nobody`.
 * Throws a StartFailure when there is nobody it could run as.
 */
export function chooseIdentity(dataDir: string): Identity {
  if (process.getuid?.() !== 0) return { runAs: undefined, serviceUser: ownName() }
  return { runAs: ownerOf(join(dataDir, 'postgres')) ?? defaultUser(), serviceUser: 'root' }
}

function ownName(): string {
  try {
    return userInfo().username
  } catch {
    throw new StartFailure(
      `The user id ${process.getuid?.()} has no line in /etc/passwd, and PostgreSQL does not start for such a user: add a line, start as another user, ${OTHER_WAY}.`,
    )
  }
}

function ownerOf(folder: string): { uid: number; gid: number } | undefined {
  try {
    const { uid, gid } = statSync(folder)
    return uid === 0 ? undefined : { uid, gid }
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

function defaultUser(): { uid: number; gid: number } {
  const user = passwdEntry('perennial') ?? passwdEntry('nobody')
  if (user) return user
  throw new StartFailure(
    `PostgreSQL does not run as root, and /etc/passwd knows neither a user perennial nor nobody: add one, start as an ordinary user, ${OTHER_WAY}.`,
  )
}

// Read from the file and not asked from the system: Node has no call for it, and initdb wants a line there anyway.
function passwdEntry(name: string): { uid: number; gid: number } | undefined {
  const line = passwdLines().find((fields) => fields[0] === name)
  const uid = Number(line?.[2])
  const gid = Number(line?.[3])
  return line && Number.isInteger(uid) && Number.isInteger(gid) && uid > 0 ? { uid, gid } : undefined
}

function passwdLines(): string[][] {
  try {
    return readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .map((line) => line.split(':'))
  } catch {
    return []
  }
}
