import { expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { bank, entryXml, statementXml } from '../result-files/result-files.testing.ts'
import { reported, tamperWith } from '../verification/tamper.testing.ts'

/** Verification of what banks have answered, and of what gives way. */

const service = await startTestService()
let client: TestClient
const { tampered } = await tamperWith(service, () => client)

test('what banks have answered is compared with what became of it, and nothing but lines may give way', async () => {
  const shop = await bank(service, 2)
  client = shop.client
  const [line] = shop.sent as [(typeof shop.sent)[0]]
  const sent = await shop.send(statementXml([entryXml({ code: 'AC04', reference: 'unknown' })]))
  expect([sent.status, sent.body.Unmatched]).toEqual([201, 1])
  const { resultFileID } = sent.body
  const [{ lineID }] = (await client.get(`/v1/resultfiles/${resultFileID}`)).body.Lines
  const answered = await client.put(`/v1/resultfiles/${resultFileID}/lines/${lineID}`, {
    paymentID: Number(line.paymentId),
  })
  expect(answered.status, answered.text).toBe(204)
  expect(await tampered()).toEqual([])

  const file = `update result_files set`
  expect(reported(await tampered(`${file} applied = 3 where account_id = :account`))).toEqual([
    `result files: result file ${resultFileID}: lines applied says 3, should say 0 at most, for so many were matched`,
  ])
  expect(reported(await tampered(`${file} unmatched = 0 where account_id = :account`))).toEqual([
    `result files: result file ${resultFileID}: unmatched lines says 0, should say 1 at least`,
  ])
  const change = (to: string) => tampered(`update result_lines set payment_id = ${to} where account_id = :account`)
  expect(await change(String(shop.sent[1]?.paymentId)).then(reported)).toEqual([
    expect.stringMatching(
      /^returns applied by hand: result line \d+ of customer #: its payment says \d+, should say one that has failed$/,
    ),
  ])
  const lost = Number(shop.sent[1]?.paymentId)
  const unbatched = await tampered(
    `delete from batch_lines where payment_id = ${lost} and account_id = :account`,
    `update payments set gives_way = true where payment_id = ${lost} and account_id = :account`,
  )
  expect(reported(unbatched)).toContain(
    'payments that give way: payment # of customer #: whether it gives way says true, should say false, for it is in no batch',
  )
})
