/**
 * Packs the built program of a release, for tests of what it does beside later ones. Usage: npx tsx test/upgrades/pack-program.ts FOLDER NAME, where FOLDER is
 * its worktree; it needs `tar`.
 */
import { execFileSync } from 'node:child_process'
import { join, resolve } from 'node:path'

const [folder = '', name = ''] = process.argv.slice(2)
const program = resolve(folder)
execFileSync(process.execPath, [join(program, 'scripts/build.js')], { cwd: program, stdio: 'inherit' })
execFileSync('tar', [
  ...[
    '--sort=name',
    '--owner=0',
    '--group=0',
    '--exclude=*.map',
    '-czf',
    new URL(`${name}.program.tgz`, import.meta.url).pathname,
  ],
  ...[
    '-C',
    program,
    'dist',
    'bin',
    'web',
    'db/migrations',
    'db/schema.sql',
    'db/before-0.1.0.sql.gz',
    'package.json',
    'openapi.json',
  ],
])
