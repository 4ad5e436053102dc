/** The operations of Stripe that the simulator serves: method, path, the declared parameters, and the object that is answered (`list of` it). */

export interface Operation {
  method: string
  path: string
  /** The name of its parameters, without "Params". */
  parameters: string
  answer: string
  isList: boolean
  /** A restricted key needs it; named as in the console. */
  right: Right
}

type Right = `${'write' | 'read'} ${Resource}`
export type Resource =
  | 'Customers'
  | 'SetupIntents'
  | 'PaymentMethods'
  | 'PaymentIntents'
  | 'Charges and Refunds'
  | 'Disputes'
  | 'Events'
  | 'Account'
  | 'Webhook Endpoints'

const LINES: [call: string, parameters: string, answer: string, right: Right][] = [
  ['GET /v1/account', 'AccountRetrieveCurrent', 'account', 'read Account'],
  ['POST /v1/customers', 'CustomerCreate', 'customer', 'write Customers'],
  ['GET /v1/customers/*', 'CustomerRetrieve', 'customer', 'read Customers'],
  ['POST /v1/customers/*', 'CustomerUpdate', 'customer', 'write Customers'],
  ['DELETE /v1/customers/*', 'CustomerDelete', 'deleted_customer', 'write Customers'],
  [
    'GET /v1/customers/*/payment_methods',
    'CustomerListPaymentMethods',
    'list of payment_method',
    'read PaymentMethods',
  ],
  ['POST /v1/setup_intents', 'SetupIntentCreate', 'setup_intent', 'write SetupIntents'],
  ['GET /v1/setup_intents/*', 'SetupIntentRetrieve', 'setup_intent', 'read SetupIntents'],
  ['POST /v1/setup_intents/*/confirm', 'SetupIntentConfirm', 'setup_intent', 'write SetupIntents'],
  ['POST /v1/setup_intents/*/cancel', 'SetupIntentCancel', 'setup_intent', 'write SetupIntents'],
  ['POST /v1/payment_methods', 'PaymentMethodCreate', 'payment_method', 'write PaymentMethods'],
  ['GET /v1/payment_methods/*', 'PaymentMethodRetrieve', 'payment_method', 'read PaymentMethods'],
  ['POST /v1/payment_methods/*/attach', 'PaymentMethodAttach', 'payment_method', 'write PaymentMethods'],
  ['POST /v1/payment_methods/*/detach', 'PaymentMethodDetach', 'payment_method', 'write PaymentMethods'],
  ['POST /v1/payment_intents', 'PaymentIntentCreate', 'payment_intent', 'write PaymentIntents'],
  ['GET /v1/payment_intents', 'PaymentIntentList', 'list of payment_intent', 'read PaymentIntents'],
  ['GET /v1/payment_intents/*', 'PaymentIntentRetrieve', 'payment_intent', 'read PaymentIntents'],
  ['POST /v1/payment_intents/*/confirm', 'PaymentIntentConfirm', 'payment_intent', 'write PaymentIntents'],
  ['POST /v1/payment_intents/*/cancel', 'PaymentIntentCancel', 'payment_intent', 'write PaymentIntents'],
  ['GET /v1/charges', 'ChargeList', 'list of charge', 'read Charges and Refunds'],
  ['GET /v1/charges/*', 'ChargeRetrieve', 'charge', 'read Charges and Refunds'],
  ['POST /v1/refunds', 'RefundCreate', 'refund', 'write Charges and Refunds'],
  ['GET /v1/refunds', 'RefundList', 'list of refund', 'read Charges and Refunds'],
  ['GET /v1/refunds/*', 'RefundRetrieve', 'refund', 'read Charges and Refunds'],
  ['GET /v1/disputes', 'DisputeList', 'list of dispute', 'read Disputes'],
  ['GET /v1/events', 'EventList', 'list of event', 'read Events'],
  ['GET /v1/events/*', 'EventRetrieve', 'event', 'read Events'],
  ['POST /v1/webhook_endpoints', 'WebhookEndpointCreate', 'webhook_endpoint', 'write Webhook Endpoints'],
  ['GET /v1/webhook_endpoints', 'WebhookEndpointList', 'list of webhook_endpoint', 'read Webhook Endpoints'],
  ['POST /v1/webhook_endpoints/*', 'WebhookEndpointUpdate', 'webhook_endpoint', 'write Webhook Endpoints'],
  ['DELETE /v1/webhook_endpoints/*', 'WebhookEndpointDelete', 'deleted_webhook_endpoint', 'write Webhook Endpoints'],
]

export const OPERATIONS: Operation[] = LINES.map(([call, parameters, answer, right]) => {
  const [method = '', path = ''] = call.split(' ')
  return { method, path, parameters, answer: answer.replace('list of ', ''), isList: answer.startsWith('list'), right }
})

/** Returns the operation of a request, and what stands in the place of `*` in its path. */
export function operationOf(method: string, path: string): { operation: Operation; id: string } | undefined {
  const pieces = path.split('/')
  for (const operation of OPERATIONS) {
    const expected = operation.path.split('/')
    const fits =
      expected.length === pieces.length && expected.every((piece, at) => piece === '*' || piece === pieces[at])
    if (fits && operation.method === method) return { operation, id: pieces[expected.indexOf('*')] ?? '' }
  }
  return undefined
}
