import type Stripe from 'stripe'
import type { Card } from './stripe-cards.ts'

/** New objects, whole as Stripe answers them. The types of the official client hold their shapes when this is compiled, the judge when it runs. */

export interface Making {
  id: string
  /** Seconds since 1970 by the simulator's clock. */
  created: number
  livemode: boolean
}

type Metadata = Record<string, string>

export function newCustomer(making: Making, facts: Partial<Stripe.Customer>): Stripe.Customer {
  return {
    ...making,
    ...{ object: 'customer', balance: 0, default_source: null, shipping: null, delinquent: false, discount: null },
    ...{ description: null, email: null, name: null, phone: null, address: null, currency: null, metadata: {} },
    ...{ invoice_prefix: making.id.slice(-8).toUpperCase(), next_invoice_sequence: 1, preferred_locales: [] },
    ...{ tax_exempt: 'none', test_clock: null },
    invoice_settings: { custom_fields: null, default_payment_method: null, footer: null, rendering_options: null },
    ...facts,
  }
}

const NOBODY = { address: null, email: null, name: null, phone: null, tax_id: null }

export function newPaymentMethod(
  making: Making,
  card: Card,
  facts: { fingerprint: string; name: string | null; expMonth: number; expYear: number },
): Stripe.PaymentMethod {
  return {
    ...making,
    ...{ object: 'payment_method', type: 'card', customer: null, customer_account: null, metadata: {} },
    ...{ allow_redisplay: 'unspecified', billing_details: { ...NOBODY, name: facts.name } },
    card: {
      ...{
        brand: card.brand,
        display_brand: card.brand,
        country: 'US',
        funding: 'credit',
        last4: card.number.slice(-4),
      },
      ...{ exp_month: facts.expMonth, exp_year: facts.expYear, fingerprint: facts.fingerprint, generated_from: null },
      ...{ checks: { address_line1_check: null, address_postal_code_check: null, cvc_check: 'pass' } },
      ...{ networks: { available: [card.brand], preferred: null }, regulated_status: 'unregulated', wallet: null },
      three_d_secure_usage: { supported: true },
    },
  }
}

export function newSetupIntent(making: Making, facts: Partial<Stripe.SetupIntent>): Stripe.SetupIntent {
  return {
    ...making,
    ...{ object: 'setup_intent', application: null, automatic_payment_methods: null, cancellation_reason: null },
    ...{
      client_secret: `${making.id}_secret_${making.id.slice(-12)}`,
      customer: null,
      description: null,
      mandate: null,
    },
    ...{ allowed_payment_method_types: ['card'], excluded_payment_method_types: null, last_setup_error: null },
    ...{ latest_attempt: null, metadata: {}, next_action: null, on_behalf_of: null, payment_method: null },
    ...{ payment_method_configuration_details: null, payment_method_options: null, payment_method_types: ['card'] },
    ...{ single_use_mandate: null, status: 'requires_payment_method', usage: 'off_session' },
    ...facts,
  }
}

export function newPaymentIntent(
  making: Making,
  facts: Partial<Stripe.PaymentIntent> & { amount: number; currency: string },
): Stripe.PaymentIntent {
  return {
    ...making,
    ...{ object: 'payment_intent', amount_capturable: 0, amount_received: 0, application: null, source: null },
    ...{ application_fee_amount: null, automatic_payment_methods: null, canceled_at: null, cancellation_reason: null },
    ...{ capture_method: 'automatic_async', client_secret: `${making.id}_secret_${making.id.slice(-12)}` },
    ...{
      confirmation_method: 'automatic',
      customer: null,
      customer_account: null,
      description: null,
      processing: null,
    },
    ...{ allowed_payment_method_types: ['card'], excluded_payment_method_types: null, last_payment_error: null },
    ...{ latest_charge: null, managed_payments: null, metadata: {}, next_action: null, on_behalf_of: null },
    ...{ payment_method: null, payment_method_configuration_details: null, payment_method_options: null },
    ...{ payment_method_types: ['card'], payment_record: null, receipt_email: null, review: null },
    ...{ setup_future_usage: null, shipping: null, statement_descriptor: null, statement_descriptor_suffix: null },
    ...{ status: 'requires_payment_method', transfer_group: null },
    ...facts,
  }
}

/** A charge of an intent on a card, succeeded unless a refusal is given. */
export function newCharge(
  making: Making,
  intent: Stripe.PaymentIntent,
  method: Stripe.PaymentMethod,
  facts: {
    transaction: string | null
    refusal?: { code: string; decline: string; message: string; advice?: Card['advice'] }
  },
): Stripe.Charge {
  const { refusal } = facts
  const isPaid = refusal === undefined
  return {
    ...making,
    ...{ object: 'charge', amount: intent.amount, currency: intent.currency, amount_refunded: 0 },
    ...{ amount_captured: isPaid ? intent.amount : 0, application: null, application_fee: null },
    ...{
      application_fee_amount: null,
      balance_transaction: facts.transaction,
      billing_details: method.billing_details,
    },
    ...{
      calculated_statement_descriptor: 'PERENNIAL TEST',
      captured: isPaid,
      customer: intent.customer as string | null,
    },
    ...{ description: intent.description, disputed: false, failure_balance_transaction: null, fraud_details: {} },
    ...{
      failure_code: refusal?.code ?? null,
      failure_message: refusal?.message ?? null,
      metadata: { ...intent.metadata },
    },
    ...{ on_behalf_of: null, paid: isPaid, payment_intent: intent.id, payment_method: method.id, receipt_email: null },
    ...{ receipt_number: null, receipt_url: null, refunded: false, review: null, shipping: null, source: null },
    ...{ source_transfer: null, statement_descriptor: null, transfer_data: null, transfer_group: null },
    ...{ statement_descriptor_suffix: intent.statement_descriptor_suffix, status: isPaid ? 'succeeded' : 'failed' },
    outcome: {
      ...{ advice_code: refusal?.advice ?? null, network_advice_code: null, network_decline_code: null },
      ...{ network_status: isPaid ? 'approved_by_network' : 'declined_by_network', reason: refusal?.decline ?? null },
      ...{ seller_message: isPaid ? 'Payment complete.' : 'The bank refused it.' },
      type: isPaid ? 'authorized' : 'issuer_declined',
    },
    payment_method_details: { type: 'card', card: chargedCard(method, intent.amount) },
  }
}

function chargedCard({ card }: Stripe.PaymentMethod, amount: number): Stripe.Charge.PaymentMethodDetails.Card {
  if (card === undefined) throw new Error('Only cards are simulated')
  return {
    ...{ amount_authorized: amount, authorization_code: null, brand: card.brand, checks: card.checks, wallet: null },
    ...{
      country: card.country,
      electronic_commerce_indicator: null,
      exp_month: card.exp_month,
      exp_year: card.exp_year,
    },
    ...{ fingerprint: card.fingerprint, funding: card.funding, installments: null, last4: card.last4, mandate: null },
    ...{ network: card.brand, network_transaction_id: null, regulated_status: 'unregulated', three_d_secure: null },
    transaction_link_id: null,
  }
}

export function newRefund(
  making: Making,
  charge: Stripe.Charge,
  facts: {
    amount: number
    status: string
    transaction: string | null
    reason: Stripe.Refund['reason']
    metadata: Metadata
  },
): Stripe.Refund {
  return {
    ...{ id: making.id, created: making.created, object: 'refund', amount: facts.amount, currency: charge.currency },
    ...{ balance_transaction: facts.transaction, charge: charge.id, customer: charge.customer as string | null },
    ...{ customer_account: null, metadata: facts.metadata, payment_intent: charge.payment_intent as string | null },
    ...{ payment_method: charge.payment_method, reason: facts.reason, receipt_number: null, status: facts.status },
    ...{ source_transfer_reversal: null, transfer_reversal: null },
  }
}

export function newDispute(
  making: Making,
  charge: Stripe.Charge,
  facts: { amount: number; currency: string; reason: string; networkCode: string; isEnquiry: boolean },
): Stripe.Dispute {
  const brand = charge.payment_method_details?.card?.brand ?? 'visa'
  const caseType = facts.isEnquiry ? 'inquiry' : 'chargeback'
  return {
    ...making,
    ...{
      object: 'dispute',
      amount: facts.amount,
      currency: facts.currency,
      balance_transactions: [],
      charge: charge.id,
    },
    ...{ enhanced_eligibility_types: [], evidence: NO_EVIDENCE, intended_submission_method: null, metadata: {} },
    evidence_details: {
      ...{ due_by: making.created + 7 * 86_400, enhanced_eligibility: {}, has_evidence: false, past_due: false },
      ...{ submission_count: 0, submission_method: 'not_submitted' },
    },
    ...{ is_charge_refundable: facts.isEnquiry, payment_intent: charge.payment_intent as string, reason: facts.reason },
    ...{
      status: facts.isEnquiry ? 'warning_needs_response' : 'needs_response',
      network_reason_code: facts.networkCode,
    },
    payment_method_details: {
      type: 'card',
      card: { brand, case_type: caseType, network: brand, network_reason_code: facts.networkCode },
    },
  }
}

const NO_EVIDENCE: Stripe.Dispute.Evidence = {
  ...{ access_activity_log: null, billing_address: null, cancellation_policy: null, cancellation_rebuttal: null },
  ...{ cancellation_policy_disclosure: null, customer_communication: null, customer_email_address: null },
  ...{ customer_name: null, customer_purchase_ip: null, customer_signature: null, duplicate_charge_id: null },
  ...{ duplicate_charge_documentation: null, duplicate_charge_explanation: null, enhanced_evidence: {} },
  ...{ product_description: null, receipt: null, refund_policy: null, refund_policy_disclosure: null },
  ...{ refund_refusal_explanation: null, service_date: null, service_documentation: null, shipping_address: null },
  ...{ shipping_carrier: null, shipping_date: null, shipping_documentation: null, shipping_tracking_number: null },
  ...{ uncategorized_file: null, uncategorized_text: null },
}

/** A movement of the Stripe account's balance, in its own currency. @param amount negative for money that leaves */
export function newTransaction(
  making: Making,
  facts: { amount: number; currency: string; fee: number; rate: number | null; source: string; category: string },
): Stripe.BalanceTransaction {
  return {
    ...{ id: making.id, created: making.created, object: 'balance_transaction', amount: facts.amount },
    ...{
      available_on: making.created + 2 * 86_400,
      balance_type: 'payments',
      currency: facts.currency,
      fee: facts.fee,
    },
    ...{ description: null, exchange_rate: facts.rate, fee_details: [], net: facts.amount - facts.fee },
    ...{ reporting_category: facts.category, source: facts.source, status: 'pending' },
    type: TYPES[facts.category] ?? 'adjustment',
  }
}

const TYPES: Record<string, Stripe.BalanceTransaction['type']> = { charge: 'charge', refund: 'refund' }

export function newEndpoint(
  making: Making,
  facts: {
    url: string
    secret: string
    events: string[]
    description: string | null
    version: string | null
    metadata: Metadata
  },
): Stripe.WebhookEndpoint {
  return {
    ...making,
    ...{ object: 'webhook_endpoint', api_version: facts.version, application: null, description: facts.description },
    ...{
      enabled_events: facts.events,
      metadata: facts.metadata,
      secret: facts.secret,
      status: 'enabled',
      url: facts.url,
    },
  }
}

export function newAccount(id: string, created: number): Stripe.Account {
  return {
    ...{ id, object: 'account', charges_enabled: true, country: 'US', created, default_currency: 'usd' },
    ...{ details_submitted: true, email: null, metadata: {}, payouts_enabled: true, type: 'standard' },
  }
}
