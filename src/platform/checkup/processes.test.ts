import { expect, test } from 'vitest'
import { differencesTo, sentenceOf } from '../processes/equal-settings.ts'
import type { ListedProcess } from '../processes/queries.ts'
import { processFindings } from './processes.ts'

const listed = (id: string, settings: Record<string, string>, wish: Partial<ListedProcess> = {}): ListedProcess => ({
  id,
  kind: 'serve',
  host: `host-${id}`,
  pid: 7,
  version: '0.2.0',
  schema: 3,
  logLevel: 'info',
  state: 'ready',
  startedAt: '2027-01-01T00:00:00.000Z',
  seenAt: '2027-01-01T00:00:00.000Z',
  isLive: true,
  settings,
  ...wish,
})

const ROOM = { ofProcess: { serve: 34, work: 16 }, ofServer: 100, spare: 10 }

test('processes that agree are counted by kind and version, and nothing is told where none is live', () => {
  expect(processFindings([], ROOM)).toEqual([])
  const live = [listed('a', { PUBLIC_URL: 'x' }), listed('b', { PUBLIC_URL: 'x' }), listed('c', {}, { kind: 'work' })]
  expect(processFindings(live, ROOM)).toEqual([
    {
      about: 'processes',
      state: 'ok',
      text: 'live on this database: 2 × serve 0.2.0, 1 × work 0.2.0; together they open up to 84 connections of the 100 that the server has',
      mend: null,
    },
  ])
  expect(processFindings([...live, listed('d', {})], ROOM)).toMatchObject([
    {
      state: 'warn',
      text: expect.stringContaining('up to 118 connections of the 100'),
      mend: expect.stringContaining('max_connections'),
    },
  ])
})

test('a setting in which live processes differ is named once, with a host and without a value', () => {
  const live = [listed('a', { MAIL_FROM: 'secret-1' }), listed('b', { MAIL_FROM: 'secret-2' })]
  const [, ...differences] = processFindings(live, ROOM)
  expect(differences.map(({ text }) => text)).toEqual([
    'in host-a:7 MAIL_FROM is not the same as in the process host-b:7 on this database: which of them applies depends on who answers',
  ])
  expect(JSON.stringify(differences)).not.toContain('secret')
})

test('one setting that differs from many processes is told once, with three of them named', () => {
  const own = listed('a', { MAIL_FROM: 'x' })
  const others = ['b', 'c', 'd', 'e', 'f'].map((id) => listed(id, { MAIL_FROM: 'y' }))
  const differences = differencesTo(own, [own, ...others])
  expect(differences.map(sentenceOf)).toEqual([
    'MAIL_FROM is not the same as in the processes host-b:7, host-c:7, host-d:7 and 2 more on this database: which of them applies depends on who answers',
  ])
})

test('a process that is not live, or does not read a setting, differs in nothing', () => {
  const own = listed('a', { PUBLIC_URL: 'x', TRUST_PROXY: 'y' })
  expect(
    differencesTo(own, [own, listed('b', { PUBLIC_URL: 'z' }, { isLive: false }), listed('c', { PUBLIC_URL: 'x' })]),
  ).toEqual([])
})

test('processes that do no work are named, with what ends that', () => {
  const live = [listed('a', {}), listed('b', {}, { state: 'outdated' }), listed('c', {}, { state: 'maintenance' })]
  expect(processFindings(live, { ...ROOM, ofServer: 500 }).slice(1)).toMatchObject([
    { state: 'warn', text: 'no work is done (outdated) by serve host-b:7', mend: expect.stringContaining('start') },
    { state: 'warn', text: 'no work is done (maintenance) by serve host-c:7', mend: expect.stringContaining('off') },
  ])
})
