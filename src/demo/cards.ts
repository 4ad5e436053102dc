import { type Life, note } from './life.ts'

/** Cards of the customers of the demo: numbers of the sandbox, which decide what becomes of each charge. */

const NUMBERS = {
  sound: '4242424242424242',
  renewed: '4000000000001232',
  poor: '4000000000009995',
  expired: '4000000000000069',
  disputed: '4000000000000259',
  won: '4000000000001976',
} as const
export type Card = keyof typeof NUMBERS

/** Cards that are of no use until another comes. */
const FAILING: ReadonlySet<Card> = new Set(['poor', 'expired', 'disputed'])

const paysByCard = ({ self }: Life): boolean => self.prospect.body['PaymentMethod'] === 'credit_card'

/** Makes a customer who has not joined yet one who pays by card. */
export function payByCard({ self }: Life): void {
  self.prospect.body['PaymentMethod'] = 'credit_card'
}

/** Returns whether a customer pays by a card that fails. */
export const isFailing = (life: Life, card: Card): boolean => paysByCard(life) && FAILING.has(card)

/** Adds a card as the primary one of a customer who pays by card. */
export function addCard(life: Life, days: number, card: Card): void {
  if (!paysByCard(life)) return
  const { people, body } = life.self.prospect
  const [someone] = people
  const CreditCard = {
    CardType: 'Visa',
    Number: NUMBERS[card],
    NameOnCard: someone?.given ?? body['Name'],
    LastNameOnCard: someone?.family ?? body['LastName'],
    ExpiryMonth: 12,
    ExpiryYear: 2099,
  }
  life.after(days, ({ client }, { customerID }) =>
    client.post('/v1/paymentmethods/creditcard', { customerID, isPrimary: true, CreditCard }),
  )
}

/** Brings another card in place of one that fails, after some weeks of warnings. */
export function replaceCard(life: Life, days: number): void {
  note(life, days, 'Phone Call', 'Their card does not work any more; they send another one tomorrow.')
  addCard(life, 1, 'sound')
}

/** The least that a payment has to be for something of it to be given back. */
const REFUNDED_MIN = 50

/** Gives a fifth of the newest payment by card back, out of goodwill: its invoice is credited, and the credit note sent. */
export function giveBack(life: Life, days: number): void {
  life.after(days, async ({ client }, { customerID, prospect }) => {
    const payments = await client.get(`/v1/customers/${customerID}/payments?status=Allocated`)
    const payment = payments.findLast(
      ({ Method, Amount, Allocations, Ref }: Record<string, any>) =>
        Method === 'credit_card' && Amount >= REFUNDED_MIN && Allocations.length === 1 && Ref.startsWith('Invoices '),
    )
    if (!payment) return
    const { paymentID, Allocations } = payment
    const Amount = Math.floor(payment.Amount / 5)
    const { creditNoteID } = await client.post(`/v1/invoices/${Allocations[0].invoiceID}/credit`, {
      Amount,
      Reason: prospect.body['Locale'] === 'de' ? 'Für die Tage mit Störungen' : 'For the days on which calls broke off',
      isFreePayments: true,
    })
    await client.put(`/v1/credits/${creditNoteID}/send`)
    await client.post(`/v1/payments/${paymentID}/refund`, { Amount })
  })
}
