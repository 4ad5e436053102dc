import PostalMime from 'postal-mime'
import { describe, expect, test } from 'vitest'
import { writeMessage } from './message.ts'
import { smtpSettings } from './settings.ts'

describe('SMTP_URL', () => {
  test.each([
    [
      'smtps://u:p%40ss@mail.example',
      { host: 'mail.example', port: 465, encryption: 'tls', login: { user: 'u', pass: 'p@ss' } },
    ],
    ['smtp://mail.example', { port: 587, encryption: 'offered', login: null }],
    ['smtp://mail.example:25?requireTLS=true', { port: 25, encryption: 'required' }],
    ['smtp://u:p@mail.example', { encryption: 'required' }],
    ['smtp://u:p@127.0.0.1:25', { encryption: 'offered' }],
    ['smtp://u:p@mail.example?ignoreTLS=true', { encryption: 'none' }],
    ['smtp://[::1]:2525', { host: '::1', port: 2525 }],
  ] as const)('%s is understood', (url, settings) => {
    expect(smtpSettings(url)).toMatchObject(settings)
  })

  test.each([
    'localhost:25',
    'http://mail.example',
    'smtp://mail.example/path',
    'smtp://mail.example?requireTLS=yes',
    'smtp://mail.example?tls=no',
    'smtps://mail.example?ignoreTLS=true',
    'smtp://mail.example?requireTLS=true&ignoreTLS=true',
    'smtp://u:%zz@mail.example',
  ])('%s is refused', (url) => {
    expect(smtpSettings(url)).toBeUndefined()
  })
})

test('every header of a message is one line, whatever names and subjects hold', async () => {
  const name = 'Acme\r\nBcc: victim@example.com\u2028\u202e"<x@y.example>"'
  const bytes = await writeMessage({
    from: { name, address: 'mailer@host.example' },
    replyTo: 'office@acme.example',
    to: 'a@example.com',
    cc: null,
    subject: `Invoice\r\nX-Evil: 1\r\n\r\n<script>alert(1)</script> ${'é'.repeat(255)}`,
    messageId: '<1@host.example>',
    date: new Date('2027-01-01T00:00:00Z'),
    text: '.\r\nBody\n.\n',
    html: '<p>Body</p>',
    headers: { 'Auto-Submitted': 'auto-generated' },
    attachments: [],
  })
  const { headers, from, to, bcc, subject, text } = await PostalMime.parse(bytes)
  expect(headers.map(({ key }) => key)).not.toContain('x-evil')
  expect([bcc ?? [], to?.map(({ address }) => address)]).toEqual([[], ['a@example.com']])
  expect(from).toEqual({ name: 'Acme Bcc: victim@example.com "<x@y.example>"', address: 'mailer@host.example' })
  expect(subject).toMatch(/^Invoice X-Evil: 1 <script>/)
  expect(text).toContain('Body')
})
