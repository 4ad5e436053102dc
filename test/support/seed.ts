import fc from 'fast-check'

/**
 * Seed of all random tests of a run that name none of their own. It is the same in every run, so that what a change breaks is the change's own fault;
 * SEED=random takes one of chance and SEED=123 that one, for whoever looks for more. A failure names its seed.
 */
const seed = process.env['SEED'] ?? '20261123'
if (seed !== 'random') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) })
