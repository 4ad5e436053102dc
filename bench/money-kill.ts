import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { connectionTo } from '../src/platform/postgres/connection.ts'
import { dataFolderAt } from '../src/platform/postgres/data-folder.ts'
import { type Killable, killInMoneyLoad } from '../test/program/money-load.ts'
import { benchFolder } from './measure/database.ts'
import { tell } from './measure/figures.ts'

/** Kills the service among mixed money load, as often as wished, on a disk; ends at the first change that is lost, half or wrong. */

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const API_KEY = 'bench-key-0123456789-for-measuring'

function run(args: readonly string[], dataDir: string) {
  const { PATH, HOME } = process.env
  const env = { PATH, HOME, HOST: '127.0.0.1', PORT: '0', LOG_LEVEL: 'warn', BOOTSTRAP_API_KEY: API_KEY }
  const child = spawn(process.execPath, [join(ROOT, 'bin', 'perennial.js'), ...args], {
    cwd: ROOT,
    env: { ...env, DATA_DIR: dataDir },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  return { child, ended }
}

export async function benchMoneyKill({ times }: { times: number }): Promise<void> {
  const folder = benchFolder()
  let account = 0
  const start = async (): Promise<Killable> => {
    const { child, ended } = run(['serve', '--json'], folder.path)
    const line = await new Promise<string>((resolve, reject) => {
      createInterface({ input: child.stdout }).once('line', resolve)
      void ended.then((code) => reject(new Error(`the service ended with ${code} before it served`)))
    })
    const { Address, AccountID } = JSON.parse(line) as { Address: string; AccountID?: number }
    account = AccountID ?? account
    return { address: Address, kill: () => child.kill('SIGKILL'), ended }
  }
  const verify = async (): Promise<void> => {
    const code = await run(['verify'], folder.path).ended
    if (code !== 0) throw new Error(`verify ended with ${code}; the data is in ${folder.path}`)
  }
  const { acknowledged } = await killInMoneyLoad({
    times,
    start,
    authorization: () => `Basic ${Buffer.from(`${account}:${API_KEY}`).toString('base64')}`,
    account: () => BigInt(account),
    connection: connectionTo(dataFolderAt(folder.path).cluster),
    verify,
    told: tell,
  })
  folder.remove()
  tell(`killed ${times} times: ${acknowledged} acknowledged changes, none lost, none half, the books verify`)
}
