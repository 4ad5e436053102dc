import { Option } from 'commander'
import type { CommandContext } from './context.ts'
import { idValue } from './option-values.ts'

/** Options that many commands have, and how a command is run. */

export type Run = (context: CommandContext) => Promise<number>

export type Runner = (options: { json?: boolean }, work: Run) => Promise<void>

export const json = () => new Option('--json', 'answer as JSON on one line')
export const account = () =>
  new Option('--account <id>', 'the account; not needed while there is just one').argParser(idValue)
