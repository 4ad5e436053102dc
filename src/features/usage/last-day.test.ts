import { describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { checkBooks, codesOf, invoicesOf, moveTo, shop } from '../../../test/support/shop.ts'
import { addComponent, linesOf, modify, TIERS, use } from '../subscriptions/components.testing.ts'

const service = await startTestService()

/** A subscription since 1 January, of a free package, with messages at 5 up to the tenth and 4 from the eleventh on. */
async function messages() {
  const { client, add } = await shop(service, { price: 0 })
  const { componentID } = await addComponent(client, {
    type: 'metered',
    scheme: 'tiered',
    brackets: TIERS,
    name: 'Messages',
  })
  const id: number = (await add({ componentUsage: [{ componentID }] })).body.subscriptionID
  const report = (entry: object) => use(client, id, { componentID, ...entry })
  const inBulk = (entry: object) =>
    client.post('/v1/usage', {
      Usage: [{ subscriptionID: id, componentID, UsageKey: JSON.stringify(entry), ...entry }],
    })
  const cancel = (kind: string) => client.put(`/v1/subscriptions/${id}/cancel/${kind}`)
  const rows = async () => (await invoicesOf(client)).map(linesOf)
  return { client, id, componentID, report, inBulk, cancel, rows }
}

describe('usage of the day of a cancellation', () => {
  test('is taken where it is dated before the instant, for the cycle that was cut, and refused from then on', async () => {
    const { client, report, inBulk, cancel, rows } = await messages()
    await report({ NumUnits: 8 })
    await moveTo(client, '2027-01-20T11:00:00Z')
    expect((await cancel('norefund')).status).toBe(204)
    await moveTo(client, '2027-01-20T12:00:00Z')
    const later = [{}, { Date: '2027-01-20T11:00:00Z' }, { Date: '2027-01-20T11:30:00Z' }]
    for (const entry of later) {
      const refused = await report({ NumUnits: 1, ...entry })
      expect([refused.status, codesOf(refused)]).toEqual([409, ['subscription_ended']])
      expect((await inBulk({ NumUnits: 1, ...entry })).status).toBe(409)
    }
    expect((await report({ NumUnits: 2, Date: '2027-01-20T09:00:00Z' })).status).toBe(204)
    // Half past nine in the evening, eleven hours ahead of UTC.
    expect((await report({ NumUnits: 1, Date: '2027-01-20T21:30:00+11:00' })).status).toBe(204)
    // A date alone is its midnight, in a plain body too.
    expect((await report({ NumUnits: 1, Date: '2027-01-20' })).status).toBe(204)
    expect((await inBulk({ NumUnits: 1, Date: '2027-01-20' })).status).toBe(201)
    expect((await inBulk({ NumUnits: 2, Date: '2027-01-20T10:59:59.999Z' })).status).toBe(201)
    await moveTo(client, '2027-01-21')
    // 8 × 5 = 40; the ninth and tenth at 5, five more at 4. A report first invoices what is due that day.
    expect(await rows()).toEqual([
      '2027-01-20: Messages 2027-01-01 to 2027-01-19 40',
      '2027-01-20: Messages 2027-01-01 to 2027-01-19, late: 8 → 10 units 10',
      '2027-01-20: Messages 2027-01-01 to 2027-01-19, late: 10 → 11 units 4',
      '2027-01-20: Messages 2027-01-01 to 2027-01-19, late: 11 → 15 units 16',
    ])
    await checkBooks(service, client)
  })

  test('counts for the cycle that begins on that day, whether anything of it was invoiced or not', async () => {
    for (const used of [0, 3]) {
      const { client, report, cancel, rows } = await messages()
      await moveTo(client, '2027-02-01T08:00:00Z')
      if (used > 0) await report({ NumUnits: used })
      await cancel('norefund')
      await moveTo(client, '2027-02-01T09:00:00Z')
      expect((await report({ NumUnits: 2, Date: '2027-02-01T07:00:00Z' })).status).toBe(204)
      await moveTo(client, '2027-02-02')
      expect(await rows()).toEqual(
        used === 0
          ? ['2027-02-01: Messages 2027-02-01 to 2027-02-01 10']
          : [
              '2027-02-01: Messages 2027-02-01 to 2027-02-01 15',
              '2027-02-01: Messages 2027-02-01 to 2027-02-01, late: 3 → 5 units 10',
            ],
      )
      await checkBooks(service, client)
    }
  })

  test('costs nothing with full credit', async () => {
    const { client, report, cancel, rows } = await messages()
    await report({ NumUnits: 8 })
    await moveTo(client, '2027-01-20T11:00:00Z')
    await cancel('fullcredit')
    expect((await report({ NumUnits: 5, Date: '2027-01-20T10:00:00Z' })).status).toBe(204)
    await moveTo(client, '2027-03-01')
    expect(await rows()).toEqual([])
    await checkBooks(service, client)
  })

  test('is refused where the end came at midnight: by an EndDate, a cancellation at renewal, or one at that instant', async () => {
    const ends = [
      async ({ client, id }: Awaited<ReturnType<typeof messages>>) => {
        await client.put(`/v1/subscriptions/${id}/changeenddate`, { EndDate: '2027-02-01' })
        await moveTo(client, '2027-02-01T12:00:00Z')
      },
      async ({ client, cancel }: Awaited<ReturnType<typeof messages>>) => {
        await cancel('renewal')
        await moveTo(client, '2027-02-01T12:00:00Z')
      },
      async ({ client, cancel }: Awaited<ReturnType<typeof messages>>) => {
        await moveTo(client, '2027-02-01T00:00:00Z')
        await cancel('prorata')
        await moveTo(client, '2027-02-01T12:00:00Z')
      },
    ]
    for (const end of ends) {
      const one = await messages()
      await end(one)
      for (const Date of ['2027-02-01', '2027-02-01T00:00:00Z', '2027-02-01T09:00:00Z'])
        expect([Date, (await one.report({ NumUnits: 1, Date })).status]).toEqual([Date, 409])
      expect((await one.report({ NumUnits: 1, Date: '2027-01-31T23:59:00Z' })).status).toBe(204)
    }
  })

  test('goes by the last cancellation where the subscription was started again', async () => {
    const { client, id, report, cancel } = await messages()
    await moveTo(client, '2027-01-20T11:00:00Z')
    await cancel('norefund')
    await moveTo(client, '2027-01-20T14:00:00Z')
    expect((await client.put(`/v1/subscriptions/${id}/reactivate`, {})).status).toBe(204)
    expect((await report({ NumUnits: 1 })).status).toBe(204)
    await moveTo(client, '2027-01-20T15:00:00Z')
    await cancel('norefund')
    expect((await report({ NumUnits: 1, Date: '2027-01-20T14:30:00Z' })).status).toBe(204)
    expect((await report({ NumUnits: 1, Date: '2027-01-20T15:30:00Z' })).status).toBe(409)
    await checkBooks(service, client)
  })
})

describe('usage of a component that was left out and added again', () => {
  test('counts for the cycle of then where it is dated before, and is refused between', async () => {
    const { client, id, componentID, report, inBulk, rows } = await messages()
    await report({ NumUnits: 8 })
    await moveTo(client, '2027-01-10')
    await modify(client, id, [])
    await moveTo(client, '2027-02-10')
    await modify(client, id, [{ componentID }])
    for (const Date of ['2027-01-10', '2027-01-15', '2027-02-09']) {
      const refused = await report({ NumUnits: 1, Date })
      expect([codesOf(refused), refused.body.Errors[0].Field]).toEqual([['component_not_attached'], 'Date'])
      expect((await inBulk({ NumUnits: 1, Date })).status).toBe(409)
    }
    expect((await report({ NumUnits: 1, Date: '2027-01-05' })).status).toBe(204)
    expect((await inBulk({ NumUnits: 1, Date: '2027-01-09' })).status).toBe(201)
    expect((await report({ NumUnits: 3, Date: '2027-02-10' })).status).toBe(204)
    await moveTo(client, '2027-03-01')
    // 8 × 5; of 10 in all 50; then 3 × 5.
    expect(await rows()).toEqual([
      '2027-02-01: Messages 2027-01-01 to 2027-01-31 40',
      '2027-03-01: Messages 2027-02-10 to 2027-02-28 15 + Messages 2027-01-01 to 2027-01-31, late: 8 → 10 units 10',
    ])
    await checkBooks(service, client)
  })

  test('counts in one cycle where it came back within it, but for the days between', async () => {
    const { client, id, componentID, report, rows } = await messages()
    await moveTo(client, '2027-01-10')
    await modify(client, id, [])
    await moveTo(client, '2027-01-20')
    await modify(client, id, [{ componentID }])
    expect(codesOf(await report({ NumUnits: 1, Date: '2027-01-19' }))).toEqual(['component_not_attached'])
    await report({ NumUnits: 1, Date: '2027-01-09' })
    await report({ NumUnits: 2, Date: '2027-01-20' })
    await moveTo(client, '2027-02-10')
    await modify(client, id, [])
    await moveTo(client, '2027-03-10')
    await modify(client, id, [{ componentID }])
    // Both times away are known.
    for (const Date of ['2027-01-15', '2027-02-15'])
      expect(codesOf(await report({ NumUnits: 1, Date }))).toEqual(['component_not_attached'])
    expect((await report({ NumUnits: 1, Date: '2027-02-05' })).status).toBe(204)
    await moveTo(client, '2027-04-01')
    expect(await rows()).toEqual([
      '2027-02-01: Messages 2027-01-01 to 2027-01-31 15',
      '2027-04-01: Messages 2027-02-01 to 2027-02-28, late: 0 → 1 unit 5',
    ])
    await checkBooks(service, client)
  })
})
