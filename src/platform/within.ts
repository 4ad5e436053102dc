/** What a promise answers, or undefined when it fails or takes longer: for questions about health, to which no answer is one too. */
export async function within<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ms, undefined)
  })
  try {
    return await Promise.race([work, limit])
  } catch {
    return undefined
  } finally {
    clearTimeout(timer)
  }
}
