import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { BinariesPackage } from '../../src/platform/postgres/binaries.ts'

/** The programs of an older major version (15, 16, 17), which have a lock file of their own. Throws where they are not installed. */
export function olderPostgres(major: string): BinariesPackage {
  const root = fileURLToPath(new URL(`../postgres-versions/node_modules/postgres-${major}`, import.meta.url))
  const { version } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8')) as { version: string }
  // The builtin provider came with 17; before it the C library sorts by code point too.
  return { native: `${root}/native`, version, ...(Number(major) < 17 ? { locale: ['--locale=C.UTF-8'] } : {}) }
}
