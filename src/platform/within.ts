/** Returns the result of a promise, or undefined if it fails or takes longer: for checks of health, where no answer is an answer too. */
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
