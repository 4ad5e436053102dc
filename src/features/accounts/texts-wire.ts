import { LEFT_OUT, whenLeftOut } from '../../platform/wire/left-out.ts'
import { byLanguage, LANGUAGES_MAX } from '../../platform/wire/by-language.ts'
import { longText } from '../../platform/wire/fields.ts'
import { type Field, objectOf, optional, REFUSED } from '../../platform/wire/read.ts'
import type { Schema } from '../../platform/wire/schema.ts'
import type { Shape } from '../../platform/wire/write.ts'
import type { AccountTexts } from './texts.ts'

/** Texts of an account by language, as requests and answers spell them. */

/** Letters of all languages together: every version of an account that papers froze keeps them. */
const LETTERS_MAX = 100_000

const texts = {
  Notes: optional(longText(), 'The notes that invoices carry which have none of their own.'),
  Terms: optional(longText(), 'The terms of payment that invoices carry which have none of their own.'),
  BankDetails: optional(longText(), 'The bank account to which customers pay; it stands on invoices.'),
}
const textsIn = objectOf(whenLeftOut(texts, { Notes: LEFT_OUT.none, Terms: LEFT_OUT.none, BankDetails: LEFT_OUT.none }))

const schemaOf = (one: Schema): Schema => ({
  type: 'object',
  additionalProperties: one,
  description: `Texts of papers by language (its tag), used there before Notes, Terms and BankDetails; at most ${LANGUAGES_MAX} languages and ${LETTERS_MAX} letters, all of them replaced`,
  examples: [{ de: { Terms: 'Zahlbar innerhalb von 14 Tagen ohne Abzug.' } }],
})

const languages = byLanguage(textsIn, {
  schema: schemaOf(textsIn.schema),
  values: 'texts',
  example: '{"de": {"Notes": …}}',
})

/** Declares texts by language: an object of objects. */
export const accountTexts = (): Field<AccountTexts> => ({
  ...languages,
  read(value, path, context) {
    const found = languages.read(value, path, context)
    if (found === REFUSED) return REFUSED
    const read = Object.fromEntries(
      Object.entries(found).map(([language, { Notes = null, Terms = null, BankDetails = null }]) => [
        language,
        { notes: Notes, terms: Terms, bankDetails: BankDetails },
      ]),
    )
    if (lettersOf(read) <= LETTERS_MAX) return read
    context.problems.add('too_long', path, `${path} may have at most ${LETTERS_MAX} letters in all languages together.`)
    return REFUSED
  },
})

const lettersOf = (byTag: AccountTexts): number =>
  Object.values(byTag)
    .flatMap(({ notes, terms, bankDetails }) => [notes, terms, bankDetails])
    .reduce((sum, text) => sum + (text?.length ?? 0), 0)

export const outAccountTexts = (): Shape<AccountTexts> => ({
  schema: schemaOf(objectOf(texts).schema),
  write: (byTag) =>
    JSON.stringify(
      Object.fromEntries(
        Object.entries(byTag).map(([language, { notes, terms, bankDetails }]) => [
          language,
          { Notes: notes, Terms: terms, BankDetails: bankDetails },
        ]),
      ),
    ),
})
