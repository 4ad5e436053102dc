import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CommanderError } from 'commander'
import { EXIT } from './commands/exit-codes.ts'
import { buildProgram } from './commands/program.ts'
import { Fault, type Problem } from './kernel/fault.ts'
import { ConfigFailure, secretsIn } from './platform/config.ts'
import { errorFacts } from './platform/error-facts.ts'
import { textCleaner } from './platform/log-cleaning.ts'
import { StartFailure } from './platform/postgres/start-failure.ts'

/** The program: runs one command and answers its exit code. Whatever goes wrong becomes a sentence on stderr, never a stack. */

/** Runs the command of the arguments. `root` is the package's folder, where migrations, pages and package.json lie. */
export async function main(args: readonly string[], root: string): Promise<number> {
  const isJson = args.includes('--json')
  process.on('uncaughtException', (error) => process.exit(printFailure(error, isJson)))
  // Whoever reads only the first lines of a list has got what was wanted.
  process.stdout.on('error', (error: { code?: string }) =>
    process.exit(error.code === 'EPIPE' ? EXIT.done : EXIT.failed),
  )
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  let code: number = EXIT.done
  const program = buildProgram({ root, version, ended: (ended) => (code = ended), isJson })
  try {
    await program.parseAsync(args, { from: 'user' })
    return code
  } catch (error) {
    return printFailure(error, isJson)
  }
}

function printFailure(error: unknown, isJson: boolean): number {
  if (error instanceof CommanderError) {
    // Help and version that were asked for are no failure; people have read what was wrong already.
    if (error.exitCode === 0) return EXIT.done
    const message = error.message.replace(/^error: /, '').replace(/^\(outputHelp\)$/, 'A command is missing.')
    if (isJson) printAsJson([{ message, code: 'wrong_usage', field: null }])
    return EXIT.usage
  }
  const problems = problemsOf(error)
  if (isJson) printAsJson(problems)
  else for (const { message } of problems) process.stderr.write(`${message}\n`)
  return EXIT.failed
}

const printAsJson = (problems: readonly Problem[]) =>
  process.stderr.write(`${JSON.stringify({ Errors: problems.map(problemAsJson) })}\n`)

const problemAsJson = ({ message, code, field }: Problem) => ({ Message: message, Code: code, Field: field })

function problemsOf(error: unknown): readonly Problem[] {
  if (error instanceof Fault) return error.problems
  if (error instanceof StartFailure) return [{ message: error.message, code: 'start_failed', field: null }]
  if (error instanceof ConfigFailure)
    return error.problems.map((message) => ({ message, code: 'setting_invalid', field: null }))
  return [{ message: unexpected(error), code: 'unexpected', field: null }]
}

// A surprise is a bug of ours or an illness of the machine: its stack helps whoever asks for it, and frightens everybody else.
function unexpected(error: unknown): string {
  const isStoryWanted = /^(debug|trace)$/.test(process.env['LOG_LEVEL'] ?? '')
  const { type, message, stack } = errorFacts(error)
  const clean = textCleaner(secretsIn(process.env))
  if (isStoryWanted) return clean(`${type}: ${message}\n${stack}`)
  const [line = 'no reason was given'] = clean(message).split('\n')
  return `Something unexpected happened: ${line} (run again with LOG_LEVEL=debug for the story)`
}
