import type { TaxReason } from '../../kernel/tax.ts'
import { byLanguage, LANGUAGES_MAX } from './by-language.ts'
import { text } from './fields.ts'
import { type Field, REFUSED } from './read.ts'
import type { Shape } from './write.ts'

const schema = {
  type: 'object',
  additionalProperties: { type: 'string' },
  description: `A sentence for each language, by its tag; at most ${LANGUAGES_MAX}`,
  examples: [{ en: 'Exempt under § 4 no. 21 UStG', de: 'Steuerfrei nach § 4 Nr. 21 UStG' }],
}

const languages = byLanguage(text(), { schema, values: 'sentences', example: '{"en": …}' })

/** Declares why there is no tax: an object of sentences by language. */
export const taxReason = (): Field<TaxReason> => ({
  ...languages,
  read(value, path, context) {
    const found = languages.read(value, path, context)
    if (found === REFUSED) return REFUSED
    const sentences = Object.entries(found)
    const [blank] = sentences.find(([, sentence]) => sentence === '') ?? []
    if (sentences.length > 0 && blank === undefined) return found
    if (blank === undefined)
      context.problems.add('invalid', path, `${path} must have a sentence for one language at least.`)
    else context.problems.add('required', path, `${path}.${blank} must not be blank.`)
    return REFUSED
  },
})

export const outTaxReason = (): Shape<TaxReason> => ({ schema, write: (reason) => JSON.stringify(reason) })
