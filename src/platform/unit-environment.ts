import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { StartFailure } from './postgres/start-failure.ts'

/** The environment that systemd makes for a service, read from the file that it reads. */

type Environment = Readonly<Record<string, string | undefined>>

export interface UnitEnvironment {
  values: Record<string, string>
  /** Lines that systemd passes over, by their number. */
  passedOver: number[]
}

/** Reads a file of assignments, or a unit with the files that it names. Throws a StartFailure where one cannot be read. */
export function readUnitEnvironment(path: string): UnitEnvironment {
  const text = textOf(path)
  if (!/^\[Service\]\s*$/m.test(text)) return environmentOf(text)
  const found: UnitEnvironment = { values: {}, passedOver: [] }
  for (const { line } of linesOf(text)) {
    const [, name = '', value = ''] = /^(Environment|EnvironmentFile)=(.*)$/s.exec(line) ?? []
    if (name === 'Environment') for (const word of wordsOf(value)) assign(word, found.values)
    if (name === 'EnvironmentFile') Object.assign(found.values, fileOf(value).values)
  }
  return found
}

/**
 * Returns an environment without what Node.js 20 took from the file on its own: it reads every --env-file of its command line, also of a program's own
 * options, and takes lines that systemd passes over.
 */
export function withoutNodesReading(env: Environment, path: string): Environment {
  const taken = parseEnv(textOf(path)) as Environment
  return Object.fromEntries(
    Object.entries(env).filter(([name, value]) => taken[name] === undefined || taken[name] !== value),
  )
}

/** Reads what a unit names; one with - in front may be missing. */
function fileOf(named: string): UnitEnvironment {
  const path = named.trim()
  if (!path.startsWith('-')) return environmentOf(textOf(path))
  try {
    return environmentOf(readFileSync(path.slice(1), 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { values: {}, passedOver: [] }
    throw unreadable(path.slice(1), error)
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw unreadable(path, error)
  }
}

const unreadable = (path: string, error: unknown): StartFailure =>
  new StartFailure(
    `The file ${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'no reason'}): name one that this user may read.`,
  )

/** Reads assignments as systemd does: no shell, so nothing is put in for $NAME, and "export" is no part of a name. */
export function environmentOf(text: string): UnitEnvironment {
  const found: UnitEnvironment = { values: {}, passedOver: [] }
  for (const { line, number } of linesOf(text)) {
    const [word = ''] = wordsOf(line, 'line')
    if (!assign(word, found.values)) found.passedOver.push(number)
  }
  return found
}

function assign(word: string, values: Record<string, string>): boolean {
  const [, name, value = ''] = /^([A-Za-z_]\w*)=(.*)$/s.exec(word) ?? []
  if (name === undefined) return false
  values[name] = value
  return true
}

/** Returns the lines that are no comments, those that end with a backslash joined with the next, by the number of their first. */
function linesOf(text: string): { line: string; number: number }[] {
  const found: { line: string; number: number }[] = []
  const lines = text.replaceAll('\r\n', '\n').split('\n')
  for (let index = 0; index < lines.length; index += 1) {
    let line = (lines[index] ?? '').trimStart()
    if (line === '' || line.startsWith('#') || line.startsWith(';')) continue
    const number = index + 1
    while (/(^|[^\\])(\\\\)*\\$/.test(line) && index + 1 < lines.length)
      line = `${line.slice(0, -1)}${lines[(index += 1)]}`
    found.push({ line, number })
  }
  return found
}

/** Takes quotes and backslashes from a line, and parts it at blanks outside of quotes; a whole line of a file of assignments is one word. */
function wordsOf(text: string, form: 'words' | 'line' = 'words'): string[] {
  const words: string[] = []
  let word: string | undefined
  const part = /'([^']*)'|"((?:[^"\\]|\\[^])*)"|\\([^])|(\s+)|([^\s'"\\]+|['"\\])/g
  for (const [whole, single, double, escaped, blank] of text.trimEnd().matchAll(part)) {
    if (blank !== undefined && form === 'words') {
      if (word !== undefined) words.push(word)
      word = undefined
    } else word = (word ?? '') + (single ?? double?.replaceAll(/\\(["\\`$])/g, '$1') ?? escaped ?? whole)
  }
  return word === undefined ? words : [...words, word]
}
