import { expect, test } from 'vitest'
import { changeOf, documentNumbersIn } from './remembered.ts'

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

test('numbers of documents are read from an answer that was kept', () => {
  expect(
    documentNumbersIn({ status: 201, body: '{"invoiceID":7,"invoiceNum":12,"Credits":[{"CreditNumber":"3"}]}' }),
  ).toEqual([
    { of: 'invoice', number: 12n },
    { of: 'credit note', number: 3n },
  ])
  expect(documentNumbersIn({ status: 201, body: '{"invoiceNum":null}' })).toEqual([])
  expect(documentNumbersIn({ status: 204 })).toEqual([])
})
