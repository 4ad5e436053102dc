import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './program.ts'

/** The Dockerfile as its instructions, for doing by hand what an engine would do. */

export interface Instruction {
  word: string
  rest: string
}

/** The instructions of each stage, in order; continued lines are joined, comments are gone. */
export function readStages(): Instruction[][] {
  const text = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
  const lines = text
    .replace(/^\s*#.*\n/gm, '')
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '')
  const stages: Instruction[][] = []
  for (const line of lines) {
    const [, word = '', rest = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? []
    if (word === '') throw new Error(`the Dockerfile has a line that is no instruction: ${line}`)
    if (word === 'FROM') stages.push([])
    stages.at(-1)?.push({ word, rest })
  }
  return stages
}

export const restsOf = (stage: readonly Instruction[], word: string): string[] =>
  stage.filter((instruction) => instruction.word === word).map(({ rest }) => rest)

/** The last instruction of its kind in the exec form: a list of words. */
export function wordsOf(stage: readonly Instruction[], word: string): string[] {
  const rest = restsOf(stage, word).at(-1) ?? '[]'
  return JSON.parse(rest.slice(rest.indexOf('[')))
}

/** Whether the build may see a path, by .dockerignore: the last line that fits decides, as the engine reads it. */
export function isInContext(path: string): boolean {
  const rules = readFileSync(join(ROOT, '.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  let isIgnored = false
  for (const rule of rules) {
    const isTaken = rule.startsWith('!')
    if (fits(isTaken ? rule.slice(1) : rule, path)) isIgnored = !isTaken
  }
  return !isIgnored
}

/** A pattern fits a path and everything below it; ** stands for any folders. */
function fits(pattern: string, path: string): boolean {
  const source = pattern
    .split('**/')
    .map((part) => part.replace(/[.+^${}()|[\]\\]/g, '\\$&').replace(/\*/g, '[^/]*'))
    .join('(?:.*/)?')
  return new RegExp(`^${source}(?:/.*)?$`).test(path)
}
