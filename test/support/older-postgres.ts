import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { BinariesPackage } from '../../src/platform/postgres/binaries.ts'
import type { ServerSettings } from '../../src/platform/postgres/settings.ts'

/** The programs of an older major version (15, 16, 17), which have a lock file of their own. Throws where they are not installed. */
function olderPostgres(major: string): BinariesPackage {
  const root = fileURLToPath(new URL(`../postgres-versions/node_modules/postgres-${major}`, import.meta.url))
  const { version } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8')) as { version: string }
  // The builtin provider came with 17; before it the C library sorts by code point too.
  return { native: `${root}/native`, version, ...(Number(major) < 17 ? { locale: ['--locale=C.UTF-8'] } : {}) }
}

/**
 * Returns the programs and settings that an older version needs, whose data are to lie in `folder`. 15 leaves its folder and comes back by the path, so the folder is opened up (with something else in it
 * it keeps its mode), and it knows no "all" in the map of users, so the socket alone says who may connect.
 */
export function surroundingsOfOlder(major: string, folder: string, settings: ServerSettings = {}) {
  const rules = join(folder, 'hba')
  writeFileSync(rules, 'local all all trust\n')
  chmodSync(folder, 0o755)
  return { programs: olderPostgres(major), settings: { ...settings, hba_file: rules } }
}
