import { expect, onTestFinished, test } from 'vitest'
import { MANDATE } from '../../src/features/emandates/emandates.testing.ts'
import { startMailServer } from '../../src/features/mailing/mailing.testing.ts'
import { serveForeignShop } from './foreign-shop.ts'
import { runProgram, serve, type Serving, startProgram } from './program.ts'

/**
 * A mandate is signed once, sealed once and mailed once, whatever is killed and when. A lock of the test holds the process at the step at which it
 * is killed.
 */

const COPY_TO = 'testers@example.com'

async function shop() {
  const receiver = await startMailServer()
  const mail = { SMTP_URL: receiver.url, MAIL_FROM: 'mailer@billing.example' }
  const served = await serveForeignShop(mail)
  const { env, authorization, first, connect } = served
  const headers = { authorization, 'content-type': 'application/json' }
  const send = (to: Serving, method: string, path: string, body: object) =>
    fetch(to.address + path, { method, headers, body: JSON.stringify(body) })
  expect((await send(first, 'PUT', '/v1/account', { TestMailTo: COPY_TO })).status).toBe(204)
  const asked = (await (await send(first, 'POST', '/v1/emandate', MANDATE)).json()) as { Token: string; Url: string }
  const path = new URL(asked.Url).pathname
  const sign = async (at: Serving): Promise<number> => {
    const shown = /name="shown" value="([0-9a-f]{64})"/.exec(await (await fetch(at.address + path)).text())?.[1] ?? ''
    const fields = { decision: 'sign', consent: 'yes', signature: 'Ada Lovelace', drawing: '', shown }
    const sent = await fetch(at.address + path, {
      method: 'POST',
      redirect: 'manual',
      headers: { origin: at.address, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(fields).toString(),
    })
    return sent.status
  }
  const download = async (from: Serving) => {
    const url = `${from.address}/widget/emandate/download?token=${asked.Token}`
    const answer = await fetch(url, { headers: { authorization } })
    expect(answer.status).toBe(200)
    return Buffer.from(await answer.arrayBuffer()).toString('base64')
  }
  const work = () => {
    const worker = startProgram(['work'], env)
    onTestFinished(() => void worker.child.kill('SIGKILL'))
    return worker
  }
  /** Holds whoever writes to a table from now on; `letGo` ends that. */
  const hold = async (table: string) => {
    const holder = await connect()
    await holder.query(`begin; lock table ${table} in share row exclusive mode`)
    const waiting = `select count(*) from pg_locks where relation = 'perennial.${table}'::regclass and not granted`
    return { waiting, letGo: () => holder.query('rollback') }
  }
  return { ...served, receiver, sign, download, work, hold }
}

type Shop = Awaited<ReturnType<typeof shop>>

/** Steps of a signature at which processes are killed. */
const STEPS: Record<string, (shop: Shop) => Promise<void>> = {
  'before the signature is committed': async ({ first, sign, hold, until }) => {
    const outbox = await hold('outbox')
    const sent = sign(first).catch(() => undefined)
    await until(outbox.waiting, 1)
    first.child.kill('SIGKILL')
    await Promise.all([first.ended, sent])
    await outbox.letGo()
  },
  'between the signature and its PDF': async ({ first, sign }) => {
    expect(await sign(first)).toBe(303)
    first.child.kill('SIGKILL')
    await first.ended
  },
  'while the sealed PDF is written': async ({ first, sign, hold, until, work }) => {
    expect(await sign(first)).toBe(303)
    const held = await hold('emandate_documents')
    const worker = work()
    await until(held.waiting, 1)
    worker.child.kill('SIGKILL')
    first.child.kill('SIGKILL')
    await Promise.all([worker.ended, first.ended])
    await held.letGo()
  },
}

test.each(Object.keys(STEPS))('kill -9 %s: one signature, one sealed PDF of the same bytes, one mail', async (step) => {
  const all = await shop()
  const { env, rows, until, receiver, sign, download, work } = all
  await STEPS[step]?.(all)
  expect(await rows('select 1 from emandate_documents')).toEqual([])
  const [before] = await rows('select count(signed_at)::int as signed from emandates')
  await rows(`update leases set leased_until = now() - interval '1 second'`)
  const second = await serve(env, ['--no-worker'])
  if (before?.['signed'] === 0) expect(await sign(second)).toBe(303)
  // The form once more: its page shows that the mandate is signed.
  await sign(second)
  // Two at once, and whoever asks before they have made it.
  const workers = [work(), work()]
  const [pdf, same] = await Promise.all([download(second), download(second)])
  await until('select count(*) from emandate_documents', 1)
  await until(`select count(*) from outbox where status = 'sent'`, 1)
  expect(same).toBe(pdf)
  for (const { child, ended } of workers) {
    child.kill('SIGTERM')
    await ended
  }
  expect(await rows('select count(*)::int as n from emandate_documents')).toEqual([{ n: 1 }])
  expect(receiver.arrived.map(({ to }) => to)).toEqual([[COPY_TO]])
  second.child.kill('SIGKILL')
  await second.ended
  const third = await serve(env, ['--no-worker'])
  expect(await download(third)).toBe(pdf)
  expect(await rows('select kind from emandate_evidence order by 1')).toEqual(
    ['created', 'opened', 'signed'].map((kind) => ({ kind })),
  )
  const verified = await runProgram(['verify'], env)
  expect({ code: verified.code, out: verified.out }).toEqual({ code: 0, out: expect.stringContaining('0 differences') })
})
