import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { serve } from './commands/serve.ts'
import { ConfigFailure, readConfig } from './platform/config.ts'
import { StartFailure } from './platform/postgres/start-failure.ts'

/** The program: reads the environment, runs one command, and exits with its code. */

export async function main(args: readonly string[], root: string): Promise<number> {
  try {
    const config = readConfig(process.env)
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
    if (args[0] === 'serve') return await serve({ config, root, version })
    process.stderr.write('usage: perennial serve\n')
    return 2
  } catch (error) {
    if (error instanceof StartFailure || error instanceof ConfigFailure) {
      process.stderr.write(`${error.message}\n`)
      return 1
    }
    throw error
  }
}
