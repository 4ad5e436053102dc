import { expect } from 'vitest'
import type { StripeSimulator } from '../../../test/simulators/stripe.ts'
import { answerChallenge } from '../../../test/simulators/stripe-intents.ts'
import type { TestService } from '../../../test/support/app.ts'
import { addStripe, enterCard, HOLDER } from '../capture-sessions/fields.testing.ts'
import { fieldsOf, open, ORIGIN, pathOf, press } from './pages.testing.ts'

/** An invoice that is paid on its card page, in fields of the gateway's own, at a simulator of Stripe whose browser part a test plays. */
export async function payableByFields(service: TestService, simulator: StripeSimulator, amount = 100) {
  const client = await service.newAccount({ clockAt: null })
  const { stripe, gatewayID } = await addStripe(client, simulator, { isPrimary: true })
  const body = {
    Name: 'Ada',
    LastName: 'Lovelace',
    isCompany: false,
    PaymentMethod: 'credit_card',
    PaymentTermDays: 30,
  }
  const { customerID } = (await client.post('/v1/customers', body)).body
  const charged = { customerID, Charges: [{ UnitCostEx: amount }] }
  const { invoiceID } = (await client.post('/v1/invoices', charged)).body
  const path = await pathOf(client, invoiceID)
  const cardPath = /href="(\/p\/[^"/]+)/.exec((await open(service, path)).text)?.[1] ?? ''

  async function facts(below: string) {
    const sent = await service.anonymous.post(cardPath + below, '', {
      origin: ORIGIN,
      'content-type': 'application/x-www-form-urlencoded',
    })
    return { status: sent.status, body: sent.body }
  }
  const setups = () => [...stripe.book.setups.values()]
  const enter = (number: string) => enterCard(stripe, setups().at(-1)?.id ?? '', number)
  const seen = async () => fieldsOf((await open(service, cardPath)).text)
  /** Sends the form of the names, with what its reader sees. */
  const send = async (more: Record<string, string> = {}) => {
    const sent = await press(service, cardPath, { ...HOLDER, ...more, ...(await seen()) })
    return sent
  }
  const answerBank = (isConfirmed: boolean) => {
    const intent = [...stripe.book.intents.values()].find(({ status }) => status === 'requires_action')
    expect(intent).toBeDefined()
    answerChallenge(stripe.book, intent?.id ?? '', isConfirmed)
  }
  const outcomes = async () =>
    (await client.get(`/v1/invoices/${invoiceID}/attempts`)).body.map(({ Outcome, Class }: any) =>
      Class ? `${Outcome} ${Class}` : Outcome,
    )
  const paid = () => [...stripe.book.charges.values()].filter((charge) => charge.paid)
  const read = async () => (await client.get(`/v1/invoices/${invoiceID}`)).body
  const methods = async () => (await client.get('/v1/paymentmethods')).body
  const ofPage = { path, cardPath, facts, enter, seen, send, answerBank }
  return { client, stripe, gatewayID, customerID, invoiceID, setups, outcomes, paid, read, methods, ...ofPage }
}
