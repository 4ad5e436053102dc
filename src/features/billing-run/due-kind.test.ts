import fc from 'fast-check'
import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import { byIdentifier, type CustomerId } from '../../kernel/ids.ts'
import { addDays } from '../../kernel/calendar.ts'
import { moveClock } from './clock.ts'
import { type DueKind, dueKind, listDueCustomers } from './due-kind.ts'

const service = await startTestService()

interface Due {
  id: CustomerId
  customerId: CustomerId
  dueOn: IsoDate
}

/** A kind of which nothing is stored: each customer is due on days that follow one another, and what is done is written into a diary. */
function kindOf(name: string, due: Due[], diary: string[], days: number): DueKind {
  const end = addDays('2027-01-02', days)
  const next = (after: IsoDate, until: IsoDate) =>
    due.flatMap(({ dueOn }) => (dueOn > after && dueOn <= until && dueOn < end ? [dueOn] : [])).toSorted()[0] ?? null
  return dueKind({
    recordType: name,
    findAfter: async (_db, _account, day, until) => next(day, until),
    listCustomers: async (_db, _account, { day, after, limit }) =>
      due
        .filter(({ dueOn, id }) => dueOn === day && id > after)
        .map(({ id }) => id)
        .toSorted(byIdentifier)
        .slice(0, limit),
    listDue: async (_db, _account, customers, { day }) =>
      due.filter(({ id, dueOn }) => dueOn === day && customers.includes(id)).map((one) => ({ ...one })),
    planner: async () => (one: Due) => ({ one, state: { dueOn: null }, invoices: [], renewals: 0, ended: null }),
    apply: async (_tx, { moment }, plans) => {
      for (const { one } of plans) {
        const kept = due.find(({ id }) => id === one.id)!
        diary.push(`${moment.today} ${name} ${due.indexOf(kept)}`)
        kept.dueOn = addDays(one.dueOn, 1)
      }
    },
  })
}

test('the clock drives every kind that it is handed, day by day, and a phase is done for all customers before the next begins', async () => {
  const client = await service.newAccount({ clockAt: '2027-01-01T08:00:00.000Z' })
  const due: Due[][] = [[], []]
  for (let n = 0; n < 3; n += 1) {
    const { body } = await client.post('/v1/customers', { isCompany: true, Name: `Customer ${n}` })
    const id = BigInt(body.customerID)
    for (const list of due) list.push({ id, customerId: id, dueOn: '2027-01-02' })
  }
  const diary: string[] = []
  const order = [[kindOf('tries', due[0]!, diary, 2)], [kindOf('reminders', due[1]!, diary, 2)]]
  await moveClock(
    { db: service.db, realClock: Date.now, order, chunk: 2 },
    { account: client.id, to: '2027-02-01T00:00:00.000Z', actor: 'test' },
  )
  const dayOf = (day: string) => ['tries', 'reminders'].flatMap((name) => [0, 1, 2].map((n) => `${day} ${name} ${n}`))
  expect(diary).toEqual([...dayOf('2027-01-02'), ...dayOf('2027-01-03')])
})

test('pages of all kinds together have every customer once, in order, and no more records than they may but those of the last', async () => {
  const records = fc.array(fc.bigInt(1n, 12n), { maxLength: 30 })
  await fc.assert(
    fc.asyncProperty(
      fc.array(records, { minLength: 1, maxLength: 3 }),
      fc.integer({ min: 1, max: 9 }),
      async (lists, limit) => {
        const kinds = lists.map((customers): DueKind => ({
          ...kindOf('tries', [], [], 1),
          listCustomers: async (_db, _account, due) =>
            customers
              .filter((id) => id > due.after)
              .toSorted(byIdentifier)
              .slice(0, due.limit),
        }))
        const all = lists.flat()
        const seen: CustomerId[] = []
        for (let after = 0n; ; after = seen.at(-1)!) {
          const due = { day: '2027-01-02', after, limit, runId: 0n } as const
          const page = await listDueCustomers(kinds, service.db.unscoped as never, 1n, due)
          if (page.length === 0) break
          expect(all.filter((id) => page.slice(0, -1).includes(id)).length).toBeLessThan(limit)
          seen.push(...page)
        }
        expect(seen).toEqual([...new Set(all)].toSorted(byIdentifier))
      },
    ),
  )
})
