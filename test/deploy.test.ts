import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { NOT_ANSWERED } from '../src/platform/database/watch.ts'
import { Admission } from '../src/platform/database/admission.ts'
import { makeMetrics } from '../src/platform/metrics.ts'

/** The files of deploy/, which other programs read: systemd, Prometheus and Grafana. */

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

interface Rule {
  alert: string
  expr: string
}

const rules = (): Rule[] => parse(read('deploy/alerts.yml')).groups.flatMap((group: { rules: Rule[] }) => group.rules)

const panels = (): string[] =>
  JSON.parse(read('deploy/dashboard.json')).panels.flatMap((panel: { targets: { expr: string }[] }) =>
    panel.targets.map(({ expr }) => expr),
  )

const namesIn = (text: string): string[] => [...new Set(text.match(/perennial_[a-z_]+/g))]

/** Returns the names under which /metrics shows something; a histogram has its buckets as well. */
async function shownNames(): Promise<Set<string>> {
  const metrics = makeMetrics({
    db: {
      poolState: () => ({ total: 0, idle: 0, waiting: 0 }),
      readiness: () => NOT_ANSWERED,
      admission: new Admission(),
      nodes: async () => [],
    },
    readFigures: async () => [],
    clock: () => 0,
    version: 'test',
  })
  const types = [...(await metrics.text()).matchAll(/^# TYPE (\S+) (\S+)$/gm)]
  return new Set(types.flatMap(([, name = '', type]) => (type === 'histogram' ? [name, `${name}_bucket`] : [name])))
}

test.each([
  ['alerts.yml', () => rules().map(({ expr }) => expr)],
  ['dashboard.json', panels],
])('each figure that deploy/%s names stands in /metrics', async (_, expressions) => {
  const shown = await shownNames()
  const named = namesIn(expressions().join('\n'))
  expect(named.length).toBeGreaterThan(10)
  expect(named.filter((name) => !shown.has(name))).toEqual([])
})

test('labels that alerts and dashboard ask for are those that the document of the figures gives them', () => {
  const documented = new Map(
    [...read('docs/operate/metrics.md').matchAll(/`(perennial_[a-z_]+)(?:\{([a-z,]+)\})?`/g)].map(
      ([, name = '', labels = '']) => [name, labels.split(',')],
    ),
  )
  const asked = [...rules().map(({ expr }) => expr), ...panels()].flatMap((expression) =>
    [...expression.matchAll(/(perennial_[a-z_]+?)(?:_bucket)?\{([a-z]+)[=!]/g)].map(([, name = '', label = '']) => ({
      name,
      label,
    })),
  )
  expect(asked.length).toBeGreaterThan(5)
  expect(asked.filter(({ name, label }) => !documented.get(name)?.includes(label))).toEqual([])
})

test('each alert has a name of its own and a sentence', () => {
  const named = parse(read('deploy/alerts.yml')).groups.flatMap((group: { rules: any[] }) => group.rules)
  expect(new Set(named.map(({ alert }: Rule) => alert)).size).toBe(named.length)
  for (const { annotations } of named) expect(annotations.summary).toMatch(/^[A-Z].{10,}/)
})

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0

/** The unit beside this Node, because a unit whose program is missing is faulty. */
function unitFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'perennial-unit-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'perennial.service')
  writeFileSync(path, read('deploy/perennial.service').replace('/usr/bin/node', process.execPath))
  return path
}

test.skipIf(!hasSystemd)('the unit is right for systemd, without a remark (needs systemd-analyze)', () => {
  const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', unitFile()], {
    encoding: 'utf8',
  })
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' })
})

test.skipIf(!hasSystemd)('the unit leaves the service little that it could do (needs systemd-analyze)', () => {
  // Throws where the exposure is above the threshold, in tenths.
  execFileSync('systemd-analyze', ['security', '--offline=yes', '--threshold=20', unitFile()], { stdio: 'pipe' })
})

test('several services and workers have the same settings, all of which are known, and the balancer asks each whether it is ready', () => {
  const { services } = parse(read('deploy/compose-several.yaml'), { merge: true })
  const own = Object.entries<any>(services).filter(([, { image }]) => image === 'perennial')
  expect(own.map(([name, { command }]) => [name, command[0]])).toEqual([
    ['one', 'serve'],
    ['two', 'serve'],
    ['work-one', 'work'],
    ['work-two', 'work'],
  ])
  const known = new Set([...read('.env.example').matchAll(/^([A-Z_0-9]+)=/gm)].map(([, name]) => name))
  const shared = own.map(([, { environment }]) => {
    expect(Object.keys(environment).filter((name) => !known.has(name))).toEqual([])
    const { BACKUP_DIR: _dir, BACKUP_KEEP: _keep, ...others } = environment
    return others
  })
  expect(new Set(shared.map((one) => JSON.stringify(one))).size).toBe(1)
  const asked = [...read('deploy/haproxy.cfg').matchAll(/^ {2}server (\S+) \S+:3000$/gm)].map(([, name]) => name)
  expect(asked).toEqual(['one', 'two'])
  expect(read('deploy/haproxy.cfg')).toContain('uri /readyz')
})
