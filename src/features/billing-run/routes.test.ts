import { expect, test } from 'vitest'
import { ORDER_OF_DAY } from '../../duties.ts'
import { readOnlyClientOf, startTestService } from '../../../test/support/app.ts'
import { shop } from '../../../test/support/shop.ts'
import { workRun } from './run.ts'
import { sleepUntil } from './run.testing.ts'

const REAL_NOW = Date.parse('2027-06-01T10:00:00Z')
const service = await startTestService({ now: () => REAL_NOW })

test('starting a run answers 201 with the run, which waits for a worker and bills up to the account’s today', async () => {
  const { client, add } = await shop(service)
  await add()
  await sleepUntil(service, client, '2027-02-10T00:00:00.000Z')
  const started = await client.post('/v1/billingruns')
  expect(started.status).toBe(201)
  expect(started.body).toEqual({
    billingRunID: started.body.billingRunID,
    Cause: 'request',
    State: 'waiting',
    Until: '2027-02-10T00:00:00Z',
    CreatedDate: '2027-06-01T10:00:00.000Z',
    StartedDate: null,
    FinishedDate: null,
    Done: 0,
    Total: 0,
    Invoices: 0,
    Failed: 0,
    Rate: null,
    TimeLeft: null,
    Result: null,
    Failure: null,
    Failures: [],
  })
  const path = `/v1/billingruns/${started.body.billingRunID}`
  expect((await client.get(path)).body).toEqual(started.body)
  await workRun(
    { db: service.db, realClock: () => REAL_NOW, order: ORDER_OF_DAY },
    client.id,
    BigInt(started.body.billingRunID),
  )
  expect((await client.get(path)).body).toMatchObject({ State: 'done', Done: 1, Total: 1, Invoices: 1, TimeLeft: 0 })
  const { Failures: _none, Result: _result, Failure: _failure, ...summary } = (await client.get(path)).body
  expect((await client.get('/v1/billingruns')).body).toEqual([summary])
})

test('runs are listed in their order, with pages linked', async () => {
  const { client } = await shop(service)
  const ids = []
  for (let n = 0; n < 3; n += 1) ids.push((await client.post('/v1/billingruns')).body.billingRunID)
  const page = await client.get('/v1/billingruns?page_size=2')
  expect(page.body.map(({ billingRunID }: any) => billingRunID)).toEqual(ids.slice(0, 2))
  expect(page.headers['link']).toContain('rel="next"')
  expect((await client.get('/v1/billingruns?page=2&page_size=2')).body).toHaveLength(1)
  expect((await client.get('/v1/billingruns?page=0')).status).toBe(400)
})

test('another account’s run is 404, and a key that may only read starts none', async () => {
  const { client } = await shop(service)
  const stranger = await service.newAccount()
  const { billingRunID } = (await client.post('/v1/billingruns')).body
  expect((await stranger.get(`/v1/billingruns/${billingRunID}`)).status).toBe(404)
  expect((await client.get('/v1/billingruns/0')).status).toBe(404)
  const reader = await readOnlyClientOf(service, client)
  expect((await reader.post('/v1/billingruns')).status).toBe(403)
  expect((await reader.put('/v1/clock', { Now: '2028-01-01' })).status).toBe(403)
  expect((await reader.get(`/v1/billingruns/${billingRunID}`)).status).toBe(200)
  expect((await reader.get('/v1/clock')).status).toBe(200)
})

test('an idempotency key starts one run, however often it is sent', async () => {
  const { client } = await shop(service)
  const key = { 'idempotency-key': 'midnight' }
  const first = await client.post('/v1/billingruns', undefined, key)
  const second = await client.post('/v1/billingruns', undefined, key)
  expect(second.body).toEqual(first.body)
  expect(second.headers['idempotency-replayed']).toBe('true')
  expect((await client.get('/v1/billingruns')).body).toHaveLength(1)
})
