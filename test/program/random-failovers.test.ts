import { inject, onTestFinished, test } from 'vitest'
import { RandomFailovers } from './random-failovers.ts'
import { startedFolder, testFolder } from './program.ts'

/** Random failovers, the same in every run. FAILOVER_SEED=12 FAILOVERS=20 makes others, and more. */

const seed = process.env['FAILOVER_SEED'] ?? '8'
const count = Number(process.env['FAILOVERS'] ?? 5)
const ONE_MS = 60_000

test(
  'after random failovers no identifier and no number names two records, and each lost one is listed',
  async () => {
    const before = { folder: startedFolder(), key: inject('started').key }
    const failovers = new RandomFailovers({ root: testFolder(), before, seed })
    onTestFinished(() => failovers.stop())
    await failovers.start()
    for (let n = 0; n < count; n += 1) await failovers.failOver()
  },
  (count + 1) * ONE_MS,
)
