/**
 * Works through entries, so many at a time. Once one fails no further is begun; those at work are waited for, and the first failure is
 * thrown.
 */
export async function sideBySide<T>(
  entries: Iterable<T>,
  atOnce: number,
  work: (entry: T) => Promise<void>,
): Promise<void> {
  const waiting = entries[Symbol.iterator]()
  let hasFailed = false
  const one = async () => {
    for (let next = waiting.next(); !next.done && !hasFailed; next = waiting.next())
      await work(next.value).catch((error: unknown) => {
        hasFailed = true
        throw error
      })
  }
  const ended = await Promise.allSettled(Array.from({ length: atOnce }, one))
  for (const end of ended) if (end.status === 'rejected') throw end.reason
}
