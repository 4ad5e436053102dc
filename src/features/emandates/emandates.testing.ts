import { expect } from 'vitest'
import type { TestClient, TestService } from '../../../test/support/app.ts'

/** A right body of an eMandate for a debit order, and the fields of one of SEPA. */

export const MANDATE = {
  Name: 'Ada',
  Lastname: 'Lovelace',
  Email: 'ada@example.org',
  Address1: '12 Long Street',
  City: 'Cape Town',
  PostalCode: '8001',
  CountryISOCode: 'ZAF',
  bank_Name: 'FNB',
  bank_BranchCode: '250655',
  bank_AccHolder: 'Ada Lovelace',
  bank_AccNumber: '62001871490',
  bank_AccountType: 'savings',
  debit_ActionDay: 31,
  debit_StartDate: '2027-02-01',
  debit_Frequency: 'monthly',
  debit_Escalation: '6 % a year',
  debit_Amt: 199.5,
  debit_MaxAmt: 400,
  debit_NameOnStmt: 'ENGINES',
  debit_ContractRef: 'C-17',
  debit_VariableAmts: true,
}

export const SEPA = {
  ...MANDATE,
  bank_DebitMethod: 'sepa',
  bank_Name: 'Commerzbank',
  bank_AccNumber: 'de89 3704 0044 0532 0130 00',
  bank_BranchCode: 'cobadeffxxx',
}

export const DRAWING = 'M10 100L200 20L400 180L590 60'

export interface AskedMandate {
  token: string
  path: string
  id: bigint
}

/** Asks for mandates and signs them, as a browser that came to the pages of a service does. */
export const signingBy = (service: TestService, origin: string) => ({
  ask: async (client: TestClient, body: object = MANDATE): Promise<AskedMandate> => {
    const asked = await client.post('/v1/emandate', body)
    expect(asked.status, asked.text).toBe(201)
    const { Token, Url } = asked.body
    return { token: Token, path: new URL(Url, origin).pathname, id: BigInt(Token.split('x')[1]) }
  },
  /** Opens the page and sends its form; returns the status of the answer to that. */
  sign: async (path: string, signature: object = {}, language = 'en'): Promise<number> => {
    const headers = { 'accept-language': language, origin, 'content-type': 'application/x-www-form-urlencoded' }
    const page = await service.app.server.inject({ url: path, headers: { 'accept-language': language } })
    const shown = /name="shown" value="([0-9a-f]{64})"/.exec(page.body)?.[1] ?? ''
    const fields = {
      decision: 'sign',
      consent: 'yes',
      signature: 'Ada Lovelace',
      drawing: DRAWING,
      shown,
      ...signature,
    }
    const payload = new URLSearchParams(fields).toString()
    return (await service.app.server.inject({ method: 'POST', url: path, payload, headers })).statusCode
  },
  download: (token: string, client?: TestClient) =>
    service.app.server.inject({
      url: `/widget/emandate/download?token=${token}`,
      headers: client
        ? { authorization: `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}` }
        : {},
    }),
})
