import { expect, test } from 'vitest'
import { signingBy } from '../emandates/emandates.testing.ts'
import { startMailing, startMailServer, TESTERS } from './mailing.testing.ts'

/** The copy of a signed mandate on its way to the signee. */

const ORIGIN = 'https://pay.example'
const server = await startMailServer()
const { service, work, sender, arrivedOf } = await startMailing(server, { publicUrl: ORIGIN })
const { ask, sign, download } = signingBy(service, ORIGIN)

test('arrives with the link of the signee, which no reader of the outbox sees, and with nothing attached', async () => {
  const client = await sender()
  const { path } = await ask(client)
  expect(await sign(path)).toBe(303)
  const [queued] = (await client.get('/v1/outbox')).body
  expect(`${queued.Text}${queued.Html}`).not.toContain('token=')
  expect(queued.Text).toContain('Your signed copy, for 90 days: ••••')
  await work()
  const [sent] = (await client.get('/v1/outbox')).body
  expect([sent.Status, sent.Text]).toEqual(['Sent', queued.Text])
  const [got] = await arrivedOf(client)
  expect(got?.mail).toMatchObject({ to: [{ address: TESTERS }], subject: '[TEST] Your mandate for Acme & Sons' })
  expect(got?.mail.attachments).toEqual([])
  expect(got?.raw).not.toContain('62001871490')
  const link = /\/widget\/emandate\/download\?token=([\w-]+)/.exec(got?.mail.text ?? '')?.[1] ?? ''
  expect((await download(link)).statusCode).toBe(200)
})

test('has no link where nobody knows the address of the service', async () => {
  const bare = await startMailing(server)
  const client = await bare.sender()
  const here = signingBy(bare.service, 'http://localhost:80')
  const { path } = await here.ask(client)
  expect(await here.sign(path)).toBe(303)
  await bare.work()
  const text = (await bare.arrivedOf(client))[0]?.mail.text ?? ''
  expect(text).toContain('Account: ****1490')
  expect(text).not.toMatch(/copy|token/)
})
