import type { AccountId } from '../../kernel/ids.ts'
import type { AskedCharge, ChargeToMake, ChargingCall, Refund } from './contract.ts'
import type { Storing } from './storing.ts'

/** Facts of calls and of what they ask about, as far as a test does not say otherwise. */

export const callOf = (facts: Partial<ChargingCall> & { accountId: AccountId; gatewayId: bigint }): ChargingCall => ({
  scope: `scope of ${facts.accountId} ${facts.gatewayId}`,
  isLive: false,
  timeZone: 'UTC',
  isCustomerPresent: false,
  settings: {},
  now: '2027-01-31T08:00:00.000Z',
  today: '2027-01-31',
  signal: new AbortController().signal,
  keep: async () => true,
  ...facts,
})

export const askedCharge = (reference: string, facts: Partial<AskedCharge> = {}): AskedCharge => ({
  reference,
  token: null,
  amountMinor: 1000n,
  currency: 'USD',
  gatewayReference: null,
  sentAt: null,
  ...facts,
})

export const chargeToMake = (reference: string, token: string, facts: Partial<ChargeToMake> = {}): ChargeToMake => ({
  ...askedCharge(reference),
  isCustomerPresent: false,
  returnUrl: null,
  description: 'Invoices 7',
  invoiceNumbers: ['7'],
  payer: null,
  ...facts,
  token,
})

export const askedRefund = (reference: string, amountMinor = 1000n, charge = '7'): Refund => ({
  reference,
  charge: askedCharge(charge),
  amountMinor,
  currency: 'USD',
  gatewayReference: null,
  sentAt: null,
})

export const askedStoring = (reference: string): Storing => ({ reference, gatewayReference: null, sentAt: null })
