import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { BULK_FLAGS } from './engine-flags.ts'

test('this Node knows all flags of bulk work, and writes nothing about them', () => {
  const program = `import(${JSON.stringify(new URL('engine-flags.ts', import.meta.url).href)}).then((flags) => flags.fitForBulkWork())`
  const { status, stdout, stderr } = spawnSync(process.execPath, [...BULK_FLAGS, '--import', 'tsx', '-e', program], {
    encoding: 'utf8',
  })
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' })
})
