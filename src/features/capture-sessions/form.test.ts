import { describe, expect, test } from 'vitest'
import { type ACCOUNT_FIELDS, type CARD_FIELDS, readAccount, readCard } from './form.ts'

/** Forms of cards and accounts as keyboards, clipboards and password managers fill them. */

const TODAY = '2027-01-10'
const NAMES = { givenName: 'Ada', familyName: 'Lovelace' }

const card = (fields: Partial<Record<(typeof CARD_FIELDS)[number], string>>) => {
  const read = readCard(
    new Map(Object.entries({ number: '4242424242424242', expiry: '12/29', ...NAMES, ...fields })),
    TODAY,
  )
  if ('wrongs' in read) return read.wrongs
  return [read.card.Number.reveal(), read.card.ExpiryMonth, read.card.ExpiryYear]
}

describe('a card', () => {
  test.each([
    '\u202A4242 4242 4242 4242\u202C',
    '4242\u200B4242\uFEFF4242\u00AD4242',
    '４２４２４２４２４２４２４２４２',
    '٤٢٤٢٤٢٤٢٤٢٤٢٤٢٤٢',
    '4242.4242.4242.4242',
    '4242 4242 4242 4242',
    '4242-4242-4242-4242',
  ])('is taken with the number %j', (number) => {
    expect(card({ number })).toEqual(['4242424242424242', 12, 2029])
  })

  test.each(['2029-12', '202912', '１２/２９', '12–29', '12/29', '12/2029', '1229', '122029', '12 / 29'])(
    'is taken with the expiry %j',
    (expiry) => {
      expect(card({ expiry })).toEqual(['4242424242424242', 12, 2029])
    },
  )

  test.each(['3/29', '329'])('is taken with %j, the third month', (expiry) => {
    expect(card({ expiry })).toEqual(['4242424242424242', 3, 2029])
  })

  test.each(['13/29', '00/29', '2029', '29/12'])('is not taken with the expiry %j', (expiry) => {
    expect(card({ expiry })).toEqual({ expiry: 'mistyped' })
  })

  test('is still checked', () => {
    expect(card({ number: '４２４２４２４２４２４２４２４１' })).toEqual({ number: 'mistyped' })
    expect(card({ number: '\u202A\u200B \u202C', expiry: '\u200B' })).toEqual({
      number: 'required',
      expiry: 'required',
    })
    expect(card({ expiry: '２０２６-１２' })).toEqual({ expiry: 'expired' })
  })

  test('has no number of a card in a name, in whatever way it is written', () => {
    for (const givenName of ['4242.4242.4242.4242', '٤٢٤٢٤٢٤٢٤٢٤٢٤٢٤٢', '4242\u200B4242\u200B42424242'])
      expect(card({ givenName })).toEqual({ givenName: 'number_misplaced' })
  })
})

const BANK = { holder: 'Ada Lovelace', bank: 'Bank', accountType: 'Current' }
type AccountFields = Partial<Record<(typeof ACCOUNT_FIELDS)[number], string>>

const account = (kind: 'sepa' | 'ach' | 'debit_order', fields: AccountFields) => {
  const read = readAccount(new Map(Object.entries({ ...BANK, ...fields })), kind, TODAY)
  return 'wrongs' in read ? read.wrongs : read.checked
}

describe('a bank account', () => {
  test('of sepa has IBAN and BIC in whatever characters', () => {
    for (const iban of [
      '\u202Ade89 3704 0044 0532 0130 00\u202C',
      'ＤＥ８９３７０４００４４０５３２０１３０００',
      'DE89.3704.0044.0532.0130.00',
    ])
      expect(account('sepa', { iban, bic: 'cobade\u200Bff–xxx' })).toMatchObject({
        number: 'DE89370400440532013000',
        bic: 'COBADEFFXXX',
      })
  })

  test('of ach keeps the hyphens of its number and nothing else between its digits', () => {
    const routingNumber = '０２１-000.021'
    expect(account('ach', { accountNumber: '12–34 56\u200B78', routingNumber })).toMatchObject({
      number: '12-345678',
      routingNumber: '021000021',
    })
    expect(account('ach', { accountNumber: '12.345678', routingNumber })).toEqual({ accountNumber: 'mistyped' })
  })

  test('of a debit order has digits alone', () => {
    expect(account('debit_order', { accountNumber: '62-00.123 ４５６', branchCode: '250 655\u200B' })).toMatchObject({
      number: '6200123456',
      branchCode: '250655',
    })
    expect(account('debit_order', { accountNumber: '62/00123456', branchCode: '250655' })).toEqual({
      accountNumber: 'mistyped',
    })
  })
})
