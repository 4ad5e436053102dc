import fc from 'fast-check'
import { addDays, type IsoDate } from '../../kernel/calendar.ts'
import { isBankDay } from '../../kernel/bank-days.ts'
import { isCreditorIdentifier, isIban } from '../../kernel/bank-numbers.ts'
import {
  type DirectDebit,
  type DirectDebits,
  PAIN008_VERSIONS,
  type PostalPlace,
  SEPA_SCHEMES,
  SEQUENCE_TYPES,
} from './pain008.ts'

/** Random batches of direct debits, whose facts are right and whose texts are anything that a person may have typed. */

const withCheckDigits = (form: string, isRight: (text: string) => boolean): string => {
  for (let digits = 2; digits < 99; digits += 1) {
    const text = form.replace('??', String(digits).padStart(2, '0'))
    if (isRight(text)) return text
  }
  throw new Error(`no check digits make ${form} right`)
}

const digits = (length: number) =>
  fc.array(fc.integer({ min: 0, max: 9 }), { minLength: length, maxLength: length }).map((all) => all.join(''))

const accountsOf = (form: string, length: number, bic: string) =>
  digits(length).map((national) => ({ iban: withCheckDigits(`${form}${national}`, isIban), bic }))

/** Accounts with banks of their countries; the package that is compared with wants that. */
const anAccount = fc.oneof(
  accountsOf('DE??', 18, 'COBADEFFXXX'),
  accountsOf('AT??', 16, 'BKAUATWW'),
  accountsOf('NL??ABNA', 10, 'ABNANL2A'),
  accountsOf('GB??NWBK', 14, 'NWBKGB2L'),
  accountsOf('CH??', 17, 'POFICHBEXXX'),
)
const aCreditor = digits(11).map((national) => withCheckDigits(`DE??ZZZ${national}`, isCreditorIdentifier))

const aReference = fc
  .stringMatching(/^[A-Za-z0-9](?:[A-Za-z0-9?:().,'+-]{0,10}[/ ]?[A-Za-z0-9?:().,'+-]){0,2}$/)
  .filter(({ length }) => length <= 35)

/** Anything typed, of any script, with characters that XML and SEPA treat in their own ways. */
export const aText = (maxLength: number): fc.Arbitrary<string> =>
  fc
    .array(
      fc.oneof(
        fc.constantFrom(...'aZ09 /&<>"\'-?:().,+;_#äÖßéÅøłŽıŞ€„“–\u00a0\u0007\u200b\u0301Ωμέガ你😀ЖщьЂ'),
        fc.string({ unit: 'binary', maxLength: 1 }),
      ),
      { minLength: 1, maxLength },
    )
    .map((characters) => characters.join('').slice(0, maxLength))

const anAmount = fc.oneof(
  { weight: 4, arbitrary: fc.bigInt({ min: 1n, max: 500_00n }) },
  fc.bigInt({ min: 1n, max: 99_999_999_999n }),
)

const aCollectionDate: fc.Arbitrary<IsoDate> = fc
  .integer({ min: 0, max: 700 })
  .map((days) => addDays('2026-06-01', days))
  .filter((day) => isBankDay('target', day))

const aPlace: fc.Arbitrary<PostalPlace> = fc.record({
  street: fc.option(aText(90)),
  postalCode: fc.option(aText(20)),
  town: aText(60),
  country: fc.constantFrom('GB', 'CH', 'DE'),
})

const aDebit = fc.record({
  amountMinor: anAmount,
  mandateReference: aReference,
  mandateDate: fc.integer({ min: 0, max: 900 }).map((days) => addDays('2023-06-01', days)),
  hasAccountChanged: fc.boolean(),
  accountHolder: aText(70),
  address: fc.option(aPlace),
  account: anAccount,
  remittance: aText(300),
})

const withAccount = <Of extends { account: { iban: string; bic: string } }>({ account, ...rest }: Of) => ({
  ...rest,
  ...account,
})

export const someDebits: fc.Arbitrary<DirectDebits> = fc
  .record({
    version: fc.constantFrom(...PAIN008_VERSIONS),
    createdAt: fc.constantFrom('2026-05-28T09:30:00Z', '2026-05-28T09:30:00.123Z'),
    messageId: digits(32),
    paymentInformationId: digits(32).map((text) => `${text}-1`),
    scheme: fc.constantFrom(...SEPA_SCHEMES),
    sequenceType: fc.constantFrom(...SEQUENCE_TYPES),
    collectionDate: aCollectionDate,
    creditor: fc.record({ name: aText(90), account: anAccount, identifier: aCreditor }),
    debits: fc.array(aDebit, { minLength: 1, maxLength: 12 }),
  })
  .map(({ creditor, debits, ...file }) => ({
    ...file,
    creditor: withAccount(creditor),
    debits: debits.map((debit, index): DirectDebit => ({ ...withAccount(debit), reference: `P7-${index + 1}` })),
  }))

/** A batch of two debits that stands in examples. */
export const SAMPLE: DirectDebits = {
  version: '08',
  createdAt: '2027-01-04T10:15:30Z',
  messageId: '0f8b1c52a7d94c52a91c3f0e8c2d7b11',
  paymentInformationId: '0f8b1c52a7d94c52a91c3f0e8c2d7b11-1',
  scheme: 'CORE',
  sequenceType: 'RCUR',
  collectionDate: '2027-01-07',
  creditor: {
    name: 'Böhm & Söhne GmbH',
    iban: 'DE89370400440532013000',
    bic: 'COBADEFFXXX',
    identifier: 'DE98ZZZ09999999999',
  },
  debits: [
    {
      reference: 'P7-101',
      amountMinor: 11_500n,
      mandateReference: 'EM 12/2026',
      mandateDate: '2026-11-30',
      hasAccountChanged: false,
      accountHolder: 'Zoë Müller-Łukasz',
      address: null,
      iban: 'NL91ABNA0417164300',
      bic: 'ABNANL2A',
      remittance: 'Invoices 702, 703',
    },
    {
      reference: 'P7-102',
      amountMinor: 1n,
      mandateReference: 'EM13',
      mandateDate: '2026-12-01',
      hasAccountChanged: true,
      accountHolder: "O'Brien Ltd",
      address: { street: '12 High Street', postalCode: 'SW1A 1AA', town: 'London', country: 'GB' },
      iban: 'GB29NWBK60161331926819',
      bic: 'NWBKGB2L',
      remittance: 'Invoice 704',
    },
  ],
}
