import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The wide form of the stage, by hand: tests that are written for one server, each file on a distributed database of its own. CLUSTER_WIDE names a folder that keeps
 * what each file executed, so that they can be run in parts; the share of statements counts all that is in it.
 */
export const WIDE = process.env['CLUSTER_WIDE']

const root = new URL('../../', import.meta.url).pathname

/** Returns the path of a test file below the project. */
export const fileOf = (path: string): string => path.replace(root, '')

/** Returns what was noted of all files, see `noting.js`. */
export function readExecuted(folder: string): Set<string> {
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => !name.endsWith('.txt')) : []
  const lines = names.flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n'))
  // A process that was killed may have left half a line.
  return new Set(lines.filter((line) => line.endsWith('"')).map((line) => JSON.parse(line) as string))
}

/** Collected statements that nothing sends, because what is made up for them has more than any caller hands in, and why. */
const NEVER_SENT: readonly [RegExp, string][] = [
  [/\bin \(select unnest\(.*\bbetween \$/s, 'a search finds identifiers or bounds, never both'],
]

/** Returns the share of the collected statements that are among those, and the others with their files. Throws if one is there that nothing sends. */
export async function executedShare(sent: ReadonlySet<string>): Promise<{ share: number; missed: string[] }> {
  // Not for each file: it loads the whole program.
  const { collectStatements } = await import('../api/statements.testing.ts')
  const { statements } = await collectStatements()
  const whole = [...statements].filter(([, { isComplete, isPlainOnly }]) => isComplete && !isPlainOnly)
  for (const [pattern, reason] of NEVER_SENT) {
    const some = whole.filter(([text]) => pattern.test(text))
    if (some.length === 0 || some.some(([text]) => sent.has(text))) throw new Error(`it is not so that ${reason}`)
  }
  const asked = whole.filter(([text]) => !NEVER_SENT.some(([pattern]) => pattern.test(text)))
  const missed = asked.filter(([text]) => !sent.has(text))
  return {
    share: 1 - missed.length / asked.length,
    missed: missed.map(([text, { file }]) => `${file}: ${text.replaceAll(/\s+/g, ' ').trim()}`),
  }
}
