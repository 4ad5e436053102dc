/** Finding of a checkup about one thing: its state, and the step that mends it. It never holds a secret. */
export interface Finding {
  /** The setting or the part of the surroundings, as the person knows it. */
  about: string
  state: 'ok' | 'warn' | 'fail'
  says: string
  /** Null where nothing needs to be done. */
  mend: string | null
}

export const fine = (about: string, says: string): Finding => ({ about, state: 'ok', says, mend: null })
/** It works, but not as it should. */
export const doubtful = (about: string, says: string, mend: string): Finding => ({ about, state: 'warn', says, mend })
/** The service does not start, or does not work, like this. */
export const broken = (about: string, says: string, mend: string): Finding => ({ about, state: 'fail', says, mend })
