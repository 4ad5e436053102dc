import fc from 'fast-check'

/**
 * Asserts a property for a limited time. The first case is tried to its end whatever that takes, and none is broken off: a slow machine tries fewer,
 * and fails nothing by that. A case that fails is made smaller as long as there is time.
 */
export async function assertInTime<Values>(
  property: fc.IAsyncProperty<Values>,
  { limitMs, ...given }: fc.Parameters<Values> & { limitMs: number },
): Promise<void> {
  const untilMs = performance.now() + limitMs
  let hasBegun = false
  const bounded: fc.IRawProperty<Values, true> = {
    isAsync: () => property.isAsync(),
    generate: (random, runId) => property.generate(random, runId),
    shrink: (value) => property.shrink(value),
    runBeforeEach: () => property.runBeforeEach(),
    runAfterEach: () => property.runAfterEach(),
    run: async (values) => {
      if (hasBegun && performance.now() > untilMs) return null
      hasBegun = true
      return property.run(values)
    },
  }
  await fc.assert(bounded as fc.IAsyncProperty<Values>, given)
}
