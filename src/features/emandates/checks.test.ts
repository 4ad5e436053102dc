import { expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { signingBy } from './emandates.testing.ts'
import { reported, tamperWith } from '../verification/tamper.testing.ts'

/** Verification of what was signed. */

const ORIGIN = 'https://pay.example.org'
const service = await startTestService({ publicUrl: ORIGIN })
const { ask, sign } = signingBy(service, ORIGIN)
let client: TestClient
const { tampered } = await tamperWith(service, () => client)

test('what was signed and its evidence cannot be changed unnoticed', async () => {
  client = await service.newAccount({ clockAt: null })
  const { path } = await ask(client)
  expect(await sign(path)).toBe(303)
  await ask(client)
  expect(await tampered()).toEqual([])

  const step = (change: string, kind: string) =>
    tampered(
      `update emandate_evidence set ${change} where account_id = :account and kind = '${kind}' and emandate_id = (select min(emandate_id) from emandates where account_id = :account)`,
    ).then(reported)
  const broken =
    'evidence of mandates: emandate #: its evidence says changed, should say steps that each hold the hash of the one before'
  expect(await step(`details = jsonb_set(details, '{address}', '"10.0.0.1"')`, 'opened')).toEqual([broken])
  expect(await step(`happened_at = happened_at - interval '1 second'`, 'signed')).toEqual([broken])
  expect(await step(`details = jsonb_set(details, '{typed}', '"Somebody"')`, 'signed')).toEqual([broken])
  expect(
    await tampered(`delete from emandate_evidence where account_id = :account and kind = 'opened'`).then(reported),
  ).toEqual([broken])
  expect(
    await tampered(`delete from emandate_evidence where account_id = :account and kind = 'signed'`).then(reported),
  ).toEqual(['evidence of mandates: emandate #: its signatures says 0, should say 1'])
  const signed = (change: string) =>
    tampered(`update emandates set ${change} where account_id = :account and signed_at is not null`).then(reported)
  const changed = ['evidence of mandates: emandate #: its text says changed, should say what was signed']
  expect(await signed(`terms = jsonb_set(terms, '{amount}', '"9999"')`)).toEqual(changed)
  expect(await signed(`signee = jsonb_set(signee, '{lastName}', '"Babbage"')`)).toEqual(changed)
  expect(await signed(`signed_at = null, signed_really_at = null`)).toEqual([
    'evidence of mandates: emandate #: its signatures says 1, should say 0',
  ])
})
