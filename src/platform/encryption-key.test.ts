import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { encryptionKey } from './encryption-key.ts'

let parent: string
let dataDir: string

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'perennial-key-'))
  dataDir = join(parent, 'data')
})
afterEach(() => rmSync(parent, { recursive: true, force: true }))

test('a given encryption key is used and nothing is written', () => {
  const given = Buffer.alloc(32, 7)
  expect(encryptionKey({ encryptionKey: given, dataDir })).toBe(given)
  expect(readdirSync(parent)).toEqual([])
})

test('an encryption key is made once and readable by its owner alone', () => {
  const first = encryptionKey({ encryptionKey: undefined, dataDir })
  expect(first).toHaveLength(32)
  expect(encryptionKey({ encryptionKey: undefined, dataDir })).toEqual(first)
  expect(readdirSync(dataDir)).toEqual(['encryption.key'])
  expect(statSync(join(dataDir, 'encryption.key')).mode & 0o777).toBe(0o600)
  expect(statSync(dataDir).mode & 0o777).toBe(0o700)
})

test('a damaged key file is refused, not replaced: what it encrypted would be lost', () => {
  encryptionKey({ encryptionKey: undefined, dataDir })
  const path = join(dataDir, 'encryption.key')
  writeFileSync(path, 'cut sho')
  expect(() => encryptionKey({ encryptionKey: undefined, dataDir })).toThrow('restore it from a backup')
  expect(readFileSync(path, 'utf8')).toBe('cut sho')
})
