import { text } from './fields.ts'
import type { Field } from './read.ts'
import { orNull, outText, type Shape } from './write.ts'

/** Longest code of an accountant's chart, in characters. */
const GL_CODE_MAX = 100

/** Declares a code of an accountant's chart; a number is taken as its text. */
export const glCode = (description?: string): Field<string> =>
  text({ max: GL_CODE_MAX, takesNumbers: true, ...(description === undefined ? {} : { description }) })

export const outGlCode = (description: string): Shape<string | null> => orNull(outText(description))
