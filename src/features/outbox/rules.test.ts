import { describe, expect, test } from 'vitest'
import { languageOf, welcomeMail } from './templates.ts'

const facts = {
  accountName: 'Fish & <b>Chips</b>',
  locale: 'en',
  name: 'Jane "J"',
  lastName: "O'Neil",
  username: 'joneil',
  password: 'a<b>1',
  isChange: false,
}

test.each([
  ['en', 'en'],
  ['de-CH', 'de'],
  ['DE', 'de'],
  ['den', 'en'],
  ['fr', 'en'],
])('the language of %s is %s', (locale, language) => expect(languageOf(locale)).toBe(language))

describe('the welcome mail', () => {
  test('is written as it is in text and escaped in HTML', () => {
    const { text, html, subject } = welcomeMail(facts)
    expect(subject).toBe('Welcome to Fish & <b>Chips</b>: your sign-in')
    expect(text).toContain('Hello Jane "J" O\'Neil,')
    expect(text).toContain('Password: a<b>1')
    expect(
      text.endsWith('\n-- \nFish & <b>Chips</b>\nIf you did not expect this mail, please tell us by answering it.\n'),
    ).toBe(true)
    expect(html).toContain('Jane &quot;J&quot; O&#39;Neil')
    expect(html).not.toContain('<b>')
  })

  test('tells of a change, and does not ask to keep a password that it does not name', () => {
    const { subject, text } = welcomeMail({ ...facts, password: null, isChange: true })
    expect(subject).toContain('has changed')
    expect(text).toContain('Password: unchanged')
    expect(text).not.toContain('to yourself')
  })

  test('speaks German', () => {
    const { subject, text, html } = welcomeMail({ ...facts, accountName: 'Müller', locale: 'de-AT' })
    expect(subject).toBe('Willkommen bei Müller: Ihr Zugang')
    expect(text).toContain('Benutzername: joneil')
    expect(html).toContain('<html lang="de">')
  })
})
