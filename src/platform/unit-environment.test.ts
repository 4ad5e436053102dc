import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { StartFailure } from './postgres/start-failure.ts'
import { environmentOf, readUnitEnvironment, withoutNodesReading } from './unit-environment.ts'

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'unit-'))
  onTestFinished(() => rmSync(path, { recursive: true }))
  return path
}

test.each([
  ['PORT=3000', { PORT: '3000' }],
  ['PORT=3000\r\nHOST=::1\r\n', { PORT: '3000', HOST: '::1' }],
  ['  PORT=3000  ', { PORT: '3000' }],
  ['# PORT=1\n; PORT=2\n\nPORT=3', { PORT: '3' }],
  ['PORT=1\nPORT=2', { PORT: '2' }],
  ['NAME="Ada & Sons"', { NAME: 'Ada & Sons' }],
  ['NAME=\'Ada "and" Sons\' ', { NAME: 'Ada "and" Sons' }],
  ['NAME="a \\"b\\" \\$c"', { NAME: 'a "b" $c' }],
  ['NAME=Ada and Sons', { NAME: 'Ada and Sons' }],
  ['URL=postgres://a:b=c@host/db?x=y#z', { URL: 'postgres://a:b=c@host/db?x=y#z' }],
  ['NAME=one\\\ntwo\nPORT=1', { NAME: 'onetwo', PORT: '1' }],
  ['NAME=$HOME', { NAME: '$HOME' }],
  ['NAME=', { NAME: '' }],
])('%j is read as systemd reads it', (text, values) => {
  expect(environmentOf(text)).toEqual({ values, passedOver: [] })
})

test('lines that systemd passes over are named', () => {
  const { values, passedOver } = environmentOf('export PORT=1\nPORT = 2\n\nHOST=::1\njust words\n1A=b')
  expect([values, passedOver]).toEqual([{ HOST: '::1' }, [1, 2, 5, 6]])
})

test('an environment is freed of what Node.js took from the file by itself', () => {
  const file = join(folder(), 'a.env')
  writeFileSync(file, 'PORT=1\nexport LOG_LEVEL=loud\nHOST=::1\n')
  const env = { PORT: '1', LOG_LEVEL: 'loud', HOST: '127.0.0.1', HOME: '/root' }
  expect(withoutNodesReading(env, file)).toEqual({ HOST: '127.0.0.1', HOME: '/root' })
})

test('of a unit its assignments and the files that it names count, in their order; one with a - may be missing', () => {
  const there = folder()
  writeFileSync(join(there, 'a.env'), 'PORT=3001\nLOG_LEVEL=warn\n')
  const unit = join(there, 'perennial.service')
  writeFileSync(
    unit,
    `[Unit]\nDescription=PORT=1\n[Service]\nEnvironment=NODE_ENV=production "DATA_DIR=/var/lib/a b" PORT=1\nEnvironmentFile=-${there}/none.env\nEnvironmentFile=${there}/a.env\n`,
  )
  expect(readUnitEnvironment(unit).values).toEqual({
    NODE_ENV: 'production',
    DATA_DIR: '/var/lib/a b',
    PORT: '3001',
    LOG_LEVEL: 'warn',
  })
  writeFileSync(unit, `[Service]\nEnvironmentFile=${there}/none.env\n`)
  expect(() => readUnitEnvironment(unit)).toThrow(StartFailure)
  expect(() => readUnitEnvironment(join(there, 'none'))).toThrow(/none cannot be read \(ENOENT\)/)
})
