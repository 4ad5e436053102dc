import { isSepaLegible } from '../../rails/sepa/characters.ts'
import { compactNumber, isBic, isCreditorIdentifier, isIban, isInSepa } from '../../kernel/bank-numbers.ts'
import {
  PAIN008_VERSIONS,
  type Pain008Version,
  SEPA_SCHEMES,
  type SepaScheme,
  SEQUENCE_TYPES,
  type SequenceType,
} from '../../rails/sepa/pain008.ts'
import { text, whole } from '../../platform/wire/fields.ts'
import { type Field, optional, type Properties, REFUSED, word } from '../../platform/wire/read.ts'

/** Settings of gateways of type sepa-file, beside those of every gateway that takes batches. */

/** Declares a number of a bank: taken with spaces and in small letters, read without and in capitals. */
function bankCode(max: number, isRight: (code: string) => boolean, complaint: string): Field<string> {
  const plain = text({ max })
  return {
    ...plain,
    read(value, path, context) {
      const read = plain.read(value, path, context)
      if (typeof read !== 'string') return read
      const code = compactNumber(read)
      if (isRight(code)) return code
      context.problems.add('invalid', path, `${path} ${complaint}.`)
      return REFUSED
    },
  }
}

/** Accounts of creditors may lie in any country that is in SEPA or joins it. */
const ANY_DAY = '2999-12-31'

export const SEPA_SETTINGS = {
  CreditorName: optional(
    text({
      max: 70,
      check: (name) => (isSepaLegible(name) ? undefined : 'must have letters or digits that banks of SEPA carry'),
    }),
  ),
  CreditorIBAN: optional(
    bankCode(70, (iban) => isIban(iban) && isInSepa(iban.slice(0, 2), ANY_DAY), 'must be an IBAN of a country in SEPA'),
  ),
  CreditorBIC: optional(bankCode(30, isBic, 'must be a BIC: 8 or 11 letters and digits')),
  CreditorIdentifier: optional(
    bankCode(70, isCreditorIdentifier, 'must be a SEPA creditor identifier such as DE98ZZZ09999999999'),
  ),
  Scheme: optional(word(SEPA_SCHEMES, { anyCase: true })),
  Version: optional(word(PAIN008_VERSIONS)),
  SequenceType: optional(word(SEQUENCE_TYPES, { anyCase: true })),
  SettleAfterDays: optional(whole(0, 90)),
} satisfies Properties

export interface SepaSettings {
  creditor: { name: string; iban: string; bic: string; identifier: string }
  scheme: SepaScheme
  version: Pain008Version
  sequenceType: SequenceType
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Returns the Settings of a gateway with the defaults in place of what is not set; a creditor's fields that are not set are empty. */
export const sepaSettings = (settings: Readonly<Record<string, unknown>>): SepaSettings => ({
  creditor: {
    name: textOf(settings['CreditorName']),
    iban: textOf(settings['CreditorIBAN']),
    bic: textOf(settings['CreditorBIC']),
    identifier: textOf(settings['CreditorIdentifier']),
  },
  scheme: (settings['Scheme'] as SepaScheme | undefined) ?? 'CORE',
  version: (settings['Version'] as Pain008Version | undefined) ?? '08',
  sequenceType: (settings['SequenceType'] as SequenceType | undefined) ?? 'RCUR',
})
