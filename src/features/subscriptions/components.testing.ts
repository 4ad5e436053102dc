import { expect } from 'vitest'
import type { TestClient } from '../../../test/support/app.ts'

/** Components as tests of subscriptions sell them. */

let components = 0

export interface ComponentWish {
  type?: 'quantity' | 'metered' | 'opt-in'
  scheme?: 'unit' | 'volume' | 'tiered' | 'stairstep'
  term?: number
  termType?: 'months' | 'days'
  /** [Price, QtyTill] from the lowest bracket up; the last is open where QtyTill is null. */
  brackets?: [number, number | null][]
  name?: string
}

/** 1–10 at 5, 11 and more at 4. */
export const TIERS: [number, number | null][] = [
  [5, 10],
  [4, null],
]

export const pricesOf = (brackets: [number, number | null][]) => [
  {
    CurrencyCode: 'USD',
    ComponentBracketPrices: brackets.map(([Price, QtyTill], index) => ({
      Price,
      QtyFrom: index === 0 ? 1 : (brackets[index - 1]![1] ?? 0) + 1,
      QtyTill,
    })),
  },
]

/** A component, seats at 3.10 a month unless wished otherwise. Answers it. */
export async function addComponent(client: TestClient, wish: ComponentWish = {}) {
  components += 1
  const group = await client.post('/v1/packagegroups', { GroupName: `Components ${components}` })
  const added = await client.post('/v1/components', {
    ComponentCode: `C${components}`,
    Name: wish.name ?? 'Seats',
    Descrip: 'A component',
    Type: wish.type ?? 'quantity',
    Scheme: wish.scheme ?? 'unit',
    UnitName: 'each',
    packageGroupID: group.body.packageGroupID,
    Term: wish.term ?? 1,
    TermType: wish.termType ?? 'months',
    isActive: true,
    ComponentVersion: {
      VersionName: 'First',
      ComponentVersionCurrencies: pricesOf(wish.brackets ?? [[3.1, null]]),
    },
  })
  expect(added.text).toContain('componentID')
  return added.body
}

export const modify = (client: TestClient, id: number, componentUsage: object[], more: object = {}, query = '') =>
  client.put(`/v1/subscriptions/${id}/components/modify${query}`, { componentUsage, ...more })

export const use = (client: TestClient, id: number, entry: object) =>
  client.put(`/v1/subscriptions/${id}/components/recordusage`, entry)

/** "2027-02-01: Seats 2027-02-01 to 2027-02-28 15.5 + …": the day of an invoice and its lines by heading. */
export const linesOf = (invoice: any): string =>
  `${invoice.InvoiceDate.slice(0, 10)}: ${invoice.Charges.map(
    ({ Line, Descrip, AmountEx }: any) => `${Line} ${Descrip} ${AmountEx}`,
  ).join(' + ')}`
