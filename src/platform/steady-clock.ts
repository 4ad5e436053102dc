/** Milliseconds since some moment, for spans: it goes on evenly whatever happens to the wall clock. An argument so that tests can step it. */
export type SteadyClock = () => number

export const steadyClock: SteadyClock = () => performance.now()
