import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BUILT, builtModules } from './test/support/built-modules.ts'
import { LongestFirst } from './test/support/longest-first.ts'

/**
 * fast: no database. database: one cloned from a template per test file, on one embedded server a run.
 * cluster: a coordinator and workers of Citus for the run. embedded: starts and kills servers of its own.
 */
const DATABASE = [
  'src/features/**/*.test.ts',
  'src/platform/database/*.test.ts',
  'src/platform/long/*.test.ts',
  'src/platform/http/*.test.ts',
  'test/api/**/*.test.ts',
  'test/journeys/**/*.test.ts',
  'test/upgrades/**/*.test.ts',
]
const WITHOUT_DATABASE = ['src/features/**/rules.test.ts', 'src/features/**/wire.test.ts']
const EMBEDDED = ['src/platform/**/*.embedded.test.ts', 'test/program/**/*.test.ts', 'test/clients/*.test.ts']

/** Statements, `perennial distribute`, the service and servers that fail, on Citus. */
const ON_CLUSTER = ['test/cluster/**/*.test.ts']

/** By hand, see `test/cluster/wide.ts`. Of upgrades, and of what goes by engine, the stage has tests of its own. */
const WIDE = process.env['CLUSTER_WIDE'] !== undefined
const ON_CLUSTER_WIDE = [
  ...ON_CLUSTER,
  'src/features/**/*.test.ts',
  'test/api/**/*.test.ts',
  'test/journeys/**/*.test.ts',
]

/** Limits for machines with much other work: a test that hangs ends, one that is slow passes. */
const PATIENCE = {
  testTimeout: 300_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 30_000 } },
}
const SEEDED = { setupFiles: ['test/support/seed.ts'], server: { deps: { external: [BUILT] } } }
/** One for all projects: they share the modules. */
const plugins = [builtModules()]
/** As many as there are cores: left to itself, Vitest takes one less, and of two cores only one would work. */
const EACH_CORE = { isolate: false, maxWorkers: availableParallelism() }

export default defineConfig({
  test: {
    teardownTimeout: 60_000,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        plugins,
        test: {
          name: 'fast',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: [
            'test/cluster/**',
            ...DATABASE.filter((pattern) => !pattern.includes('features')),
            'src/features/**/*.test.ts',
            ...EMBEDDED,
            '**/node_modules/**',
          ],
          ...EACH_CORE,
          ...SEEDED,
          ...PATIENCE,
        },
      },
      { plugins, test: { name: 'rules', include: WITHOUT_DATABASE, ...EACH_CORE, ...SEEDED, ...PATIENCE } },
      {
        plugins,
        test: {
          name: 'database',
          include: DATABASE,
          exclude: [...WITHOUT_DATABASE, ...EMBEDDED],
          globalSetup: ['test/support/database-server.ts'],
          // Each file has a database and a service of its own; loading the program anew for each would take half of the time.
          ...EACH_CORE,
          ...SEEDED,
          ...PATIENCE,
        },
      },
      {
        plugins,
        test: {
          name: 'cluster',
          include: WIDE ? ON_CLUSTER_WIDE : ON_CLUSTER,
          exclude: [...WITHOUT_DATABASE, ...EMBEDDED],
          globalSetup: ['test/cluster/global-setup.ts'],
          ...EACH_CORE,
          ...SEEDED,
          setupFiles: [...SEEDED.setupFiles, 'test/cluster/keep-executed.ts'],
          ...PATIENCE,
          // A database with something in it is distributed twice over, and each statement is executed on two databases.
          testTimeout: 900_000,
        },
      },
      {
        plugins,
        test: {
          name: 'embedded',
          include: EMBEDDED,
          globalSetup: ['test/support/started-folder.ts'],
          // They mostly wait for processes: three at a time, after all else, which wants the cores for itself.
          maxWorkers: 3,
          isolate: false,
          ...SEEDED,
          ...PATIENCE,
          // Some kill a service fifty times.
          testTimeout: 900_000,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
