import { expect } from 'vitest'
import type { TestClient, TestService } from '../../../test/support/app.ts'
import type { Instant } from '../../kernel/calendar.ts'
import { CardNumber } from '../../kernel/card-number.ts'
import type { Id } from '../../kernel/ids.ts'
import { acting } from '../money/money.testing.ts'
import { addPayment, lockedPayment, settlePayment } from '../money/payments.ts'
import { callOf, chargeToMake } from '../gateways/calls.testing.ts'

interface ChargeWish {
  client?: TestClient
  now?: Instant
  /** Left pending: nobody has learned what became of the charge. */
  isPending?: boolean
  /** Pays an invoice of 100.00 instead of being unallocated. */
  hasInvoice?: boolean
}

/** A payment of 100.00 that the sandbox charged to a card of a number, unallocated; today is 1 January 2027, unless more is said. */
export async function chargedPayment(service: TestService, number = '4242424242424242', wish: ChargeWish = {}) {
  const { client = await service.newAccount(), now = '2027-01-01T00:00:00.000Z' } = wish
  const today = now.slice(0, 10)
  const customerID: number = (await client.post('/v1/customers', { Name: 'Acme', isCompany: true })).body.customerID
  const [{ gatewayID, GatewayToken }] = (await client.get('/v1/gateways')).body
  const invoiceID: number | null = wish.hasInvoice
    ? (await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 100 }] })).body.invoiceID
    : null
  const target = { kind: 'invoice' as const, id: BigInt(invoiceID ?? 0) }
  const { id } = await acting(service, client, (tx, context) =>
    addPayment(
      tx,
      context,
      {
        customerId: BigInt(customerID),
        paidAt: now,
        dated: today,
        currency: 'USD',
        amountMinor: 10_000n,
        method: 'credit_card',
        origin: 'gateway',
        ref: null,
        memo: null,
      },
      { list: invoiceID === null ? [] : [{ id: null, target, amountMinor: 10_000n }] },
      { charge: { gatewayId: BigInt(gatewayID) } },
    ),
  )
  await chargeCard(service, client, { gatewayID, number, reference: id, now })
  if (!wish.isPending)
    await acting(service, client, async (tx, context) =>
      settlePayment(tx, context, (await lockedPayment(tx, id))!, today),
    )
  const path = `/v1/payments/${id}`
  const refund = (body?: object, headers = {}) => client.post(`${path}/refund`, body ?? {}, headers)
  const refunds = async () => (await client.get(`${path}/refunds`)).body
  const balances = async () => (await client.get(`/v1/customers/${customerID}/balances`)).body[0]
  return { client, customerID, invoiceID, gatewayID, GatewayToken, id, path, refund, refunds, balances }
}

interface CardCharge {
  gatewayID: number
  number: string
  reference: Id
  now: Instant
}

async function chargeCard(
  service: TestService,
  client: TestClient,
  { gatewayID, number, reference, now }: CardCharge,
): Promise<void> {
  const sandbox = service.calling.adapters.get('sandbox')!
  const gatewayId = BigInt(gatewayID)
  const call = callOf({ accountId: client.id, gatewayId, now, today: now.slice(0, 10) })
  const expiry = { expiryMonth: 12, expiryYear: 2030, nameOnCard: 'Ann', lastNameOnCard: 'Lee' }
  const card = { reference: `card of ${reference}`, number: new CardNumber(number), cardType: 'Visa' as const }
  const stored = await sandbox.storeCard!(call, { ...card, ...expiry })
  if (stored.kind !== 'stored') throw new Error('stored')
  const outcome = await sandbox.charge!(call, chargeToMake(String(reference), stored.token, { amountMinor: 10_000n }))
  expect(outcome.kind).toBe('succeeded')
}
