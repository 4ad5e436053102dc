import { describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'
import { debitShop } from '../collection/debit-shop.testing.ts'
import { CARDS, cardShop } from '../collection/shop.testing.ts'
import { fieldsOf, open, ORIGIN, pathOf, press } from './pages.testing.ts'

const service = await startTestService({ publicUrl: ORIGIN })

/** A card as its holder types it. */
const typed = (number: string, more: Record<string, string> = {}) => ({
  number,
  expiry: '12/29',
  givenName: 'Ada',
  familyName: 'Lovelace',
  ...more,
})
const KEPT = { keep: '1' }

/** The form for a new card of an invoice, and what is behind it. */
async function payable(card: string | null, customer: object = {}, amount = 100) {
  const shop = await cardShop(service, card, customer)
  const id = await shop.invoice(amount)
  const path = await pathOf(shop.client, id)
  const cardPath = /href="(\/p\/[^"]+)"/.exec((await open(service, path)).text)?.[1] ?? ''
  const seen = async () => fieldsOf((await open(service, cardPath)).text)
  const enter = async (number: string, more: Record<string, string> = {}) =>
    press(service, cardPath, { ...typed(number, more), ...(await seen()) })
  const outcomes = async () =>
    (await shop.attempts(id)).map(({ Outcome, Class }) => (Class ? `${Outcome} ${Class}` : Outcome))
  const methods = async () =>
    (await shop.client.get('/v1/paymentmethods')).body.map(
      ({ isPrimary, CreditCard }: any) => `${CreditCard.LastFourDigits}${isPrimary ? ' primary' : ''}`,
    )
  /** The number of cards that are to be removed at their gateway. */
  const removals = async () =>
    (
      await service.db.reader(shop.client.id).rows<{ n: bigint }>(sql`
        select count(*) as "n" from card_removals where account_id = ${shop.client.id} and finished_at is null`)
    )[0]?.n
  return { ...shop, id, path, cardPath, seen, enter, outcomes, methods, removals }
}

describe('paying with a new card', () => {
  test('is offered to a customer without any card, pays at once, and keeps no card', async () => {
    const { path, cardPath, enter, outcomes, methods, removals, id, client } = await payable(null)
    expect((await open(service, path)).seen).toContain('Pay $100.00 by card')
    const form = await open(service, cardPath)
    for (const text of ['Pay invoice', 'To pay $100.00', 'Card number', 'Use it from now on', 'Pay $100.00 now'])
      expect(form.seen).toContain(text)
    const paid = await enter('4242 4242 4242 4242')
    expect(paid.at).toBe(path)
    expect(paid.seen).toContain('✓ Paid')
    expect(await outcomes()).toEqual(['succeeded'])
    expect(await methods()).toEqual([])
    expect(await removals()).toBe(1n)
    // Its money is given back by the charge, for which nobody needs the card.
    const [{ paymentID }] = (await client.get(`/v1/invoices/${id}/attempts`)).body
    const at = `/v1/payments/${paymentID}`
    const { body: payment } = await client.get(at)
    expect((await client.put(at, { ...payment, Allocations: [] })).status).toBe(204)
    const refunded = await client.post(`${at}/refund`, { Amount: 40 })
    expect([refunded.status, typeof refunded.body.AdjustmentID]).toEqual([201, 'number'])
  })

  test('that is wanted from now on makes it the primary one, and removes none', async () => {
    const { enter, methods, removals, invoice, move, read } = await payable(CARDS.declined)
    expect((await enter('5555 5555 5555 4444', KEPT)).seen).toContain('✓ Paid')
    expect((await methods()).toSorted()).toEqual(['0341', '4444 primary'])
    expect(await removals()).toBe(0n)
    // The next one is collected by it.
    const next = await invoice(20)
    await move('2027-01-06')
    expect((await read(next)).Status).toBe('Paid')
  })

  test('that is declined shows why, leaves the primary card as it was, and can be followed by another', async () => {
    const { path, enter, outcomes, methods, removals, read, id } = await payable(CARDS.good)
    const declined = await enter(CARDS.poor, KEPT)
    expect([declined.status, declined.at]).toEqual([200, path])
    expect(declined.seen).toContain('there is not enough money on it')
    expect(await methods()).toEqual(['4242 primary'])
    expect(await removals()).toBe(1n)
    expect((await read(id)).NextTryDate).toBe('2027-01-05T00:00:00Z')
    expect((await enter('5555555555554444')).seen).toContain('✓ Paid')
    expect(await outcomes()).toEqual(['declined insufficient_funds', 'succeeded'])
    expect(await methods()).toEqual(['4242 primary'])
  })

  test('that has expired says nothing about the card on file, which is tried on the due date as before', async () => {
    const { enter, move, outcomes } = await payable(CARDS.good)
    expect((await enter(CARDS.expired)).seen).toContain('it has expired')
    await move('2027-01-06')
    expect(await outcomes()).toEqual(['declined method_expired', 'succeeded'])
  })

  test('that the gateway does not store shows the form again, without the number', async () => {
    const { enter, outcomes, methods } = await payable(CARDS.good)
    const refused = await enter('4000000000000002', KEPT)
    expect(refused.status).toBe(400)
    expect(refused.seen).toContain('The card was refused')
    expect(refused.text).not.toContain('4000000000000002')
    expect(refused.text).toContain('value="Lovelace"')
    expect(refused.text).toMatch(/name="keep"[^>]* checked/)
    expect([await outcomes(), await methods()]).toEqual([[], ['4242 primary']])
  })

  test('that is mistyped is shown beside its field, and is no try', async () => {
    const { enter, seen, cardPath, outcomes } = await payable(CARDS.good)
    const wrong = await enter('4242 4242 4242 4241')
    expect([wrong.status, wrong.seen.includes('This is mistyped.')]).toEqual([400, true])
    const none = await press(service, cardPath, await seen())
    expect(none.seen.match(/Please fill this in\./g)).toHaveLength(4)
    const strange = await press(service, cardPath, { ...typed(CARDS.good), amount: '1' })
    expect(strange.status).toBe(400)
    expect(await outcomes()).toEqual([])
  })

  test('twice at once, and again later, charges once', async () => {
    const { cardPath, seen, outcomes, methods, removals } = await payable(null)
    const fields = { ...typed(CARDS.good, KEPT), ...(await seen()) }
    await Promise.all([1, 2, 3].map(() => press(service, cardPath, fields)))
    expect((await press(service, cardPath, fields)).seen).toContain('✓ Paid')
    expect(await outcomes()).toEqual(['succeeded'])
    expect(await methods()).toEqual(['4242 primary'])
    // What was stored beside it is removed again.
    expect(await removals()).toBeLessThanOrEqual(2n)
  })

  test('of another amount than was seen is refused as changed, and charges nothing', async () => {
    const { cardPath, seen, outcomes } = await payable(null)
    const fields = { ...typed(CARDS.good), ...(await seen()), amount: '9900' }
    expect((await press(service, cardPath, fields)).status).toBe(409)
    expect(await outcomes()).toEqual([])
  })

  test('that its bank wants confirmed is charged with the same card when he confirms it', async () => {
    const { path, enter, outcomes, methods } = await payable(CARDS.good)
    expect((await enter(CARDS.confirm, KEPT)).seen).toContain('Your bank asks you to confirm this payment')
    const confirmed = await press(service, `${path}/pay`, fieldsOf((await open(service, path)).text))
    expect(confirmed.seen).toContain('✓ Paid')
    expect(await outcomes()).toEqual(['declined action_required', 'succeeded'])
    expect((await methods()).toSorted()).toEqual(['3155 primary', '4242'])
  })

  test('takes the place of one that waits to be confirmed', async () => {
    const { enter, outcomes, methods } = await payable(null)
    await enter(CARDS.confirm, KEPT)
    expect((await enter(CARDS.good)).seen).toContain('✓ Paid')
    expect([await outcomes(), await methods()]).toEqual([['declined action_required', 'succeeded'], []])
  })

  test('that nobody confirms is ended and kept nowhere', async () => {
    const { enter, move, outcomes, methods } = await payable(null)
    await enter(CARDS.confirm, KEPT)
    await move('2027-01-02')
    expect([await outcomes(), await methods()]).toEqual([['declined action_required'], []])
  })

  test('whose outcome nobody knows is asked for, and kept once it is known to have paid', async () => {
    const { enter, path, cardPath, move, outcomes, methods } = await payable(null, {}, 10.91)
    expect((await enter(CARDS.byAmount, KEPT)).seen).toContain('its answer is not known yet')
    expect(await methods()).toEqual([])
    expect((await open(service, cardPath)).seen).toContain('There is nothing to pay by card here now.')
    await move('2027-01-02')
    expect([await outcomes(), await methods()]).toEqual([['succeeded'], ['0077 primary']])
    expect((await open(service, path)).seen).toContain('✓ Paid')
  })

  const HOW = { suspended: 'suspend', archived: 'archive' }

  test.each([
    ['held', ['4242 primary']],
    ['suspended', ['4242 primary']],
    ['archived', []],
  ] as const)('is taken of a customer who is %s', async (state, kept) => {
    const { client, customerID, cardPath, enter, methods } = await payable(null)
    const held = { Name: 'Acme', isCompany: true, PaymentMethod: 'credit_card', isCollectionHold: true }
    const at = `/v1/customers/${customerID}`
    expect((await (state === 'held' ? client.put(at, held) : client.put(`${at}/${HOW[state]}`))).status).toBe(204)
    expect((await open(service, cardPath)).text.includes('name="keep"')).toBe(state !== 'archived')
    expect((await enter(CARDS.good, KEPT)).seen).toContain('✓ Paid')
    expect(await methods()).toEqual(kept)
  })

  test('of five in a day is the last: the link tries out no stolen ones', async () => {
    const { enter, outcomes, invoice, client } = await payable(null)
    for (let n = 0; n < 5; n += 1) await enter(CARDS.declined)
    const sixth = await enter(CARDS.good)
    expect([sixth.status, sixth.seen.includes('Too many cards were entered')]).toEqual([400, true])
    expect(await outcomes()).toHaveLength(5)
    const other = await pathOf(client, await invoice(5))
    expect((await open(service, other)).seen).toContain('Pay $5.00 by card')
  })

  test('leaves a bank debit that waits as it was when the card fails, and takes its place when it pays', async () => {
    const { client, invoice } = await debitShop(service)
    const id = await invoice(115)
    expect((await client.post(`/v1/invoices/${id}/collect`)).status).toBe(202)
    const path = await pathOf(client, id)
    const shown = await open(service, path)
    expect(shown.seen).toContain('Pay $115.00 by card instead')
    const cardPath = /href="(\/p\/[^"]+)"/.exec(shown.text)?.[1] ?? ''
    const enter = async (number: string) =>
      press(service, cardPath, { ...typed(number), ...fieldsOf((await open(service, cardPath)).text) })
    const tries = async () =>
      (await client.get(`/v1/invoices/${id}/attempts`)).body.map(
        ({ Outcome, BatchToken }: any) => `${BatchToken ? 'debit' : 'card'} ${Outcome}`,
      )
    expect((await enter(CARDS.poor)).seen).toContain('It will be debited on February 3, 2027')
    expect(await tries()).toEqual(['card declined', 'debit pending'])
    expect((await enter(CARDS.good)).seen).toContain('✓ Paid')
    expect(await tries()).toEqual(['card declined', 'card succeeded'])
  })

  test('is not offered once paid, after the link was revoked, or without a gateway that takes cards', async () => {
    const { enter, cardPath, client, id, path, seen } = await payable(null)
    const fields = await seen()
    const [gateway] = (await client.get('/v1/gateways')).body
    await client.put(`/v1/gateways/${gateway.gatewayID}`, { isActive: false })
    expect((await open(service, path)).text).not.toContain('/p/')
    expect((await press(service, cardPath, { ...typed(CARDS.good), ...fields })).seen).toContain('To pay $100.00')
    await client.put(`/v1/gateways/${gateway.gatewayID}`, { isActive: true })
    await enter(CARDS.good)
    expect((await open(service, cardPath)).text).not.toContain('<form')
    await client.delete(`/v1/invoices/${id}/link`)
    expect((await open(service, cardPath)).status).toBe(404)
  })
})

test('the form stands at WIDGET_ORIGIN where that is set, takes forms from there alone, and leads back', async () => {
  const apart = await startTestService({ publicUrl: ORIGIN, widgetOrigin: 'https://cards.example' })
  const { client, invoice } = await cardShop(apart, null)
  const path = await pathOf(client, await invoice(30))
  const address = /href="(https:\/\/cards\.example\/p\/[^"]+)"/.exec((await open(apart, path)).text)?.[1] ?? ''
  const { pathname } = new URL(address)
  const shown = await apart.anonymous.get(pathname)
  expect(shown.headers['content-security-policy']).toContain(
    `form-action 'self' ${ORIGIN}; base-uri 'none'; frame-ancestors 'none'`,
  )
  const fields = new URLSearchParams({ ...typed(CARDS.good), ...fieldsOf(shown.text) }).toString()
  const send = (origin: string) =>
    apart.anonymous.post(pathname, fields, { origin, 'content-type': 'application/x-www-form-urlencoded' })
  expect((await send(ORIGIN)).status).toBe(403)
  const sent = await send('https://cards.example')
  expect([sent.status, sent.headers['location']]).toEqual([303, ORIGIN + path])
  expect((await open(apart, path)).seen).toContain('✓ Paid')
})
