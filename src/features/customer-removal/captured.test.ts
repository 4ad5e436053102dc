import { expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { addCustomer } from '../../../test/support/shop.ts'
import { complete, sendSale } from '../capture-sessions/capture.testing.ts'
import { CARDS } from '../collection/shop.testing.ts'

/** The words of capture sessions go with the customer who completed them. */

const service = await startTestService()

const DESCRIPTION = 'First lesson of Ada Quillfeather'
const CARD_ALONE = { SaleType: 'VaultOnly', Amount: undefined }
const SALE_ALONE = { VaultingType: 'VaultNone', SaleType: 'SaleOnly' }

async function completed(client: TestClient, changes: object) {
  const { session, read } = await sendSale(service, client, CARDS.good, { Description: DESCRIPTION, ...changes })
  const customerID = await addCustomer(client)
  expect((await complete(client, customerID, session.SessionToken)).status).toBe(204)
  expect((await read()).Description).toBe(DESCRIPTION)
  return { customerID, read }
}

/** Removes the method that a session brought, after another has become the primary one. */
async function replaceMethod(client: TestClient, customerID: number, methodID: number): Promise<void> {
  const BankAccount = {
    Method: 'debit_order',
    AccountType: 'Savings',
    AccountHolder: 'Ada',
    Bank: 'Bank',
    AccountNumber: '62001871490',
    BranchCode: '250655',
  }
  const added = await client.post('/v1/paymentmethods/bankaccount', { customerID, isPrimary: true, BankAccount })
  expect(added.status, added.text).toBe(200)
  expect((await client.delete(`/v1/paymentmethods/${methodID}`)).status).toBe(204)
}

test('an anonymised customer leaves no description of a session, also of one whose method he has no more, or that kept none', async () => {
  const client = await service.newAccount()
  const other = await completed(client, CARD_ALONE)
  for (const changes of [CARD_ALONE, {}, SALE_ALONE]) {
    const { customerID, read } = await completed(client, changes)
    const { paymentMethodID } = await read()
    if (paymentMethodID !== null) await replaceMethod(client, customerID, paymentMethodID)
    expect((await client.post(`/v1/customers/${customerID}/anonymise`)).status).toBe(204)
    expect(await read()).toMatchObject({ State: 'completed', Description: null })
  }
  expect((await other.read()).Description).toBe(DESCRIPTION)
})

test('a deleted customer leaves none either', async () => {
  const client = await service.newAccount()
  const { customerID, read } = await completed(client, CARD_ALONE)
  expect((await client.delete(`/v1/customers/${customerID}`)).status).toBe(204)
  expect(await read()).toMatchObject({ State: 'completed', Description: null })
})
