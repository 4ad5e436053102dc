import { clientFromEnvironment } from './client.ts'

/**
 * Moves in with cards that are stored at Stripe already: each is brought by its token there, and the next invoice is charged by it. It may be stopped and
 * started again: a card that was brought stays as it is. It needs STRIPE_SECRET_KEY, STRIPE_PUBLISHABLE_KEY and STRIPE_TOKEN (cus_…/pm_…) of Stripe's test mode,
 * or of "npm run simulator stripe", whose console makes cards: npx tsx examples/bring-cards.ts
 */

const api = clientFromEnvironment()
const { STRIPE_SECRET_KEY: SecretKey, STRIPE_PUBLISHABLE_KEY: PublishableKey, STRIPE_TOKEN = '' } = process.env

/** Cards as the old system knows them: its numbers of customers, and Stripe's names of their cards. */
const theirs = [{ number: 'OLD-1', name: 'Ada', lastName: 'Lovelace', token: STRIPE_TOKEN }]

const gateways = (await api.get('/v1/gateways')).body
const present = gateways.find((gateway: { GatewayType: string }) => gateway.GatewayType === 'stripe')
const gateway =
  present ?? (await api.post('/v1/gateways', { GatewayType: 'stripe', Settings: { SecretKey, PublishableKey } })).body
console.log(`The gateway keeps cards under a key that ends in ${gateway.KeyEnding}.`)

for (const { number, name, lastName, token } of theirs) {
  const [known] = (await api.get(`/v1/customers?Reference=${number}`)).body
  const customer = { Name: name, LastName: lastName, Reference: number, PaymentMethod: 'credit_card' }
  const { customerID } = known ?? (await api.post('/v1/customers', customer)).body
  const brought = { customerID, gatewayID: gateway.gatewayID, Token: token, isPrimary: true }
  const { CreditCard } = (await api.post('/v1/paymentmethods/gatewaytoken', brought)).body
  console.log(`${number} pays by ${CreditCard.CardType} …${CreditCard.LastFourDigits}.`)
  const { invoiceID } = (await api.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 115 }] })).body
  await api.post(`/v1/invoices/${invoiceID}/collect`, {})
  const { Status } = (await api.get(`/v1/invoices/${invoiceID}`)).body
  const [{ transactionID }] = (await api.get(`/v1/invoices/${invoiceID}/attempts`)).body
  console.log(`An invoice of 115.00 is ${Status}, as ${transactionID.slice(0, 3)}… at Stripe.`)
}
