import { describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { debitShop } from '../collection/debit-shop.testing.ts'
import { addCard, CARDS, cardShop } from '../collection/shop.testing.ts'
import { paymentOf } from '../money/money.testing.ts'
import { fieldsOf, open, ORIGIN, pathOf, press } from './pages.testing.ts'

const service = await startTestService({ publicUrl: ORIGIN })

/** Opens a page, and returns the hidden fields of its form. */
async function formOf(path: string): Promise<Record<string, string>> {
  const fields = fieldsOf((await open(service, path)).text)
  expect(Object.keys(fields)).toEqual(['amount', 'after'])
  return fields
}

/** Presses the button, as its reader sees the page now. */
const pay = async (path: string) => press(service, `${path}/pay`, await formOf(`${path}/pay`))

async function invoiceByCard(number: string, customer: object = {}, amount = 100) {
  const shop = await cardShop(service, number, customer)
  const id = await shop.invoice(amount)
  const outcomes = async () =>
    (await shop.attempts(id)).map(({ Outcome, Class }) => (Class ? `${Outcome} ${Class}` : Outcome))
  return { ...shop, id, path: await pathOf(shop.client, id), outcomes }
}

describe('paying by the card on file', () => {
  test('takes a second press, which names the card by its last four, and charges it once', async () => {
    const { client, customerID, id, path, attempts, read } = await invoiceByCard(CARDS.good)
    expect((await open(service, path)).seen).toContain('Pay $100.00')
    const asked = (await open(service, `${path}/pay`)).seen
    expect(asked).toContain('Card •••• 4242')
    expect(asked).toContain('Pay $100.00 now')
    expect(await attempts(id)).toEqual([])
    const paid = await pay(path)
    expect(paid.at).toBe(path)
    expect(paid.seen).toContain('✓ Paid')
    expect(paid.seen).not.toContain('Pay $')
    expect(await attempts(id)).toMatchObject([{ Outcome: 'succeeded', Amount: 100, isByHand: true }])
    expect(await read(id)).toMatchObject({ Status: 'Paid', Balance: 0 })
    const mails = (await client.get('/v1/outbox')).body.map(({ Template }: any) => Template)
    expect(mails).toContain('payment_receipt')
    expect((await client.get(`/v1/customers/${customerID}`)).body.Balance).toBe(0)
  })

  test('twice at once, and again later, charges once', async () => {
    const { id, path, attempts } = await invoiceByCard(CARDS.good)
    const fields = await formOf(`${path}/pay`)
    await Promise.all([1, 2, 3].map(() => press(service, `${path}/pay`, fields)))
    expect((await press(service, `${path}/pay`, fields)).seen).toContain('✓ Paid')
    expect(await attempts(id)).toHaveLength(1)
  })

  test('that is declined shows why, and can be tried again; the same press twice is one try', async () => {
    const { id, path, outcomes, read } = await invoiceByCard(CARDS.poor)
    const fields = await formOf(`${path}/pay`)
    const [declined] = await Promise.all([1, 2].map(() => press(service, `${path}/pay`, fields)))
    expect(declined?.status).toBe(200)
    expect((await open(service, path)).seen).toContain('there is not enough money on it')
    expect(await outcomes()).toEqual(['declined insufficient_funds'])
    expect((await pay(path)).seen).toContain('Pay $100.00')
    expect(await outcomes()).toEqual(['declined insufficient_funds', 'declined insufficient_funds'])
    expect((await read(id)).Balance).toBe(100)
  })

  test('that his bank wants confirmed waits for him, and is charged once when he confirms it', async () => {
    const { path, outcomes } = await invoiceByCard(CARDS.confirm)
    const waiting = await pay(path)
    expect(waiting.seen).toContain('Not paid yet')
    expect(waiting.seen).toContain('Your bank asks you to confirm this payment')
    expect(await outcomes()).toEqual(['pending'])
    const fields = await formOf(path)
    const [confirmed] = await Promise.all([1, 2].map(() => press(service, `${path}/pay`, fields)))
    expect(confirmed?.status).toBe(200)
    expect((await open(service, path)).seen).toContain('✓ Paid')
    expect(await outcomes()).toEqual(['declined action_required', 'succeeded'])
  })

  test('that nobody confirms is ended at the gateway, and locks nobody out', async () => {
    const { path, outcomes, move, client, id } = await invoiceByCard(CARDS.confirm)
    await pay(path)
    expect((await client.post(`/v1/invoices/${id}/collect`)).status).toBe(409)
    await move('2027-01-02')
    expect(await outcomes()).toEqual(['declined action_required'])
    expect((await open(service, path)).seen).toContain('Pay $100.00')
    expect((await pay(path)).seen).toContain('✓ Paid')
  })

  test('whose outcome nobody knows is not made again', async () => {
    // 91 in the cents: charged, and no answer comes.
    const { path, outcomes, move } = await invoiceByCard(CARDS.byAmount, {}, 10.91)
    const fields = await formOf(`${path}/pay`)
    expect((await press(service, `${path}/pay`, fields)).seen).toContain('its answer is not known yet')
    expect((await press(service, `${path}/pay`, fields)).seen).toContain('its answer is not known yet')
    expect((await open(service, `${path}/pay`)).text).not.toContain('<form')
    await move('2027-01-02')
    expect(await outcomes()).toEqual(['succeeded'])
    expect((await open(service, path)).seen).toContain('✓ Paid')
  })

  test.each([
    [
      'held',
      (client: any, id: number) =>
        client.put(`/v1/customers/${id}`, {
          Name: 'Acme',
          isCompany: true,
          PaymentMethod: 'credit_card',
          isCollectionHold: true,
        }),
    ],
    ['suspended', (client: any, id: number) => client.put(`/v1/customers/${id}/suspend`)],
    ['archived', (client: any, id: number) => client.put(`/v1/customers/${id}/archive`)],
  ])('is taken of a customer who is %s', async (_, change) => {
    const { client, customerID, path, outcomes } = await invoiceByCard(CARDS.good)
    expect((await change(client, customerID)).status).toBe(204)
    expect((await pay(path)).seen).toContain('✓ Paid')
    expect(await outcomes()).toEqual(['succeeded'])
  })

  test('is offered for an invoice that is paid by transfer where there is a card, and not where there is none', async () => {
    const { client, customerID, invoice } = await cardShop(service, CARDS.good, { PaymentMethod: 'eft' })
    expect((await pay(await pathOf(client, await invoice(20)))).seen).toContain('✓ Paid')
    const without = await cardShop(service, null)
    const path = await pathOf(without.client, await without.invoice(20))
    expect((await open(service, path)).text).not.toContain(`${path}/pay`)
    expect((await open(service, `${path}/pay`)).text).not.toContain('<form')
    expect((await press(service, `${path}/pay`, { amount: '2000', after: '0' })).seen).toContain('To pay $20.00')
    expect(customerID).toBeGreaterThan(0)
  })

  test('of another amount than was seen is refused as changed, and charges nothing', async () => {
    const { client, customerID, id, path, attempts } = await invoiceByCard(CARDS.good)
    const fields = await formOf(`${path}/pay`)
    const allocations = [{ invoiceID: id, amountApplied: 40 }]
    expect((await client.post('/v1/payments', { ...paymentOf(customerID, 40), allocations })).status).toBe(201)
    expect((await press(service, `${path}/pay`, fields)).status).toBe(409)
    expect(await attempts(id)).toEqual([])
    expect((await pay(path)).seen).toContain('✓ Paid')
    expect(await attempts(id)).toMatchObject([{ Amount: 60 }])
  })

  test.each([
    [{}],
    [{ amount: '100' }],
    [{ amount: '-1', after: '0' }],
    [{ amount: '0', after: '0' }],
    [{ amount: '1e3', after: '0' }],
    [{ amount: '10000', after: 'x' }],
    [{ amount: '9'.repeat(200), after: '0' }],
    [{ amount: '10000', after: '0', card: '4242' }],
  ])('with the fields %j is refused with 400', async (fields) => {
    const { id, path, attempts } = await invoiceByCard(CARDS.good)
    expect((await press(service, `${path}/pay`, fields as unknown as Record<string, string>)).status).toBe(400)
    expect(await attempts(id)).toEqual([])
  })

  test('is not possible once its link was revoked', async () => {
    const { client, id, path, attempts } = await invoiceByCard(CARDS.good)
    const fields = await formOf(`${path}/pay`)
    await client.delete(`/v1/invoices/${id}/link`)
    expect((await press(service, `${path}/pay`, fields)).status).toBe(404)
    expect(await attempts(id)).toEqual([])
  })
})

describe('where a bank account is debited', () => {
  // Due on Monday 1 February 2027; the sandbox takes debits two bank days ahead: Wednesday 3 February.
  async function debited(card: string) {
    const { client, customerID, invoice } = await debitShop(service)
    await addCard(client, customerID, card, false)
    const id = await invoice(115)
    expect((await client.post(`/v1/invoices/${id}/collect`)).status).toBe(202)
    const tries = async () =>
      (await client.get(`/v1/invoices/${id}/attempts`)).body.map(
        ({ Outcome, BatchToken }: any) => `${BatchToken ? 'debit' : 'card'} ${Outcome}`,
      )
    return { path: await pathOf(client, id), tries }
  }

  test('the page shows on which day, and a card takes the place of the debit', async () => {
    const { path, tries } = await debited(CARDS.good)
    const { seen } = await open(service, path)
    expect(seen).toContain('It will be debited on February 3, 2027 from the bank account ending in 1234.')
    expect(seen).toContain('Pay $115.00 by card instead')
    expect(await tries()).toEqual(['debit pending'])
    expect((await pay(path)).seen).toContain('✓ Paid')
    expect(await tries()).toEqual(['card succeeded'])
  })

  test('a card that fails leaves the debit as it was', async () => {
    const { path, tries } = await debited(CARDS.poor)
    const { seen } = await pay(path)
    expect(await tries()).toEqual(['card declined', 'debit pending'])
    expect(seen).toContain('It will be debited on February 3, 2027')
  })

  test('without a card there is nothing to press, and the day is shown before the debit is in a batch', async () => {
    const { client, invoice } = await debitShop(service)
    const path = await pathOf(client, await invoice(115, { DueDate: '2027-02-08' }))
    // Due on Monday 8 February, a bank day that is far enough away.
    const { seen, text } = await open(service, path)
    expect(seen).toContain('It will be debited on February 8, 2027 from the bank account ending in 1234.')
    expect(text).not.toContain(`${path}/pay`)
  })
})
