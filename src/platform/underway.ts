/** Counts work that has begun and is not over: a process that is to come to rest waits for it. */
export class Underway {
  #count = 0

  /** Whether nothing is under way. */
  get isNone(): boolean {
    return this.#count === 0
  }

  /** Notes that something begins. The returned function notes, once, that it is over. */
  begin(): () => void {
    this.#count += 1
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.#count -= 1
    }
  }

  /** Does work that counts until it has settled. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    const end = this.begin()
    try {
      return await work()
    } finally {
      end()
    }
  }
}
