import { describe, expect, test } from 'vitest'
import { startMailServer } from '../../src/features/mailing/mailing.testing.ts'
import { makeAuthority } from '../support/certificates.ts'
import { call, runProgram, serve, startedFolder, testFolder } from './program.ts'

/** `perennial mail` beside a running service and a mail server, and what the doctor finds about both. */

const SENDER = { MAIL_FROM: 'mailer@billing.example' }

async function json(args: readonly string[], env: Record<string, string>): Promise<any> {
  const { code, out, err } = await runProgram([...args, '--json'], env)
  expect({ code, err }).toEqual({ code: 0, err: '' })
  return JSON.parse(out)
}

test('mail is counted by status, what is held is released, and leaves', async () => {
  const receiver = await startMailServer()
  const env = { DATA_DIR: startedFolder(), SMTP_URL: receiver.url, ...SENDER }
  const service = await serve(env)
  const counted = async (wanted: object) => {
    const none = { Queued: 0, Sending: 0, Sent: 0, Failed: 0, Unknown: 0, Held: 0 }
    let counts = await json(['mail', 'status'], env)
    while (counts[0].Queued + counts[0].Sending > 0) counts = await json(['mail', 'status'], env)
    expect(counts).toEqual([{ AccountID: service.account, ...none, ...wanted }])
  }
  await counted({})
  const { customerID } = (await call(service, service, '/v1/customers', { Name: 'Ann', isCompany: true })).body
  const contact = { customerID, Name: 'Ann', LastName: 'Lee', Email: 'ann@example.com', isActive: true }
  await call(service, service, '/v1/customercontacts', contact)
  await counted({ Held: 1 })
  const [{ outboxID }] = (await call(service, service, '/v1/outbox')).body
  const account = await fetch(`${service.address}/v1/account`, {
    method: 'PUT',
    headers: {
      authorization: `Basic ${Buffer.from(`${service.account}:${service.key}`).toString('base64')}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ TestMailTo: 'testers@example.com' }),
  })
  expect(account.status).toBe(204)
  expect(await json(['mail', 'release'], env)).toEqual({ AccountID: service.account, Released: 1 })
  await counted({ Sent: 1 })
  expect(receiver.arrived.map(({ to }) => to)).toEqual([['testers@example.com']])

  expect(await json(['mail', 'release'], env)).toMatchObject({ Released: 0 })
  expect(await runProgram(['mail', 'release', String(outboxID)], env)).toMatchObject({
    code: 1,
    err: expect.stringContaining('is Sent'),
  })
  expect(await runProgram(['mail', 'release', '999'], env)).toMatchObject({
    code: 1,
    err: `Account ${service.account} has no mail 999.\n`,
  })
})

describe('a mail server is tried', () => {
  const tried = async (env: Record<string, string>, address = 'me@example.com') => {
    const { code, out, err } = await runProgram(['mail', 'test', address, '--json'], env)
    return { code, err, ...(out === '' ? {} : JSON.parse(out)) }
  }

  test('with its reply, whether it takes the mail or not; without settings nothing is tried', async () => {
    const receiver = await startMailServer()
    const env = { SMTP_URL: receiver.url, ...SENDER }
    expect(await tried(env)).toMatchObject({ code: 0, Outcome: 'taken', Reply: expect.stringMatching(/^250 /) })
    expect(receiver.arrived).toMatchObject([{ from: SENDER.MAIL_FROM, to: ['me@example.com'] }])
    receiver.troubles({ rcpt: { code: 550, text: 'no such user' } })
    expect(await tried(env)).toMatchObject({ code: 1, Outcome: 'refused', Reply: '550 no such user' })
    expect(await tried({ ...env, SMTP_URL: 'smtp://127.0.0.1:1' })).toMatchObject({ code: 1, Outcome: 'away' })
    expect(await tried({ SMTP_URL: receiver.url })).toMatchObject({
      code: 1,
      err: expect.stringContaining('MAIL_FROM'),
    })
    expect(await tried(env, 'a@b.example\r\nBcc: c@d.example')).toMatchObject({
      code: 2,
      err: expect.stringContaining('must be an address'),
    })
    expect(receiver.arrived).toHaveLength(1)
  })

  test('whose certificate is of an authority that NODE_EXTRA_CA_CERTS names, and of no other', async () => {
    const { issue, file } = makeAuthority()
    const secure = await startMailServer({ secure: true, ...issue('IP:127.0.0.1') })
    const env = { SMTP_URL: secure.url.replace('smtp:', 'smtps:'), ...SENDER }
    expect(await tried({ ...env, NODE_EXTRA_CA_CERTS: file })).toMatchObject({ code: 0, Outcome: 'taken' })
    expect(await tried(env)).toMatchObject({ code: 1, Outcome: 'away' })
    expect(secure.arrived).toHaveLength(1)
  })
})

test('the doctor finds settings of mail that lack each other', async () => {
  const receiver = await startMailServer()
  const about = async (env: Record<string, string>) => {
    const { out } = await runProgram(['doctor', '--json'], { DATA_DIR: testFolder(), ...env })
    return (JSON.parse(out) as { About: string; State: string; Says: string }[])
      .filter(({ About }) => ['SMTP_URL', 'MAIL_FROM', 'PUBLIC_URL'].includes(About))
      .map(({ About, State }) => `${About} ${State}`)
  }
  const SMTP_URL = receiver.url
  expect(await about({})).toEqual(['SMTP_URL ok'])
  expect(await about(SENDER)).toEqual(['SMTP_URL warn'])
  expect(await about({ SMTP_URL })).toEqual(['MAIL_FROM warn', 'SMTP_URL ok'])
  expect(await about({ SMTP_URL, ...SENDER })).toEqual(['PUBLIC_URL warn', 'SMTP_URL ok'])
  expect(await about({ SMTP_URL, ...SENDER, PUBLIC_URL: 'https://pay.example' })).toEqual(['SMTP_URL ok'])
})
