import { addMonths } from '../kernel/calendar.ts'
import type { Draw } from './draw.ts'
import { type Life, note } from './life.ts'

/** Work that the firm of the demo bills beside subscriptions: some done once, some agreed by the month. */

/** Of one unit of work in each currency, in major units, against the euro; whole, so that the yen has no decimals. */
const WORTH: Readonly<Record<string, number>> = { EUR: 1, USD: 1, GBP: 1, JPY: 160 }

interface Charge {
  Line: string
  Descrip?: string
  Qty?: number
  UnitCostEx: number
}

const JOBS: readonly (readonly Charge[])[] = [
  [{ Line: 'Set-up on site', Descrip: 'Half a day, with handsets', UnitCostEx: 420 }],
  [
    { Line: 'Handsets', Descrip: 'Desk set, black', Qty: 6, UnitCostEx: 89 },
    { Line: 'Delivery', UnitCostEx: 12 },
  ],
  [
    { Line: 'Training', Descrip: 'Two hours, up to eight people', Qty: 2, UnitCostEx: 160 },
    { Line: 'Welcome discount', Descrip: 'As agreed', Qty: -1, UnitCostEx: 50 },
  ],
  [
    { Line: 'Moving numbers', Descrip: 'From the provider before', Qty: 4, UnitCostEx: 25 },
    { Line: 'Recorded greeting', Descrip: 'One voice, two languages', UnitCostEx: 140 },
  ],
]

const chargesOf = (draw: Draw, currency: string): Charge[] =>
  draw.pick(JOBS).map((charge) => ({ ...charge, UnitCostEx: charge.UnitCostEx * (WORTH[currency] ?? 1) }))

/** Makes an invoice by hand for work that was done. */
export function invoiceWork(life: Life, days: number): void {
  const Charges = chargesOf(life.draw, life.self.prospect.currency)
  life.after(days, ({ client }, { customerID }) => client.post('/v1/invoices', { customerID, Charges }))
}

/** Makes an invoice by hand that was wrong, and cancels it a few days later. */
export function mistakenWork(life: Life, days: number): void {
  const Charges = chargesOf(life.draw, life.self.prospect.currency)
  let invoiceID = 0
  life.after(days, async ({ client }, { customerID }) => {
    invoiceID = (await client.post('/v1/invoices', { customerID, Charges })).invoiceID
  })
  note(life, life.draw.between(2, 6), 'Dispute', 'Never ordered this: invoiced to the wrong customer.')
  life.after(0, ({ client }) => client.delete(`/v1/invoices/${invoiceID}`))
}

/** Makes an invoice that somebody has begun and not yet issued. */
export function draftWork(life: Life, days: number): void {
  const Charges = chargesOf(life.draw, life.self.prospect.currency)
  life.after(days, ({ client }, { customerID }) => client.post('/v1/invoices', { customerID, Charges, isDraft: true }))
}

const AGREEMENTS: readonly { charges: readonly Charge[]; term: readonly [number, 'months' | 'days'] }[] = [
  {
    term: [1, 'months'],
    charges: [{ Line: 'Care of the switchboard', Descrip: 'Up to four hours a month', UnitCostEx: 260 }],
  },
  {
    term: [3, 'months'],
    charges: [
      { Line: 'Rent of handsets', Qty: 12, UnitCostEx: 9 },
      { Line: 'Replacement service', UnitCostEx: 36 },
    ],
  },
  { term: [1, 'months'], charges: [{ Line: 'Answering service', Descrip: 'Weekdays, 8 to 18', UnitCostEx: 175 }] },
]

/** Makes a recurring invoice for what is agreed; some for a time only, some given up. */
export function retain(life: Life): void {
  const { draw, after } = life
  const { charges, term } = draw.pick(AGREEMENTS)
  const worth = WORTH[life.self.prospect.currency] ?? 1
  const months = draw.chance(25) ? draw.between(4, 9) : null
  let recurInvoiceID = 0
  after(draw.between(0, 3), async ({ client, today }, { customerID }) => {
    const added = await client.post('/v1/recurring-invoices', {
      customerID,
      Term: term[0],
      TermType: term[1],
      EndDate: months === null ? null : addMonths(today, months),
      RecurInvoiceCharges: charges.map((charge) => ({ ...charge, UnitCostEx: charge.UnitCostEx * worth })),
    })
    recurInvoiceID = added.recurInvoiceID
  })
  if (draw.chance(50))
    note(life, draw.between(5, 40), 'Meeting', 'Went through the agreement together, all stays as it is.')
  if (months === null && draw.chance(15))
    after(draw.between(40, 120), ({ client }) => client.delete(`/v1/recurring-invoices/${recurInvoiceID}`))
}
