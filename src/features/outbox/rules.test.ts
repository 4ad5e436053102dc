import { describe, expect, test } from 'vitest'
import { testEnvelope } from '../../../test/support/envelope.ts'
import { makeLinks } from '../../platform/page/links.ts'
import { attachmentMarksOf, markOf, withAttachment, withLinks } from './links.ts'
import { readableMail } from './mail.ts'
import { invoiceMail } from './invoice-template.ts'
import { creditNoteMail, statementMail } from './money-templates.ts'
import { welcomeMail } from './templates.ts'

const facts = {
  accountName: 'Fish & <b>Chips</b>',
  colour: null,
  locale: 'en',
  name: 'Jane "J"',
  lastName: "O'Neil",
  username: 'joneil',
  password: 'a<b>1',
  isChange: false,
}

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

  test('keeps the direction of its text whatever names hold', () => {
    const name = 'Acme\u202e \u2067moc.live'
    const { subject, text, html } = welcomeMail({ ...facts, accountName: name, name, username: name })
    expect(subject + text + html).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/)
    expect(text).toContain('Username: Acme moc.live')
  })

  test('speaks German', () => {
    const { subject, text, html } = welcomeMail({ ...facts, accountName: 'Müller', locale: 'de-AT' })
    expect(subject).toBe('Willkommen bei Müller: Ihr Zugang')
    expect(text).toContain('Benutzername: joneil')
    expect(html).toContain('<html lang="de">')
  })
})

const outboxMail = {
  id: 1n,
  customerId: 1n,
  lastReply: null,
  messageId: '<1@example.com>',
  template: 'welcome',
  to: 'a@example.com',
  subject: 'Welcome',
  status: 'queued',
  createdAt: '2027-01-01T00:00:00.000Z',
  sentAt: null,
} as const

test('a mail whose secret was sealed under another key is shown without it', () => {
  const [now, before] = [testEnvelope().under('outbox'), testEnvelope(Buffer.alloc(32, 2)).under('outbox')]
  const secrets = { sealer: now, links: makeLinks(testEnvelope(), undefined) }
  const texts = { text: 'Password: ••••', html: '<p>••••</p>' }
  const mail = { ...outboxMail, ...texts }
  const sealedBy = (sealer: typeof now) => ({
    ...mail,
    sealed: sealer.seal(
      1n,
      { table: 'outbox', column: 'sealed_bodies', row: '1' },
      JSON.stringify({ text: 'Password: x', html: '' }),
    ),
  })
  expect(readableMail(1n, sealedBy(now), secrets, true).text).toBe('Password: x')
  expect(readableMail(1n, sealedBy(now), secrets, false).text).toBe(texts.text)
  expect(readableMail(1n, sealedBy(before), secrets, true).text).toBe(texts.text)
})

describe('the mail with an invoice', () => {
  const invoice = {
    accountName: 'Acme & Sons',
    colour: '#7a1f5c',
    link: 'https://pay.example/i/17',
    attachment: { attached: 'ATTACHED ', apart: 'APART ' },
    locale: 'en',
    customerName: 'Łódź <Ltd>',
    number: 17n,
    invoiceDate: '2027-04-03',
    dueDate: '2027-05-03',
    currency: 'USD',
    totalMinor: 115_00n,
    balanceMinor: 65_00n,
  }

  test('says what is owed and until when', () => {
    const { subject, text, html } = invoiceMail(invoice)
    expect(subject).toBe('Invoice 17 from Acme & Sons')
    expect(text).toContain('Total: $115.00\n  Balance due: $65.00\n  Due date: May 3, 2027')
    expect(html).toContain('Łódź &lt;Ltd&gt;')
  })

  test('asks for nothing where nothing is left to pay', () => {
    const { text } = invoiceMail({ ...invoice, balanceMinor: 0n })
    expect(text).toContain('Nothing is left to pay.')
    expect(text).not.toContain('Due date')
  })

  test('speaks German', () => {
    expect(invoiceMail({ ...invoice, locale: 'de-DE' }).text).toContain('Fällig am: 3. Mai 2027')
  })
})

describe('the sentence about a PDF', () => {
  const messageId = '<0b5ee6f9-9f7e-4b0c-8f7e-3a1c2d4e5f60@example.com>'
  const greeted = { accountName: 'Acme', colour: null, customerName: 'Ann', attachment: attachmentMarksOf(messageId) }
  const money = { currency: 'EUR', totalMinor: 100n }
  const invoice = { link: 'l', number: 17n, invoiceDate: '2027-04-03', dueDate: '2027-05-03', balanceMinor: 100n }
  const mails = (locale: string) => [
    invoiceMail({ ...greeted, ...money, ...invoice, locale }),
    creditNoteMail({ ...greeted, ...money, locale, number: 'CN1', date: '2027-04-03' }),
    statementMail({
      ...greeted,
      locale,
      from: '2027-04-01',
      to: '2027-04-30',
      closing: [{ currency: 'EUR', closingMinor: 5n }],
    }),
  ]

  test.each([
    ['en', /attached to this mail/, /too large/],
    ['de', /im Anhang/, /zu groß/],
  ])('is the true one (%s)', (locale, attached, apart) => {
    for (const { text, html } of mails(locale))
      for (const one of [text, html]) {
        const [here, large] = [withAttachment(one, messageId, true), withAttachment(one, messageId, false)]
        expect(here).toMatch(attached)
        expect(here).not.toMatch(apart)
        expect(large).toMatch(apart)
        expect(large).not.toMatch(attached)
        expect(here + large).not.toContain('0b5ee6f9')
        expect(here + large).not.toContain('\n\n\n')
      }
  })
})

describe('links', () => {
  const messageId = '<0b5ee6f9-9f7e-4b0c-8f7e-3a1c2d4e5f60@example.com>'
  const mark = markOf(messageId, { kind: 'i', record: 17n, counter: 2 })
  const text = `Hello\nPay: ${mark}\nBye`

  test('stand in the place of their marks, and take their line with them where there is none', () => {
    const shown = withLinks(text, messageId, ({ kind, record, counter }) => `/${kind}/${record}-${counter}`)
    expect(shown).toBe('Hello\nPay: /i/17-2\nBye')
    expect(withLinks(text, messageId, () => null)).toBe('Hello\nBye')
  })

  test('are dots for readers of the outbox, and real where nothing leaves', () => {
    const mail = { ...outboxMail, messageId, text, html: `<a href="${mark}">Pay</a>`, sealed: null }
    const envelope = testEnvelope()
    const links = makeLinks(envelope, 'https://pay.example')
    const secrets = { sealer: envelope.under('outbox'), links }
    expect(readableMail(1n, mail, secrets, false)).toMatchObject({
      text: 'Hello\nPay: ••••\nBye',
      html: '<a href="••••">Pay</a>',
    })
    const url = links.url({ kind: 'i', account: 1n, record: 17n, counter: 2 })
    expect(readableMail(1n, mail, secrets, true)).toMatchObject({
      text: `Hello\nPay: ${url}\nBye`,
      html: `<a href="${url}">Pay</a>`,
    })
  })

  test('a mark of another mail is text', () => {
    expect(withLinks(text, '<another@example.com>', () => 'https://evil.example')).toBe(text)
  })
})
