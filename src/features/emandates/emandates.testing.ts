import { expect } from 'vitest'
import type { TestClient, TestService } from '../../../test/support/app.ts'
import { canonicalJson } from '../../platform/wire/json.ts'
import { chained } from './evidence.ts'
import type { MandateDocument } from './mandate-pdf.ts'
import type { Evidence, Mandate } from './types.ts'
import { mandateText } from './terms-text.ts'

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

const AT = '2027-01-01T00:00:00.000Z'

const SIGNED: Pick<Mandate, 'id' | 'kind' | 'signee' | 'terms' | 'isCompanySignee'> = {
  id: 17n,
  kind: 'sepa',
  isCompanySignee: false,
  signee: {
    name: 'Ada',
    lastName: 'Lovelace',
    company: null,
    tradingAs: null,
    tel: '+49 40 555 0100',
    email: 'ada@example.org',
    address1: 'Hafenstraße 12',
    address2: null,
    city: 'Hamburg',
    state: null,
    country: 'DEU',
    postalCode: '20457',
  },
  terms: {
    bank: {
      name: 'Commerzbank',
      branchCode: 'COBADEFFXXX',
      accountHolder: 'Ada Lovelace',
      accountType: 'Current',
    },
    frequency: 'Monthly',
    actionDay: 31,
    startDate: '2027-02-01',
    endDate: null,
    nameOnStatement: 'ENGINES',
    contractRef: 'C-17',
    currency: 'EUR',
    amount: '199.5',
    maxAmount: '400',
    escalation: null,
    isVariable: true,
    beneficiary: {
      name: 'Engines GmbH',
      address: ['Kanalweg 4', '10115 Berlin', 'Germany'],
      tel: null,
      email: 'billing@example.com',
      webPage: null,
      creditorIdentifier: 'DE98ZZZ09999999999',
      noticeDays: 14,
    },
  },
}

/** Strokes of some 300 points, as a signature by a finger has. */
const strokes = () => {
  const points = Array.from({ length: 300 }, (_, step) => `${2 * step} ${Math.round(100 + 80 * Math.sin(step / 9))}`)
  return `M${points.join('L')}`
}

/** A signed mandate as it is drawn, with a drawn signature and its evidence. */
export function sampleMandate(): { document: MandateDocument; at: string; evidence: string } {
  const about = { address: '192.0.2.17', agent: 'Mozilla/5.0 (Linux; Android 16) AppleWebKit/537.36' }
  const details = { ...about, typed: 'Ada Lovelace', drawing: strokes(), locale: 'en', channel: 'redirect' }
  const steps: Evidence[] = []
  for (const kind of ['created', 'opened', 'signed'] as const)
    steps.push(chained(steps.at(-1), { kind, at: AT, details: kind === 'signed' ? details : about }))
  return {
    document: {
      text: mandateText(SIGNED, 'DE89370400440532013000', 'en'),
      locale: 'en',
      paper: 'A4',
      creditor: SIGNED.terms.beneficiary.name,
      reference: 'EM17',
      createdAt: AT,
      signature: { ...details, signedAt: AT, shown: 'f'.repeat(64), opened: { at: AT, ...about }, steps },
    },
    at: AT,
    evidence: canonicalJson(steps.map(({ kind, at, details: facts, hash }) => ({ kind, at, details: facts, hash }))),
  }
}
