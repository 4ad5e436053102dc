import type { EffectUnderWay } from './memory.ts'

/**
 * Does work that may leave the service, whose effect is remembered from before it on: a failover may come before the answer. It stays where the answer shows
 * that nothing has left. After an exception nobody knows, so that it counts as left.
 */
export async function underWay<Answer>(
  effect: EffectUnderWay,
  work: () => Promise<Answer>,
  hasLeft: (answer: Answer) => boolean,
): Promise<Answer> {
  let mayHaveLeft = true
  try {
    const answer = await work()
    mayHaveLeft = hasLeft(answer)
    return answer
  } finally {
    if (mayHaveLeft) effect.left()
    else effect.stayed()
  }
}
