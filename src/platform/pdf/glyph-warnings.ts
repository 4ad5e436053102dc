import { warningOf } from '../http/warnings.ts'
import { lacksGlyph } from './coverage.ts'

/** Returns the warning of each field, of those that a document shows, which has a character that no font has. */
export const glyphWarnings = (of: string, fields: Readonly<Record<string, string | null>>): string[] =>
  Object.entries(fields).flatMap(([name, text]) =>
    text !== null && lacksGlyph(text) ? [warningOf('glyphs_missing', 'field', `${of}.${name}`)] : [],
  )
