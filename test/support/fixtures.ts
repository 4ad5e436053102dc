import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Files of third parties, which lie beside the repository. */

const FIXTURES = fileURLToPath(new URL('../../../shared/fixtures', import.meta.url))

/** With CI set they have to be there; elsewhere tests that need them are named as not run. */
export const hasFixtures = existsSync(FIXTURES) || process.env['CI'] !== undefined
