import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'

/**
 * The wide form of the stage, by hand: tests that are written for one server, each file on a distributed database of its own. CLUSTER_WIDE names a folder that keeps
 * what each file executed, so that they can be run in parts; the share of statements counts all that is in it.
 */
export const WIDE = process.env['CLUSTER_WIDE']

interface Parsing {
  parse(query: { text: string }): void
  sent?: Set<string>
}

/** Returns the texts of the statements that this process has had a server prepare since it was called first; they are noted from then on. */
export function notedStatements(): Set<string> {
  // The driver is one for all files that a process runs.
  const { prototype } = (pg as unknown as { Connection: { prototype: Parsing } }).Connection
  if (prototype.sent) return prototype.sent
  const { parse } = prototype
  const sent = (prototype.sent = new Set())
  prototype.parse = function (query) {
    sent.add(query.text)
    return parse.call(this, query)
  }
  return sent
}

/** Keeps what a test file executed, in the place of what it did before. */
export function keepExecuted(folder: string, file: string, texts: Iterable<string>): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${file.replaceAll('/', '.')}.json`), JSON.stringify([...texts]))
}

/** Returns what was kept of all files. */
export function readExecuted(folder: string): Set<string> {
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.json')) : []
  return new Set(names.flatMap((name): string[] => JSON.parse(readFileSync(join(folder, name), 'utf8')) as string[]))
}

/** Returns the share of the collected statements that are among those, and the others with their files. */
export async function executedShare(sent: ReadonlySet<string>): Promise<{ share: number; missed: string[] }> {
  // Not for each file: it loads the whole program.
  const { collectStatements } = await import('../api/statements.testing.ts')
  const { statements } = await collectStatements()
  const whole = [...statements].filter(([, { isComplete, isPlainOnly }]) => isComplete && !isPlainOnly)
  const missed = whole.filter(([text]) => !sent.has(text))
  return {
    share: 1 - missed.length / whole.length,
    missed: missed.map(([text, { file }]) => `${file}: ${text.replaceAll(/\s+/g, ' ').trim()}`),
  }
}
