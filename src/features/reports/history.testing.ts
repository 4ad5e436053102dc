import fc from 'fast-check'
import type { TestClient } from '../../../test/support/app.ts'
import { addPackage, invoicesOf } from '../../../test/support/shop.ts'

/** Random histories of invoices, notes, bad debts, payments and locks, made by requests as callers send them. */

export const CURRENCIES = ['USD', 'JPY', 'KWD'] as const
export const FIRST = '2027-01-01'

/** Steps of a history: a kind, and numbers that choose records and amounts. */
export const step = fc.record({
  kind: fc.constantFrom(
    'invoice',
    'invoice',
    'recurring',
    'subscription',
    'subscription',
    'end',
    'note',
    'note',
    'list',
    'list',
    'credit',
    'credit_lines',
    'debt',
    'debt',
    'relief',
    'cancel',
    'pay',
    'pay',
    'fail',
    'delete_note',
    'delete_debt',
    'lower',
    'clock',
    'lock',
  ),
  one: fc.nat(1000),
  two: fc.nat(1000),
  amount: fc.integer({ min: 1, max: 300 }),
})
export type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

/** Lines of an invoice, one to three, the last of three a discount. */
const linesOf = (one: number, amount: number): object[] =>
  [amount, 7, -(amount % 5)].slice(0, 1 + (one % 3)).map((UnitCostEx) => ({ UnitCostEx }))

/** Account whose history is made step by step; what is refused changes nothing. */
export class History {
  readonly #client: TestClient
  readonly #customers: number[] = []
  readonly #invoices: { invoiceID: number; customerID: number; CurrencyCode: string; lines: number[] }[] = []
  readonly #notes: any[] = []
  readonly #debts: any[] = []
  readonly #payments: number[] = []
  readonly #subscriptions: number[] = []
  #packageID = 0
  readonly #currencies: readonly string[]
  #day = 0
  #numbers = 0

  constructor(client: TestClient, currencies: readonly string[] = CURRENCIES) {
    this.#client = client
    this.#currencies = currencies
  }

  async begin(): Promise<void> {
    for (const CurrencyCode of this.#currencies) await this.#client.post('/v1/currencies', { CurrencyCode })
    await this.#client.post('/v1/tax', {
      Name: 'VAT',
      rules: [
        { Perc: 0.23, DatevKey: '3' },
        { countryID: 840, Perc: 0 },
      ],
    })
    await this.#client.post('/v1/tax', { Name: 'Levy', rules: [{ countryID: 276, Perc: 0.015, DatevKey: '9' }] })
    for (const countryID of [276, 840, 710]) {
      const customer = { Name: `Customer of ${countryID}`, isCompany: true, countryID }
      this.#customers.push((await this.#client.post('/v1/customers', customer)).body.customerID)
    }
    this.#packageID = (await addPackage(this.#client, { price: 31.07, setupFee: 3 })).packageID
  }

  /** Makes a subscription or a recurring invoice, and learns of the invoices that this makes. */
  async #recur(kind: 'recurring' | 'subscription', one: number, two: number, amount: number): Promise<void> {
    const customerID = this.#customers[one % this.#customers.length] as number
    if (kind === 'subscription') {
      const reply = await this.#client.post('/v1/subscriptions', { customerID, packageID: this.#packageID })
      if (reply.status === 201) this.#subscriptions.push(reply.body.subscriptionID)
    } else
      await this.#client.post('/v1/recurring-invoices', {
        customerID,
        Term: 1 + (two % 4),
        TermType: 'months',
        StartDate: this.today,
        RecurInvoiceCharges: linesOf(one, amount),
      })
    await this.#learn()
  }

  /** Reads the invoices that the service made. */
  async #learn(): Promise<void> {
    const known = new Set(this.#invoices.map(({ invoiceID }) => invoiceID))
    for (const { invoiceID, customerID, CurrencyCode, Charges } of await invoicesOf(this.#client))
      if (!known.has(invoiceID))
        this.#invoices.push({
          invoiceID,
          customerID,
          CurrencyCode,
          lines: Charges.map(({ chargeID }: any) => chargeID),
        })
  }

  /** Returns the day that the clock stands on. */
  get today(): string {
    return new Date(Date.parse(FIRST) + this.#day * 86_400_000).toISOString().slice(0, 10)
  }

  #dayBefore(days: number): string {
    return new Date(Date.parse(this.today) - (days % 20) * 86_400_000).toISOString().slice(0, 10)
  }

  async take({ kind, one, two, amount }: Step): Promise<void> {
    const pick = <Item>(some: readonly Item[], by = one): Item | undefined => some[by % Math.max(some.length, 1)]
    const invoice = pick(this.#invoices)
    const note = pick(this.#notes)
    const debt = pick(this.#debts)
    if (kind === 'invoice') await this.#invoice(one, two, amount)
    else if (kind === 'recurring' || kind === 'subscription') await this.#recur(kind, one, two, amount)
    else if (kind === 'end' && this.#subscriptions.length > 0)
      await this.#client.put(
        `/v1/subscriptions/${pick(this.#subscriptions)}/cancel/${['prorata', 'fullcredit', 'norefund'][two % 3]}`,
      )
    else if (kind === 'note' && invoice) await this.#note(invoice, two, amount)
    else if (kind === 'debt' && invoice) await this.#debt(invoice, two, amount)
    else if (kind === 'credit' && invoice) await this.#creditFor(invoice, amount)
    else if (kind === 'credit_lines' && invoice) await this.#creditInvoice(invoice, two, amount)
    else if (kind === 'pay' && invoice) await this.#pay(invoice, two, amount)
    else if (kind === 'fail' && this.#payments.length > 0)
      await this.#client.put(`/v1/payments/${pick(this.#payments)}/fail`, {
        Date: this.#dayBefore(two % 3),
        Reason: 'bounced',
      })
    else if (kind === 'cancel' && invoice) await this.#client.delete(`/v1/invoices/${invoice.invoiceID}`)
    else if (kind === 'list' && note) await this.#list(note, pick(this.#invoices, two), amount)
    else if (kind === 'delete_note' && note) await this.#client.delete(`/v1/credits/${note.creditNoteID}`)
    else if ((kind === 'relief' || kind === 'lower') && debt) await this.#change(debt, kind, two, amount)
    else if (kind === 'delete_debt' && debt)
      await this.#client.delete(
        `/v1/adjustment/delete?type=negative&adjustmentID=${debt.AdjustmentID}&customerID=${debt.customerID}`,
      )
    else if (kind === 'clock') {
      this.#day = Math.min(this.#day + (one % 25), 140)
      await this.#client.put('/v1/clock', { Now: this.today })
      await this.#learn()
    } else if (kind === 'lock') await this.#client.put('/v1/account', { LockDate: this.#dayBefore(1 + two) })
  }

  async #pay(
    { invoiceID, customerID, CurrencyCode }: { invoiceID: number; customerID: number; CurrencyCode: string },
    two: number,
    amount: number,
  ): Promise<void> {
    const allocations = two % 3 === 0 ? [] : [{ invoiceID, amountApplied: Math.ceil(amount / 2) }]
    const Amount = amount + (two % 40)
    const body = { customerID, CurrencyCode, Amount, Date: this.#dayBefore(two), Method: 'cheque', allocations }
    const reply = await this.#client.post('/v1/payments', body)
    if (reply.status === 201) this.#payments.push(reply.body.paymentID)
  }

  async #invoice(one: number, two: number, amount: number): Promise<void> {
    const customerID = this.#customers[one % this.#customers.length] as number
    const CurrencyCode = this.#currencies[two % this.#currencies.length] as string
    const Taxes = two % 5 === 0 ? { Taxes: [] } : {}
    const body = {
      customerID,
      CurrencyCode,
      InvoiceDate: this.#dayBefore(two),
      Charges: linesOf(one, amount),
      ...Taxes,
    }
    const reply = await this.#client.post('/v1/invoices', body)
    if (reply.status !== 201) return
    const { invoiceID } = reply.body
    const { Charges } = (await this.#client.get(`/v1/invoices/${invoiceID}`)).body
    const lines = Charges.map(({ chargeID }: any) => chargeID)
    this.#invoices.push({ invoiceID, customerID, CurrencyCode, lines })
  }

  async #note({ invoiceID, customerID, CurrencyCode }: any, two: number, Amount: number): Promise<void> {
    this.#numbers += 1
    const Allocations = two % 2 === 0 ? [{ invoiceID, amountApplied: Amount }] : []
    const body = { customerID, CurrencyCode, Amount, Date: this.#dayBefore(two), CreditNumber: `R-${this.#numbers}` }
    const reply = await this.#client.post('/v1/credits', { ...body, Allocations })
    if (reply.status === 201) this.#notes.push({ ...body, creditNoteID: reply.body.creditNoteID })
  }

  async #creditFor({ invoiceID, customerID, CurrencyCode }: any, Amount: number): Promise<void> {
    this.#numbers += 1
    const body = { customerID, CurrencyCode, Amount, Date: this.today, CreditNumber: `C-${this.#numbers}`, invoiceID }
    await this.#client.post('/v1/credits', { ...body, Allocations: [] })
  }

  async #creditInvoice({ invoiceID, lines }: { invoiceID: number; lines: number[] }, two: number, amount: number) {
    const line = { chargeID: lines[two % lines.length], AmountEx: Math.ceil(amount / 4) }
    const what = [{ Lines: [line] }, { Amount: Math.ceil(amount / 3) }, { isWhole: true }][two % 3]
    await this.#client.post(`/v1/invoices/${invoiceID}/credit`, { ...what, Reason: 'wrong' })
  }

  async #list(note: any, invoice: any, amount: number): Promise<void> {
    const Allocations =
      amount % 3 === 0 ? [] : [{ invoiceID: invoice.invoiceID, amountApplied: Math.min(note.Amount, amount) }]
    await this.#client.put(`/v1/credits/${note.creditNoteID}`, { ...note, Allocations })
  }

  async #debt({ invoiceID, customerID }: any, two: number, Amount: number): Promise<void> {
    const debt = {
      customerID,
      Type: 'negative',
      AdjustmentType: 'bad_debt',
      Amount,
      Date: this.#dayBefore(two),
      Ref: 'lost',
    }
    const LinkedAllocations = [{ objectID: invoiceID, AmtAllocated: Amount, isAdjustment: false }]
    const TaxReliefDate = two % 2 === 0 ? { TaxReliefDate: this.today } : {}
    const body = { ...debt, LinkedAllocations }
    const reply = await this.#client.post('/v1/adjustment/add', { ...body, ...TaxReliefDate })
    if (reply.status === 201) this.#debts.push({ ...body, invoiceID, AdjustmentID: reply.body.AdjustmentID })
  }

  async #change(debt: any, kind: 'relief' | 'lower', two: number, amount: number): Promise<void> {
    const Amount = kind === 'lower' ? Math.min(amount, debt.Amount) : debt.Amount
    const LinkedAllocations = [{ objectID: debt.invoiceID, AmtAllocated: Amount, isAdjustment: false }]
    const day = two % 4 === 0 ? null : this.#dayBefore(two)
    const asked = kind === 'relief' ? { TaxReliefDate: day } : {}
    const reply = await this.#client.put('/v1/adjustment/edit', { ...debt, Amount, LinkedAllocations, ...asked })
    if (reply.status === 204) Object.assign(debt, { Amount })
  }
}
