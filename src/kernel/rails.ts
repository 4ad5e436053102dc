/** Words of collecting money that gateways, methods and the rules of collection share. */

/** The kinds of payment methods, each with a rail of its own. */
export const METHOD_KINDS = ['credit_card', 'debit_order', 'ach', 'sepa'] as const
export type MethodKind = (typeof METHOD_KINDS)[number]

/** The kinds of bank accounts that are debited. */
export const BANK_KINDS = ['debit_order', 'ach', 'sepa'] as const
export type BankKind = (typeof BANK_KINDS)[number]

/** Types of gateways that this service calls itself, over the network. */
export const CALLED_GATEWAYS = ['stripe', 'gocardless'] as const
export type CalledGateway = (typeof CALLED_GATEWAYS)[number]

/** Why money was refused, whatever a gateway calls it; the rules of collection know only these. */
export const DECLINE_CLASSES = [
  'insufficient_funds',
  'declined',
  'account_closed',
  'invalid_account',
  'blocked',
  'no_mandate',
  'stopped',
  'refunded_late',
  'deceased',
  'duplicate',
  'format',
  'action_required',
  'method_expired',
  'unknown',
  'not_sent',
] as const
export type DeclineClass = (typeof DECLINE_CLASSES)[number]
