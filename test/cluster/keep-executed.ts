import { join } from 'node:path'
import { expect, inject } from 'vitest'
import { noteStatements } from './noting.js'
import { fileOf } from './wide.ts'

/** Set up for each test file on a cluster: keeps what it executes. Statements that are judged one by one do not count. */

const JUDGE = 'test/cluster/statements.test.ts'

const folder = inject('executed')
const file = fileOf(expect.getState().testPath ?? '')
noteStatements(folder === undefined || file === JUDGE ? undefined : join(folder, file.replaceAll('/', '.')))
