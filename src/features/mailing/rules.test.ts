import { describe, expect, test } from 'vitest'
import { badAddressOf, forTest, senderOf } from './compose.ts'
import { mailVerdictOf, receiversOf, verdictOfLost, WAITS_MS } from './rules.ts'

const times = { nowMs: Date.parse('2027-01-01T00:00:00Z'), at: '2027-01-01T00:00:00.000Z' }
const mail = { to: 'a@example.com', cc: 'b@example.com', open: null, takenAt: null, tries: 1 }
const reply = (code: number) => ({ code, text: `${code} so` })
const taken = (refused: { address: string; reply: { code: number; text: string } }[]) =>
  ({
    outcome: 'taken',
    reply: reply(250),
    accepted: receiversOf(mail).filter((address) => !refused.some((one) => one.address === address)),
    refused,
  }) as const

describe('a mail after a try', () => {
  test('is sent when everybody took it', () => {
    expect(mailVerdictOf(mail, taken([]), times)).toMatchObject({
      status: 'sent',
      sentAt: times.at,
      lastReply: '250 so',
    })
  })

  test('is tried for the copy alone where that was put off, and was taken by its receiver at the first time', () => {
    const first = mailVerdictOf(mail, taken([{ address: 'b@example.com', reply: reply(451) }]), times)
    expect(first).toMatchObject({ status: 'queued', open: ['b@example.com'], takenAt: times.at, sentAt: null })
    const again = { ...mail, ...first, tries: 2 }
    const refused = { outcome: 'refused', reply: reply(550), refused: [] } as const
    expect(mailVerdictOf(again, refused, times)).toMatchObject({
      status: 'sent',
      sentAt: times.at,
      lastReply: '550 so',
    })
  })

  test('is tried for its receiver alone where the copy was taken, and has failed when he is refused for good', () => {
    const first = mailVerdictOf(mail, taken([{ address: 'a@example.com', reply: reply(450) }]), times)
    expect(first).toMatchObject({ status: 'queued', open: ['a@example.com'], takenAt: null })
    const refused = taken([{ address: 'a@example.com', reply: reply(550) }])
    expect(mailVerdictOf(mail, refused, times)).toMatchObject({
      status: 'failed',
      open: ['a@example.com'],
      takenAt: null,
    })
  })

  test('that has failed keeps whoever did not take it, for when a person sends it', () => {
    const both = { outcome: 'refused', reply: reply(550), refused: [] } as const
    expect(mailVerdictOf(mail, both, times)).toMatchObject({ status: 'failed', open: receiversOf(mail) })
    const copyLater = taken([
      { address: 'a@example.com', reply: reply(550) },
      { address: 'b@example.com', reply: reply(451) },
    ])
    const first = mailVerdictOf(mail, { ...copyLater, accepted: [] }, times)
    expect(first).toMatchObject({ status: 'queued', open: ['b@example.com'] })
    expect(
      mailVerdictOf({ ...mail, ...first, tries: 2 }, { ...taken([]), accepted: ['b@example.com'] }, times),
    ).toMatchObject({ status: 'failed', open: ['a@example.com'] })
  })

  test('waits by its tries, and has failed after the last', () => {
    const away = { outcome: 'away', reply: null, reason: 'ECONNREFUSED' } as const
    const waits = Array.from({ length: WAITS_MS.length + 1 }, (_, done) =>
      mailVerdictOf({ ...mail, tries: done + 1 }, away, times),
    )
    expect(waits.map(({ status }) => status)).toEqual([...WAITS_MS.map(() => 'queued'), 'failed'])
    expect(waits[0]?.nextTryAt).toBe('2027-01-01T00:01:00.000Z')
  })

  test('whose sender is gone waits, unless it was handed over: then nobody knows', () => {
    const lost = { to: mail.to, tries: 1, open: null, takenAt: null }
    expect(verdictOfLost({ ...lost, isHandedOver: false }, times.nowMs)).toMatchObject({ status: 'queued' })
    expect(verdictOfLost({ ...lost, isHandedOver: true }, times.nowMs)).toMatchObject({ status: 'unknown' })
  })
})

describe('the sender', () => {
  const operator = { from: 'mailer@host.example', domains: ['acme.example'] }

  test("is the operator's address with the account's name, and answers go to the account", () => {
    const account = { name: 'Acme', mailFrom: 'billing@other.example', email: 'office@acme.example' }
    expect(senderOf(account, operator)).toEqual({
      from: { name: 'Acme', address: 'mailer@host.example' },
      replyTo: 'billing@other.example',
    })
    expect(senderOf({ ...account, mailFrom: null }, operator).replyTo).toBe('office@acme.example')
  })

  test("is the account's own address in a domain that the operator names, in any letter case, and in no domain below it", () => {
    const of = (mailFrom: string) => senderOf({ name: 'Acme', mailFrom, email: null }, operator).from.address
    expect(of('billing@ACME.example')).toBe('billing@ACME.example')
    expect(of('billing@x.acme.example')).toBe('mailer@host.example')
    expect(of('billing@notacme.example')).toBe('mailer@host.example')
  })
})

test('a mail of a test account names who would have got it, escaped, and goes to one address', () => {
  const sent = forTest(
    {
      to: 'a&b@example.com',
      cc: 'c@example.com',
      subject: 'Hello',
      text: 'Hi',
      html: '<body class="x"><p>Hi</p></body>',
    },
    'testers@example.com',
  )
  expect(sent).toMatchObject({ to: 'testers@example.com', cc: null, subject: '[TEST] Hello' })
  expect(sent.text).toContain('a&b@example.com, with a copy to c@example.com')
  expect(sent.html).toMatch(/^<body class="x">\n<header><p[^>]*>This.*a&amp;b@example.com/)
})

test.each([
  'a@b\r\nBcc: x@y.example',
  'a@b.example, c@d.example',
  'a b@c.example',
  '<a@b.example>',
  'a@b.example\u202e',
  'a',
])('an address that would be more than an address is found: %j', (address) => {
  expect(badAddressOf(['fine@example.com', null, address])).toBe(address)
})
