import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { buildProgram } from './program.ts'

const PAGE = readFileSync(new URL('../../docs/operate/command-line.md', import.meta.url), 'utf8')

/** Commands that do something, by the words that call them. */
const leavesOf = (command: Command, words: readonly string[] = []): [words: string, command: Command][] =>
  command.commands.length === 0
    ? [[words.join(' '), command]]
    : command.commands.flatMap((inner) => leavesOf(inner, [...words, inner.name()]))

test('the page of the command line has a row for each command, with each of its options', () => {
  const program = buildProgram({ root: '', version: '0', ended: () => {} })
  const missing = leavesOf(program).flatMap(([words, { options, registeredArguments }]) => {
    const [, row] = new RegExp(`^\\| \`(${words}(?: .*?)?)\` \\|`, 'm').exec(PAGE) ?? []
    if (row === undefined) return [words]
    const wanted = [
      ...options
        .filter(({ hidden }) => !hidden)
        .map(({ long }) => long ?? '')
        .filter((long) => long !== '--json'),
      ...registeredArguments.map((argument) => argument.name().toUpperCase()),
    ]
    return wanted.filter((word) => !row.includes(word)).map((word) => `${words}: ${word}`)
  })
  expect(missing).toEqual([])
})
