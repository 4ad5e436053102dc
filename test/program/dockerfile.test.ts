import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, cpSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import { isInContext, readStages, restsOf, wordsOf } from './container.ts'
import { call, ROOT, startProcess, testFolder } from './program.ts'

/** Steps of the Dockerfile done by hand: only the copied files are there, and the service may write only its data. */

const [build = [], final = []] = readStages()
const NOBODY = 65_534
const isRoot = process.getuid?.() === 0

/** Does the COPY instructions of a stage into a folder that stands for its root. */
function copyAll(stage: typeof build, from: { context: string; build?: string }, to: string): void {
  for (const rest of restsOf(stage, 'COPY')) {
    const words = rest.split(/\s+/)
    const flag = words[0]?.startsWith('--from=') ? words.shift() : undefined
    const target = words.pop() ?? ''
    for (const word of words) {
      const source = flag ? join(from.build ?? '', relative('/opt/perennial', word)) : join(from.context, word)
      const path = target.endsWith('/') ? join(to, target, basename(word)) : join(to, target)
      mkdirSync(dirname(path), { recursive: true })
      cpSync(source, path, {
        recursive: true,
        verbatimSymlinks: true,
        filter: (file) => flag !== undefined || isInContext(relative(from.context, file)),
      })
    }
  }
}

/** Runs as a user without rights where that is possible, so that writing outside the data would fail. */
function asNobody(command: string, args: readonly string[], env: Record<string, string>, cwd: string) {
  if (!isRoot) return startProcess('env', ['-C', cwd, command, ...args], env)
  return startProcess(
    'setpriv',
    ['--reuid=65534', '--regid=65534', '--clear-groups', 'env', '-C', cwd, command, ...args],
    env,
  )
}

function settingsOf(stage: typeof build): Record<string, string> {
  return Object.fromEntries(
    restsOf(stage, 'ENV').flatMap((rest) => rest.split(/\s+/).map((pair) => pair.split('=') as [string, string])),
  )
}

describe('the Dockerfile', () => {
  test('its image, made by hand of what it copies, serves as a user without rights, is healthy, and stops at SIGTERM', async () => {
    const folder = testFolder()
    chmodSync(folder, 0o755)
    const [making, image, data] = ['making', 'image', 'data'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ]
    for (const path of [making, image, data]) mkdirSync(path)
    if (isRoot) chownSync(data, NOBODY, NOBODY)
    chmodSync(data, 0o700)

    copyAll(build, { context: ROOT }, making)
    for (const line of restsOf(build, 'RUN'))
      execFileSync('sh', ['-ec', line], {
        cwd: making,
        stdio: 'pipe',
        env: { ...process.env, npm_config_prefer_offline: 'true', npm_config_update_notifier: 'false' },
      })
    copyAll(final, { context: ROOT, build: making }, image)
    expect(readdirSync(image).toSorted()).toEqual([
      'LICENSE',
      'bin',
      'db',
      'dist',
      'node_modules',
      'package.json',
      'web',
    ])

    const env = { ...settingsOf(final), DATA_DIR: data, HOST: '127.0.0.1', PORT: '0' }
    const [command = '', ...args] = [...wordsOf(final, 'ENTRYPOINT'), ...wordsOf(final, 'CMD'), '--json']
    const service = asNobody(command, args, env, image)
    const [line] = await service.says(/^\{.*\}$/m)
    const told = JSON.parse(line) as { Address: string; AccountID: number; ApiKey: string }
    const made = await call({ address: told.Address }, { account: told.AccountID, key: told.ApiKey }, '/v1/customers', {
      Name: 'Ann',
      LastName: 'Lee',
    })
    expect(made.status).toBe(201)
    expect(statSync(join(data, 'encryption.key')).mode & 0o077).toBe(0)

    const [tool = '', ...words] = wordsOf(final, 'HEALTHCHECK')
    const health = () =>
      spawnSync(tool, words, { env: { PATH: process.env['PATH'], PORT: new URL(told.Address).port } }).status
    expect(health()).toBe(0)
    service.child.kill('SIGTERM')
    expect((await service.ended).code).toBe(0)
    expect(health()).toBe(1)
  })

  test('ends as a user who is not root, and takes nothing from the network but packages of the lock file', () => {
    expect(restsOf(final, 'USER')).toEqual(['node'])
    for (const stage of [build, final]) expect(restsOf(stage, 'FROM').join()).toMatch(/^node:20-bookworm-slim\b/)
    expect([...restsOf(build, 'RUN'), ...restsOf(final, 'RUN')].join('\n')).not.toMatch(
      /curl|wget|apt|https?:|npm install/,
    )
    expect([...restsOf(build, 'ADD'), ...restsOf(final, 'ADD')]).toEqual([])
  })

  test('no data, settings, tests or history of a checkout can get into it', () => {
    for (const path of [
      'data/encryption.key',
      '.env',
      '.git/config',
      'node_modules/x',
      'dist/main.js',
      'src/a/b.test.ts',
      'test/x.ts',
    ])
      expect([path, isInContext(path)]).toEqual([path, false])
    for (const path of [
      'src/main.ts',
      'db/migrations/0001_schema.sql',
      'db/before-0.1.0.sql.gz',
      'db/schema.sql',
      'package.json',
      '.npmrc',
    ])
      expect([path, isInContext(path)]).toEqual([path, true])
  })
})

describe('compose.yaml', () => {
  const text = readFileSync(join(ROOT, 'compose.yaml'), 'utf8')

  test('sets only what the service knows, and keeps no secret of its own', () => {
    const known = [...readFileSync(join(ROOT, '.env.example'), 'utf8').matchAll(/^([A-Z_]+)=/gm)].map(
      ([, name]) => name,
    )
    const [, ofService = ''] = /^ {4}environment:\n((?: {6}.*\n)+)/m.exec(text) ?? []
    const set = [...ofService.matchAll(/^ {6}([A-Z_]+):/gm)].map(([, name]) => name)
    expect(set.length).toBeGreaterThan(3)
    expect(set.filter((name) => !known.includes(name))).toEqual([])
    const secrets = [...text.matchAll(/^ {6}\w*(?:PASSWORD|KEY|DATABASE_URL|SMTP_URL): (.*)$/gm)].map(
      ([, value = '']) => value,
    )
    expect(secrets.filter((value) => !value.includes('${'))).toEqual([])
    expect(text.match(/\$\{POSTGRES_PASSWORD:\?/g)).toHaveLength(2)
  })

  test('waits longer for a stop than the service takes, starts again what ended, and the service after its database', () => {
    const [, seconds] = /stop_grace_period: (\d+)s/.exec(text) ?? []
    const [, limit = ''] =
      /DRAIN_MS_MAX = ([\d_]+)/.exec(readFileSync(join(ROOT, 'src/commands/stopping.ts'), 'utf8')) ?? []
    expect(Number(seconds) * 1000).toBeGreaterThan(Number(limit.replaceAll('_', '')))
    expect(text.match(/restart: unless-stopped/g)).toHaveLength(2)
    expect(text).toMatch(/depends_on:\n +database:\n +condition: service_healthy/)
  })

  test('is read by Compose as it is meant (where docker compose is there)', ({ skip }) => {
    const hasCompose = spawnSync('docker', ['compose', 'version']).status === 0
    if (!hasCompose) skip()
    const { status, stdout } = spawnSync(
      'docker',
      ['compose', '-f', join(ROOT, 'compose.yaml'), 'config', '--format', 'json'],
      {
        encoding: 'utf8',
        env: { PATH: process.env['PATH'], POSTGRES_PASSWORD: 'abc123', ENCRYPTION_KEY: '0'.repeat(64) },
      },
    )
    expect(status).toBe(0)
    expect(JSON.parse(stdout).services.perennial.environment.DATABASE_URL).toBe(
      'postgres://perennial:abc123@database/perennial',
    )
  })
})
