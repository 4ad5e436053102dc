import { StartFailure } from '../postgres/start-failure.ts'

/**
 * Schema numbers: a schema has the number of its newest migration, and a least one, the newest migration that a program must know to work on it. See
 * docs/decisions/0056-schema-numbers.md.
 */

/** Lines of comment at the beginning of a migration. */
const HEAD = /^(?:--.*\n)*/
const LEAST = /^-- least: (\d+)$/m

/** Returns the newest migration that a program must know to work on what a migration leaves: its own number, unless its head names another one. */
export const leastOf = (version: number, text: string): number => {
  const [, least] = LEAST.exec(HEAD.exec(text)?.[0] ?? '') ?? []
  return least === undefined ? version : Number(least)
}

/** A migration that a database has. */
export interface AppliedMigration {
  version: number
  name: string
  hash: string
  /** Null: it ran before there were such numbers, and its own counts. */
  least: number | null
  /** The version of the program that ran it; null: unknown. */
  program: string | null
}

/** Returns the newest migration that a program must know to work on a database; 0 for an empty one. */
export const leastOfDatabase = (applied: readonly Pick<AppliedMigration, 'version' | 'least'>[]): number =>
  Math.max(0, ...applied.map(({ version, least }) => least ?? version))

/** Returns what a program lacks for the schema of a database, and the version that does not; undefined if it knows enough. */
export function lackOf(
  applied: readonly AppliedMigration[],
  newestKnown: number,
): { text: string; mend: string } | undefined {
  const least = leastOfDatabase(applied)
  if (least <= newestKnown) return undefined
  const program = (applied.find(({ version }) => version === least) ?? applied.at(-1))?.program
  return {
    text: `the database needs a program that knows migration ${least}, and this version knows only ${newestKnown}`,
    mend:
      program == null
        ? 'start a version at least as new as the one that was used before'
        : `start version ${program} or a newer one`,
  }
}

/** Throws a StartFailure that names the version which is needed, if a program knows too little of the schema of a database. */
export function checkKnowsLeast(applied: readonly AppliedMigration[], newestKnown: number): void {
  const lack = lackOf(applied, newestKnown)
  if (lack) throw new StartFailure(`${lack.text.replace('the', 'The')}: ${lack.mend}.`)
}

/** A live process of the service, as far as migrations ask for it. */
export interface LiveProcess {
  kind: string
  host: string
  pid: number
  version: string
  /** The newest migration that it knows. */
  schema: number
  state: string
}

/** Names a process for the person who is to stop it. */
export const nameOfProcess = ({ kind, version, host, pid }: LiveProcess): string =>
  `${kind} ${version} on ${host}, process ${pid}`

/** Throws a StartFailure that names the live processes for which migrations leave a schema that they do not know. */
export function checkOthersKnow(
  lacking: readonly { name: string; least: number }[],
  live: readonly LiveProcess[],
): void {
  const least = Math.max(0, ...lacking.map((one) => one.least))
  const unknowing = live.filter(({ schema }) => schema < least)
  if (unknowing.length === 0) return
  const names = lacking.filter((one) => unknowing.some(({ schema }) => schema < one.least)).map(({ name }) => name)
  throw new StartFailure(
    `The database needs ${names.join(', ')}, beside which these processes cannot run: ${unknowing.map(nameOfProcess).join('; ')}. Stop them, or run "perennial migrate --maintenance"; nothing was changed.`,
  )
}
