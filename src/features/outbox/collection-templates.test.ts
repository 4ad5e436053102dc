import { expect, test } from 'vitest'
import { LANGUAGES } from '../../platform/locale/format.ts'
import { REMINDER_KINDS } from '../../engine/collection/rules.ts'
import { type CollectionItem, CARD_LOST, collectionMail, DEBIT_NOTICE, DUNNING_KINDS } from './collection-templates.ts'

const invoice = {
  what: 'invoice',
  number: 702n,
  currency: 'ZAR',
  openMinor: 11_500n,
  dueDate: '2027-01-31',
  reason: 'insufficient <funds>',
  link: 'https://pay.example/i/702',
} as const satisfies CollectionItem
const mailOf = (locale: string, kind: Parameters<typeof collectionMail>[0]['kind'], items: readonly CollectionItem[]) =>
  collectionMail({ accountName: 'Fish & Chips', colour: null, locale, customerName: 'Ann Lee', kind, items })

test('every kind has words of its own in every language', () => {
  const kinds = [...DUNNING_KINDS, ...REMINDER_KINDS, DEBIT_NOTICE, CARD_LOST] as const
  const subjects = LANGUAGES.flatMap((language) => kinds.map((kind) => mailOf(language, kind, [invoice]).subject))
  expect(new Set(subjects).size).toBe(LANGUAGES.length * kinds.length)
  expect(subjects.filter((subject) => !subject.includes('Fish & Chips'))).toEqual([])
})

test('a mail lists all invoices it is about, with what is open and when it was due, and escapes what it shows', () => {
  const { text, html } = mailOf('en-ZA', 'warning', [invoice, { ...invoice, number: 703n, reason: null }])
  expect(text).toMatch(/Invoice 702: R\s?115[.,]00, due on 31 January 2027 \(insufficient <funds>\)/)
  expect(text).toMatch(/Invoice 703: R\s?115[.,]00, due on 31 January 2027\n/)
  expect(html).toContain('insufficient &lt;funds&gt;')
})

test('reminders name the card or the contract, and the day, in the language of the customer', () => {
  const card = mailOf('de', 'card_expiring', [{ what: 'card', brand: 'Visa', lastFour: '4242', day: '2027-02-28' }])
  expect(card.text).toContain('Visa mit den Endziffern 4242: 28. Februar 2027')
  const lost = mailOf('en', 'card_lost', [{ what: 'card', brand: 'Visa', lastFour: '4242', day: '2027-02-28' }])
  expect(lost.text).toContain('Visa ending in 4242: February 28, 2027')
  const trial = mailOf('en', 'trial_expiring', [{ what: 'contract', name: 'Gold', day: '2027-03-01' }])
  expect(trial.text).toContain('Gold: March 1, 2027')
})

test('a debit is announced with its amount, its day, the account, and what the payer finds on his statement', () => {
  const debit = {
    what: 'debit',
    number: 702n,
    currency: 'EUR',
    amountMinor: 11_500n,
    day: '2027-01-15',
    lastFour: '3000',
    mandate: 'EM12',
    creditor: 'DE98ZZZ09999999999',
  } as const
  const { text } = mailOf('de', 'debit_notice', [debit])
  expect(text).toMatch(/Rechnung 702: 115,00\s€ am 15. Januar 2027, vom Konto mit den Endziffern 3000, Mandat EM12/)
  expect(text).toContain('Gläubiger-Identifikationsnummer DE98ZZZ09999999999')
  const bare = mailOf('en', 'debit_notice', [{ ...debit, mandate: null, creditor: null }])
  expect(bare.text).toMatch(/Invoice 702: €115\.00 on January 15, 2027, from the account ending in 3000\n/)
})

test('no mail fetches anything when it is opened, whatever stands in it', () => {
  const kinds = [...DUNNING_KINDS, ...REMINDER_KINDS, DEBIT_NOTICE, CARD_LOST] as const
  const hostile = { ...invoice, reason: '<img src="https://evil.example/x"> url(https://evil.example) @import' }
  for (const language of LANGUAGES)
    for (const kind of kinds) {
      const { html } = mailOf(language, kind, [hostile])
      expect(html).not.toMatch(/<(img|link|script|iframe|object|video|svg|form)\b/i)
      expect(html.match(/<[^<>]* (?:src|background|action)=/gi) ?? []).toEqual([])
      expect(
        [...html.matchAll(/https?:\/\/[^\s"<&)]+/g)].map(([url]) => url).filter((url) => !url.includes('evil')),
      ).toEqual(['https://pay.example/i/702'])
      expect(html).toMatch(/<style>[^<]*prefers-color-scheme:dark[^<]*<\/style>/)
    }
})
