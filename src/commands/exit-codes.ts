/** Exit codes of the program; docs/operate/command-line.md explains each. */
export const EXIT = {
  done: 0,
  /** Nothing was done, or not all of it could be: the sentence on stderr names the reason. */
  failed: 1,
  /** The words after `perennial` cannot be understood; nothing was done. */
  usage: 2,
  /** Everything else was done, but some records could not be billed; they are listed. */
  someFailed: 3,
} as const
