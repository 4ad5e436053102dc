import { defineConfig } from 'vitest/config'

/**
 * fast: no database. database: one cloned from a template per test file, on one embedded server a run.
 * embedded: starts and kills servers of its own.
 */
const DATABASE = [
  'src/features/**/*.test.ts',
  'src/platform/database/*.test.ts',
  'src/platform/http/*.test.ts',
  'src/app.test.ts',
  'test/api/**/*.test.ts',
  'test/journeys/**/*.test.ts',
]
const WITHOUT_DATABASE = ['src/features/**/rules.test.ts', 'src/features/**/wire.test.ts']
const EMBEDDED = ['src/platform/**/*.embedded.test.ts', 'test/program/**/*.test.ts', 'test/clients/*.test.ts']

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'fast',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: [
            ...DATABASE.filter((pattern) => !pattern.includes('features')),
            'src/features/**/*.test.ts',
            ...EMBEDDED,
            '**/node_modules/**',
          ],
          isolate: false,
          // Generated cases take seconds where the machine has other work.
          testTimeout: 30_000,
        },
      },
      { test: { name: 'rules', include: WITHOUT_DATABASE, isolate: false } },
      {
        test: {
          name: 'database',
          include: DATABASE,
          exclude: [...WITHOUT_DATABASE, ...EMBEDDED],
          // Each file has a database and a service of its own; loading the program anew for each would take half of the time.
          isolate: false,
          globalSetup: ['test/support/database-server.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'embedded',
          include: EMBEDDED,
          testTimeout: 300_000,
          hookTimeout: 300_000,
          // They mostly wait for processes: three at a time, after all else, which wants the cores for itself. The limits are for
          // machines with much other work: a test that hangs ends, one that is slow passes.
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
