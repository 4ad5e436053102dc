/** Builds the program when its sources are newer than what was built; false when they could not be built. */
export function buildWhenStale(root: string): boolean
