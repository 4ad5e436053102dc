import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { removeLeftBehind, roomyFolder } from './roomy-parent.ts'

test('what a killed run left goes, with all in it; folders of who runs, and of others, stay', () => {
  const parent = mkdtempSync(join(tmpdir(), 'perennial-parent-'))
  onTestFinished(() => rmSync(parent, { recursive: true }))
  const { pid: dead } = spawnSync(process.execPath, ['--version'])
  const stay = [`perennial-test-${process.pid}-a`, 'perennial-parent-Ab', `other-${dead}-a`]
  for (const name of [`perennial-test-${dead}-a`, ...stay]) {
    mkdirSync(join(parent, name))
    writeFileSync(join(parent, name, 'file'), '')
  }
  removeLeftBehind([parent, join(parent, 'none')])
  expect(readdirSync(parent).toSorted()).toEqual(stay.toSorted())
})

test('a folder that is made here is one of those', () => {
  const path = roomyFolder('test')
  onTestFinished(() => rmSync(path, { recursive: true }))
  expect(basename(path)).toMatch(new RegExp(`^perennial-test-${process.pid}-`))
})
