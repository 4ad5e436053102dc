import { expect, test } from 'vitest'
import { changeOf } from './remembered.ts'

test.each([
  ['/v1/customers', '/v1/customers', { headers: { location: '/v1/customers/7' } }, 'customers', '7'],
  ['/v1/customers/{customerID}', '/v1/customers/8?preview=false', {}, 'customers', '8'],
  [
    '/v1/paymentmethods/creditcard',
    '/v1/paymentmethods/creditcard',
    { body: '{"paymentMethodID":9}' },
    'paymentMethod',
    '9',
  ],
  ['/v1/paymentmethods/creditcard', '/v1/paymentmethods/creditcard', {}, null, null],
])('a change of %s at %s is remembered by its record', (path, url, answer, type, id) => {
  expect(changeOf({ id: 'change', path }, { url }, { status: 200, ...answer })).toEqual({
    operation: 'change',
    type,
    id,
    number: null,
  })
})
