/** How a long-running command ends: the first signal lets running work finish, the second one a moment later ends at once. */

const SIGNALS = { SIGINT: 2, SIGTERM: 15 } as const
/** The exit code of a program that a signal ended is this plus the number of the signal, as shells report it. */
const ENDED_BY_SIGNAL = 128

/** A key pressed once reaches a program twice where npm runs it: from the terminal, and passed on by npm. What comes within so many milliseconds is one signal. */
const ONE_SIGNAL_MS = 500

export interface Stopping {
  /** Settles when the command is to stop, with the reason. */
  asked: Promise<{ reason: string; isFailure: boolean }>
  /** From now on a signal waits for running work; before, while nothing is served yet, it ends the program at once. */
  drains(): void
  /** Stops because something else asks for it. */
  ask(reason: string): void
  /** Stops because of something that went wrong. */
  fail(reason: string): void
}

/** Listens for the signals to stop. Of a process that `isAskedOnce` further ones change nothing: whoever started it waits for its end, or kills it. */
export function stopping({ isAskedOnce = false } = {}): Stopping {
  let isDraining = false
  let askedAtMs: number | undefined
  let answer: (stop: { reason: string; isFailure: boolean }) => void = () => {}
  const asked = new Promise<{ reason: string; isFailure: boolean }>((resolve) => (answer = resolve))
  const ask = (reason: string): void => {
    if (!isDraining) process.exit(0)
    askedAtMs ??= performance.now()
    answer({ reason, isFailure: false })
  }
  for (const [signal, number] of Object.entries(SIGNALS)) {
    process.on(signal, () => {
      const isAgain = askedAtMs !== undefined && performance.now() - askedAtMs > ONE_SIGNAL_MS
      // The database is tied to this process and ends with it, whatever it was doing.
      if (isAgain && !isAskedOnce) process.exit(ENDED_BY_SIGNAL + number)
      ask(signal)
    })
  }
  return {
    asked,
    ask,
    drains: () => (isDraining = true),
    fail: (reason) => answer({ reason, isFailure: true }),
  }
}
