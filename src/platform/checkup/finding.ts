/** Finding of a checkup about one thing: its state, and the step that mends it. It never holds a secret. */
export interface Finding {
  /** The setting or the part of the surroundings, as the person knows it. */
  about: string
  state: 'ok' | 'warn' | 'fail'
  text: string
  /** Null where nothing needs to be done. */
  mend: string | null
}

export const fine = (about: string, text: string): Finding => ({ about, state: 'ok', text, mend: null })
/** Makes a finding of something that works, but not as it should. */
export const doubtful = (about: string, text: string, mend: string): Finding => ({ about, state: 'warn', text, mend })
/** Makes a finding of something with which the service does not start or does not work. */
export const broken = (about: string, text: string, mend: string): Finding => ({ about, state: 'fail', text, mend })
