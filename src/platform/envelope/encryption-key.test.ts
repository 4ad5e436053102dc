import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findEncryptionKeys, findOrMakeEncryptionKeys } from './encryption-key.ts'

let parent: string
let dataDir: string

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'perennial-key-'))
  dataDir = join(parent, 'data')
})
const unset = () => ({ encryptionKeys: undefined, dataDir })
afterEach(() => rmSync(parent, { recursive: true, force: true }))

test('a given encryption key is used and nothing is written', () => {
  const given = Buffer.alloc(32, 7)
  expect(findOrMakeEncryptionKeys({ encryptionKeys: [given], dataDir })).toEqual([given])
  expect(readdirSync(parent)).toEqual([])
})

test('an encryption key is made once and readable by its owner alone', () => {
  expect(findEncryptionKeys(unset())).toBeUndefined()
  const [first] = findOrMakeEncryptionKeys(unset())
  expect(first).toHaveLength(32)
  expect(findEncryptionKeys(unset())).toEqual([first])
  expect(readdirSync(dataDir)).toEqual(['encryption.key'])
  expect(statSync(join(dataDir, 'encryption.key')).mode & 0o777).toBe(0o600)
  expect(statSync(dataDir).mode & 0o777).toBe(0o700)
})

test('a damaged key file is refused, not replaced: what it encrypted would be lost', () => {
  findOrMakeEncryptionKeys(unset())
  const path = join(dataDir, 'encryption.key')
  writeFileSync(path, 'cut sho')
  expect(() => findOrMakeEncryptionKeys(unset())).toThrow('restore it from a backup')
  expect(readFileSync(path, 'utf8')).toBe('cut sho')
})

test('the file may name two keys, as ENCRYPTION_KEY may', () => {
  const [old] = findOrMakeEncryptionKeys(unset())
  writeFileSync(join(dataDir, 'encryption.key'), `${'ab'.repeat(32)},${old.toString('hex')}\n`)
  expect(findEncryptionKeys(unset())).toEqual([Buffer.alloc(32, 0xab), old])
})
