import { expect, test } from 'vitest'
import { changeOf, invoiceNumbersIn } from './remembered.ts'

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

test('invoice numbers are read from an answer that was kept, and no numbers of credit notes, which callers may choose', () => {
  const numbersOf = (body: string) => invoiceNumbersIn({ status: 201, body }).map(({ of, number }) => `${of} ${number}`)
  expect(numbersOf('{"invoiceID":7,"invoiceNum":12,"memo":"3"}')).toEqual(['invoice 12'])
  expect(numbersOf('[{"invoiceNum":"12"},{"invoiceNum":13}]')).toEqual(['invoice 12', 'invoice 13'])
  expect(numbersOf('{"CreditNumber":"20260117","CreditNumber":"CN-9"}')).toEqual([])
  expect(numbersOf('{"invoiceNum":null,"x":{"invoiceNum":"1234567890123"}}')).toEqual([])
  expect(invoiceNumbersIn({ status: 204 })).toEqual([])
})
