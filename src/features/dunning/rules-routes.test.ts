import { describe, expect, test } from 'vitest'
import { readOnlyClientOf, startTestService, type TestClient } from '../../../test/support/app.ts'

const service = await startTestService()

const PATH = '/v1/collectionrules'
const DEFAULTS = {
  Attempts: [
    { DaysAfterDue: 0, Action: 'payment_unsuccessful' },
    { DaysAfterDue: 3, Action: 'warning' },
    { DaysAfterDue: 7, Action: 'final_warning' },
    { DaysAfterDue: 14, Action: 'suspend' },
  ],
  Reminders: [
    { Kind: 'upcoming_renewal', DaysBefore: 7, isActive: false },
    { Kind: 'card_expiring', DaysBefore: 30, isActive: false },
    { Kind: 'trial_expiring', DaysBefore: 3, isActive: false },
    { Kind: 'end_near', DaysBefore: 7, isActive: false },
    { Kind: 'payment_due', DaysBefore: 3, isActive: false },
  ],
  isForUntried: false,
}

const rulesOf = async (client: TestClient) => (await client.get(PATH)).body

describe('GET /v1/collectionrules', () => {
  test('answers the rules that every account starts with', async () => {
    const client = await service.newAccount()
    const reply = await client.get(PATH)
    expect(reply.status).toBe(200)
    expect(reply.body).toEqual(DEFAULTS)
    expect(reply.headers['etag']).toBeTruthy()
  })
})

describe('PUT /v1/collectionrules', () => {
  test('changes only what is sent, of reminders only the kinds that are named', async () => {
    const client = await service.newAccount()
    const Attempts = [
      { DaysAfterDue: 0, Action: 'none' },
      { DaysAfterDue: 365, Action: 'suspend' },
    ]
    expect((await client.put(PATH, { Attempts })).status).toBe(204)
    expect(await rulesOf(client)).toEqual({ ...DEFAULTS, Attempts })
    const Reminders = [
      { Kind: 'payment_due', DaysBefore: 90, isActive: true },
      { Kind: 'end_near', isActive: true },
    ]
    await client.put(PATH, { Reminders, isForUntried: true })
    expect(await rulesOf(client)).toEqual({
      Attempts,
      Reminders: [
        ...DEFAULTS.Reminders.slice(0, 3),
        { Kind: 'end_near', DaysBefore: 7, isActive: true },
        { Kind: 'payment_due', DaysBefore: 90, isActive: true },
      ],
      isForUntried: true,
    })
    await client.put(PATH, { Attempts: null, Reminders: null, isForUntried: null })
    expect(await rulesOf(client)).toEqual(DEFAULTS)
  })

  test('is an event with the rules as they now are, and is the business of its account alone', async () => {
    const client = await service.newAccount()
    const other = await service.newAccount()
    await client.put(PATH, { isForUntried: true })
    const [event] = (await client.get('/v1/events?type=collection_rules.updated')).body
    expect(event.Record).toEqual({ ...DEFAULTS, isForUntried: true })
    expect(await rulesOf(other)).toEqual(DEFAULTS)
    expect((await other.get('/v1/events?type=collection_rules.updated')).body).toEqual([])
  })

  test('by a state that was not read last is refused', async () => {
    const client = await service.newAccount()
    const { headers } = await client.get(PATH)
    const put = (body: object) => client.put(PATH, body, { 'if-match': String(headers['etag']) })
    expect((await put({ isForUntried: true })).status).toBe(204)
    expect((await put({ isForUntried: false })).status).toBe(412)
  })

  test('by a key that only reads is refused', async () => {
    const client = await service.newAccount()
    const reader = await readOnlyClientOf(service, client)
    expect((await reader.put(PATH, { isForUntried: true })).status).toBe(403)
  })

  const days = (...list: number[]) => ({ Attempts: list.map((DaysAfterDue) => ({ DaysAfterDue, Action: 'warning' })) })
  test.each([
    ['no attempt', days(), 'Attempts'],
    ['more than 20 attempts', days(...Array.from({ length: 21 }, (_, day) => day)), 'Attempts'],
    ['a first attempt after the due date', days(1, 2), 'Attempts[0].DaysAfterDue'],
    ['days that do not ascend', days(0, 5, 3), 'Attempts[2].DaysAfterDue'],
    ['a day twice', days(0, 3, 3), 'Attempts[2].DaysAfterDue'],
    ['a day beyond a year', days(0, 366), 'Attempts[1].DaysAfterDue'],
    ['a day before the due date', days(0, -1), 'Attempts[1].DaysAfterDue'],
    ['a part of a day', days(0, 1.5), 'Attempts[1].DaysAfterDue'],
    ['an unknown action', { Attempts: [{ DaysAfterDue: 0, Action: 'sue' }] }, 'Attempts[0].Action'],
    ['an attempt without an action', { Attempts: [{ DaysAfterDue: 0 }] }, 'Attempts[0].Action'],
    ['an unknown reminder', { Reminders: [{ Kind: 'birthday' }] }, 'Reminders[0].Kind'],
    ['a reminder twice', { Reminders: [{ Kind: 'end_near' }, { Kind: 'end_near' }] }, 'Reminders[1].Kind'],
    ['more than 90 days before', { Reminders: [{ Kind: 'end_near', DaysBefore: 91 }] }, 'Reminders[0].DaysBefore'],
    ['a flag that is none', { isForUntried: 'perhaps' }, 'isForUntried'],
    ['an unknown field', { attempts: [] }, 'attempts'],
  ])('%s is 400 and names the field', async (_, body, field) => {
    const client = await service.newAccount()
    const reply = await client.put(PATH, body)
    expect(reply.status).toBe(400)
    expect(reply.body.Errors.map(({ Field }: { Field: string }) => Field)).toEqual([field])
    expect(await rulesOf(client)).toEqual(DEFAULTS)
  })
})
