import { languageTag } from './fields.ts'
import { isJsonObject } from './json.ts'
import { type Field, REFUSED, shown } from './read.ts'
import type { Schema } from './schema.ts'

export const LANGUAGES_MAX = 20

/** Declares an object that has a value for each language, by its tag, of at most 20 languages. */
export function byLanguage<T>(
  item: Field<T>,
  { schema, values, example }: { schema: Schema; values: string; example: string },
): Field<Record<string, T>> {
  const tag = languageTag()
  return {
    isBlankNull: true,
    schema,
    read(value, path, context) {
      if (!isJsonObject(value)) {
        const message = `${path} must be an object of ${values} by language, as ${example}; ${shown(value, context)} was sent.`
        context.problems.add('wrong_type', path, message)
        return REFUSED
      }
      const entries = Object.entries(value)
      if (entries.length > LANGUAGES_MAX) {
        const message = `${path} may have at most ${LANGUAGES_MAX} languages; ${entries.length} were sent.`
        context.problems.add('too_many', path, message)
        return REFUSED
      }
      const found: Record<string, T> = {}
      for (const [name, given] of entries) {
        const language = tag.read(name, `${path}.${name.slice(0, 40)}`, context)
        if (language === REFUSED) return REFUSED
        const one = item.read(given, `${path}.${language}`, context)
        if (one === REFUSED) return REFUSED
        found[language] = one
      }
      return found
    },
  }
}
