import { warningOf } from '../http/warnings.ts'
import { lacksGlyph } from './coverage.ts'

/** Texts by the fields that they stand in; null and undefined are none. */
export type ShownTexts = Readonly<Record<string, string | null | undefined>>

/** Of one record that are named: an answer's head holds no more. */
const FIELDS_MAX = 20

/** Returns the warning of each field, of those that a document shows, which has a character that no font has; of the first of them where they are many. */
export const glyphWarnings = (of: string, fields: ShownTexts): string[] =>
  Object.entries(fields)
    .filter(([, text]) => text != null && lacksGlyph(text))
    .slice(0, FIELDS_MAX)
    .map(([name]) => warningOf('glyphs_missing', 'field', `${of}.${name}`))
