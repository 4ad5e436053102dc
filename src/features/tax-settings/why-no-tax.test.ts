import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { differencesOf, subscribe } from '../../../test/support/shop.ts'
import { creditOf } from '../money/money.testing.ts'
import { sql } from '../../platform/database/sql.ts'

const service = await startTestService()

const GERMAN = [
  { Perc: 0.19, countryID: 276 },
  { Perc: 0, Area: 'EU', AppliesTo: 'business', Category: 'AE' },
  { Perc: 0.19, Area: 'EU', AppliesTo: 'consumer' },
  { Perc: 0, Area: 'nonEU', Category: 'O' },
]

async function germanSeller(): Promise<TestClient> {
  const client = await service.newAccount()
  expect((await client.put('/v1/account', { Country: 'Deutschland' })).status).toBe(204)
  const added = await client.post('/v1/tax', { Name: 'USt', rules: GERMAN })
  expect(added.status, added.text).toBe(201)
  return client
}

const refusalsOf = async (client: TestClient, rules: object[], path = '/v1/tax', method = 'POST') => {
  const { status, body } = await client.request(method, path, { Name: 'VAT', rules })
  return [status, ...(body?.Errors ?? []).map(({ Field }: { Field: string }) => Field)]
}

describe('rules of taxes', () => {
  test('are answered with what was sent, and with what rate and category bring by themselves', async () => {
    const client = await service.newAccount()
    const rule = {
      Perc: 0,
      Area: 'nonEU',
      AppliesTo: 'business',
      Category: 'G',
      Reason: { en: 'Export', de: 'Ausfuhrlieferung' },
      GLCode: '1776',
      RevenueGLCode: '4120',
      DatevKey: '1',
    }
    const rules = [
      rule,
      { Perc: 0.19 },
      { Perc: 0, countryID: 40 },
      { Perc: 0, countryID: 56, Category: 'e', ReasonCode: 'VATEX-EU-132' },
    ]
    const { body } = await client.post('/v1/tax', { Name: 'VAT', rules })
    expect(body.rules.map(({ Category, ReasonCode }: any) => [Category, ReasonCode])).toEqual([
      ['G', 'VATEX-EU-G'],
      ['S', null],
      ['Z', null],
      ['E', 'VATEX-EU-132'],
    ])
    expect(body.rules[0]).toMatchObject(rule)
    expect(body.rules[1]).toMatchObject({
      Area: null,
      AppliesTo: 'all',
      Reason: null,
      GLCode: null,
      RevenueGLCode: null,
      DatevKey: null,
    })
    const path = `/v1/tax/${body.taxSettingID}`
    expect((await client.put(path, body)).status).toBe(204)
    expect((await client.get(path)).body).toEqual(body)
  })

  test('keep on an edit what it leaves out, and null clears it; rate and place follow the edit', async () => {
    const client = await germanSeller()
    const [{ taxSettingID, rules }] = (await client.get('/v1/tax')).body
    const path = `/v1/tax/${taxSettingID}`
    const known = rules.map(({ taxRuleID, Perc, countryID }: any) => ({ taxRuleID, Perc, countryID }))
    known[2].Perc = 0.16
    expect((await client.put(path, { Name: 'USt', rules: known })).status).toBe(204)
    const after = (await client.get(path)).body.rules
    expect(after).toEqual(rules.map((rule: any, place: number) => (place === 2 ? { ...rule, Perc: 0.16 } : rule)))
    known[1] = { ...known[1], Category: 'E', Reason: { de: 'Steuerfrei' } }
    known[3] = { ...known[3], AppliesTo: null, Area: null, Category: null }
    expect((await client.put(path, { Name: 'USt', rules: known })).status).toBe(204)
    const cleared = (await client.get(path)).body.rules
    expect(cleared[1]).toMatchObject({
      Category: 'E',
      Reason: { de: 'Steuerfrei' },
      ReasonCode: null,
      Area: 'EU',
      AppliesTo: 'business',
    })
    expect(cleared[3]).toMatchObject({ Category: 'Z', Area: null, AppliesTo: 'all' })
  })

  test('a change of the rate takes a category that was never given along', async () => {
    const client = await service.newAccount()
    const { body } = await client.post('/v1/tax', { Name: 'VAT', rules: [{ Perc: 0.19 }] })
    const { taxRuleID } = body.rules[0]
    await client.put(`/v1/tax/${body.taxSettingID}`, { Name: 'VAT', rules: [{ taxRuleID, Perc: 0 }] })
    expect((await client.get(`/v1/tax/${body.taxSettingID}`)).body.rules[0].Category).toBe('Z')
  })

  test.each([
    [[{ Perc: 0.1, Category: 'AE' }], 'rules[0].Category'],
    [[{ Perc: 0.1, Category: 'Z' }], 'rules[0].Category'],
    [[{ Perc: 0, Category: 'S' }], 'rules[0].Category'],
    [[{ Perc: 0, Category: 'X' }], 'rules[0].Category'],
    [[{ Perc: 0, Category: 'E' }], 'rules[0].Reason'],
    [[{ Perc: 0, Category: 'E', Reason: {} }], 'rules[0].Reason'],
    [[{ Perc: 0, Category: 'E', Reason: 'Exempt' }], 'rules[0].Reason'],
    [[{ Perc: 0, Category: 'E', Reason: { en: '  ' } }], 'rules[0].Reason'],
    [[{ Perc: 0, Category: 'E', Reason: { en: 1 } }], 'rules[0].Reason.en'],
    [[{ Perc: 0, Category: 'E', Reason: { English: 'Exempt' } }], 'rules[0].Reason.English'],
    [[{ Perc: 0, Category: 'E', Reason: { en: 'x'.repeat(256) } }], 'rules[0].Reason.en'],
    [[{ Perc: 0, Category: 'E', ReasonCode: 'EXEMPT' }], 'rules[0].ReasonCode'],
    [[{ Perc: 0.1, Area: 'EU', countryID: 276 }], 'rules[0].Area'],
    [[{ Perc: 0.1, Area: 'Asia' }], 'rules[0].Area'],
    [[{ Perc: 0.1, AppliesTo: 'nobody' }], 'rules[0].AppliesTo'],
    [
      [
        { Perc: 0.1, Area: 'EU' },
        { Perc: 0.2, Area: 'EU' },
      ],
      'rules[1].countryID',
    ],
    [[{ Perc: 0.1, AppliesTo: 'all' }, { Perc: 0.2 }], 'rules[1].countryID'],
    [
      [
        { Perc: 0.1, countryID: 276, AppliesTo: 'business' },
        { Perc: 0.2, countryID: 276, AppliesTo: 'business' },
      ],
      'rules[1].countryID',
    ],
    [[{ Perc: 0.1, DatevKey: 'AB' }], 'rules[0].DatevKey'],
    [[{ Perc: 0.1, GLCode: 'x'.repeat(101) }], 'rules[0].GLCode'],
  ])('%j are refused at %s', async (rules, field) => {
    const client = await service.newAccount()
    expect(await refusalsOf(client, rules)).toEqual([400, field])
    expect((await client.get('/v1/tax')).body).toEqual([])
  })

  test('of 30 languages are refused by number; of all places and customers one each are taken', async () => {
    const client = await service.newAccount()
    const Reason = Object.fromEntries(
      Array.from({ length: 30 }, (_, n) => [`x${String.fromCharCode(97 + (n % 26))}${n < 26 ? '' : 'z'}`, 'Exempt']),
    )
    const { status, body } = await client.post('/v1/tax', { Name: 'VAT', rules: [{ Perc: 0, Category: 'E', Reason }] })
    expect([status, body.Errors[0]]).toEqual([
      400,
      { Field: 'rules[0].Reason', Code: 'too_many', Message: expect.stringContaining('20') },
    ])
    const places = [{}, { Area: 'EU' }, { Area: 'nonEU' }, { countryID: 276 }, { countryID: 276, countryStateID: 1 }]
    const rules = places.flatMap((place) =>
      ['all', 'business', 'consumer'].map((AppliesTo) => ({ Perc: 0.1, AppliesTo, ...place })),
    )
    expect(await refusalsOf(client, rules)).toEqual([201])
  })

  test('an edit that would leave an area with a country, or a category with another rate, is refused', async () => {
    const client = await germanSeller()
    const [{ taxSettingID, rules }] = (await client.get('/v1/tax')).body
    const ids = rules.map(({ taxRuleID }: any) => taxRuleID)
    const path = `/v1/tax/${taxSettingID}`
    expect(await refusalsOf(client, [{ taxRuleID: ids[2], Perc: 0.19, countryID: 40 }], path, 'PUT')).toEqual([
      400,
      'rules[0].Area',
    ])
    expect(await refusalsOf(client, [{ taxRuleID: ids[1], Perc: 0.19 }], path, 'PUT')).toEqual([
      400,
      'rules[0].Category',
    ])
    expect((await client.get(path)).body.rules).toEqual(rules)
  })
})

describe('taxes of a customer', () => {
  const taxesOf = async (client: TestClient, customer: object): Promise<unknown[]> => {
    const added = await client.post('/v1/customers', { Name: 'Acme', isCompany: true, ...customer })
    expect(added.status, added.text).toBe(201)
    const { customerID } = added.body
    const { body } = await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 100 }] })
    return body.Taxes.map(({ Perc, TaxAmount, Base, Category, ReasonCode }: any) => [
      Perc,
      Base,
      TaxAmount,
      Category,
      ReasonCode,
    ])
  }
  const STANDARD = [[0.19, 100, 19, 'S', null]]
  const REVERSE = [[0, 100, 0, 'AE', 'VATEX-EU-AE']]
  const OUTSIDE = [[0, 100, 0, 'O', 'VATEX-EU-O']]

  test.each([
    ['Paris SAS', { countryID: 250, VatNo: 'FR40303265045' }, REVERSE],
    ['Paris SAS, in its own spelling', { countryID: 250, VatNo: 'fr 40 303.265.045' }, REVERSE],
    ['Paris SAS without a number', { countryID: 250 }, STANDARD],
    ['Paris SAS with a wrong one', { countryID: 250, VatNo: 'FR40303265046' }, STANDARD],
    ['Paris SAS with a German one', { countryID: 250, VatNo: 'DE136695976' }, STANDARD],
    ['a person in Paris', { countryID: 250, isCompany: false, LastName: 'Curie', VatNo: 'FR40303265045' }, STANDARD],
    ['Monaco', { countryID: 492, VatNo: 'FR40303265045' }, REVERSE],
    ['Athens AE', { countryID: 300, VatNo: 'EL094259216' }, REVERSE],
    ['Zürich AG', { countryID: 756 }, OUTSIDE],
    ['Belfast Ltd', { countryID: 826, VatNo: 'XI980780684' }, OUTSIDE],
    ['Berlin GmbH', { countryID: 276, VatNo: 'DE136695976' }, STANDARD],
    ['nowhere', {}, []],
  ])('of a German seller: %s', async (_, customer, expected) => {
    expect(await taxesOf(await germanSeller(), customer)).toEqual(expected)
  })

  test('an Irish seller: a right number of a German firm is reverse charge, a wrong one or none is not', async () => {
    const client = await service.newAccount()
    await client.put('/v1/account', { Country: 'IE' })
    const rules = [{ Perc: 0.23 }, { Perc: 0, Area: 'EU', AppliesTo: 'business', Category: 'AE' }]
    await client.post('/v1/tax', { Name: 'VAT', rules })
    const percOf = async (VatNo: string | null) =>
      (await taxesOf(client, { countryID: 276, VatNo })).map(([perc]: any) => perc)
    expect(await percOf('DE136695976')).toEqual([0])
    expect(await percOf('DE136695977')).toEqual([0.23])
    expect(await percOf(null)).toEqual([0.23])
  })

  test('of an exempt customer are lines of 0 % for his reason by each setting that matches, and none where it is not known', async () => {
    const client = await germanSeller()
    await client.post('/v1/tax', { Name: 'City', rules: [{ Perc: 0.01, countryID: 276 }] })
    const customer = { countryID: 276, isWaiveTaxes: true }
    expect(await taxesOf(client, customer)).toEqual([])
    const embassy = { ...customer, TaxCategory: 'E', TaxReason: 'Embassy' }
    const lines = await taxesOf(client, embassy)
    expect(lines).toEqual([
      [0, 100, 0, 'E', null],
      [0, 100, 0, 'E', null],
    ])
    const invoice = (await client.get('/v1/invoices')).body.at(-1)
    expect(invoice.Taxes.map(({ Name, Reason }: any) => [Name, Reason])).toEqual([
      ['USt', { und: 'Embassy' }],
      ['City', { und: 'Embassy' }],
    ])
    expect(await taxesOf(client, { ...customer, countryID: 840, TaxCategory: 'Z' })).toEqual([[0, 100, 0, 'Z', null]])
  })
})

describe('frozen at issue', () => {
  test('rule, category and reason stay as they were, with the place and number of the customer, also when he is made nobody', async () => {
    const client = await germanSeller()
    const added = await client.post('/v1/customers', {
      Name: 'SAS',
      isCompany: true,
      countryID: 250,
      VatNo: 'FR40303265045',
    })
    const { customerID } = added.body
    expect(added.body.VatNoStatus).toBe('valid')
    const { body: invoice } = await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 1770 }] })
    const { body: note } = await client.post('/v1/credits', creditOf(customerID, 1, { Date: invoice.InvoiceDate }))
    const frozen = () =>
      service.db.reader(client.id).rows(sql`
        select i.customer_country_id as "country", i.customer_state_id as "state", i.customer_vat_number as "number", t.category, t.reason_code as "code",
               t.tax_rule_id = (select tax_rule_id from tax_rules where account_id = ${client.id} and area = 'EU' and applies_to = 'business') as "isRule",
               n.customer_country_id as "noteCountry", n.customer_vat_number as "noteNumber"
          from invoices i join invoice_taxes t on t.account_id = ${client.id} and t.invoice_id = i.invoice_id
          join negative_adjustments n on n.account_id = ${client.id} and n.negative_adjustment_id = ${note.creditNoteID}
         where i.account_id = ${client.id}`)
    const expected = {
      country: 250n,
      state: null,
      number: 'FR40303265045',
      category: 'AE',
      code: 'VATEX-EU-AE',
      isRule: true,
      noteCountry: 250n,
      noteNumber: 'FR40303265045',
    }
    expect(await frozen()).toEqual([expected])
    await client.put(`/v1/customers/${customerID}`, { Name: 'SAS', isCompany: true, countryID: 276 })
    expect((await client.post(`/v1/customers/${customerID}/anonymise`)).status).toBe(204)
    expect(await frozen()).toEqual([expected])
    const { body } = await client.get(`/v1/invoices/${invoice.invoiceID}/explanation`)
    expect(body.Taxes[0]).toMatchObject({
      Name: 'USt',
      Perc: 0,
      Base: 1770,
      Amount: 0,
      Category: 'AE',
      ReasonCode: 'VATEX-EU-AE',
      Reason: null,
    })
  })
})

describe('the run', () => {
  test('finds the same taxes as previews and invoices by hand, and freezes the same; a credit note of the rules has its line of 0 %', async () => {
    const client = await germanSeller()
    const french = { Name: 'SAS', isCompany: true, countryID: 250, VatNo: 'FR40303265045' }
    await client.put('/v1/clock', { Now: '2027-01-01' })
    const subscription = await subscribe(client, { price: 31 }, {}, french)
    const { customerID, subscriptionID } = subscription
    const shown = ({ Taxes, Total }: any) => [
      Total,
      Taxes.map(({ Name, Perc, Base, TaxAmount, Category, Reason, ReasonCode }: any) => ({
        Name,
        Perc,
        Base,
        TaxAmount,
        Category,
        Reason,
        ReasonCode,
      })),
    ]
    const preview = (await client.get(`/v1/subscriptions/${subscriptionID}/preview`)).body
    await client.put('/v1/clock', { Now: '2027-02-01' })
    const invoices = (await client.get('/v1/invoices')).body
    const { body: byHand } = await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 31 }] })
    const reverse = {
      Name: 'USt',
      Perc: 0,
      Base: 31,
      TaxAmount: 0,
      Category: 'AE',
      Reason: null,
      ReasonCode: 'VATEX-EU-AE',
    }
    for (const invoice of [preview, ...invoices, byHand]) expect(shown(invoice)).toEqual([31, [reverse]])
    const RecurInvoiceCharges = [{ UnitCostEx: 31 }]
    const { body: recurring } = await client.post('/v1/recurring-invoices', { customerID, RecurInvoiceCharges })
    const [made] = (await client.get(`/v1/invoices?recurInvoiceID=${recurring.recurInvoiceID}`)).body
    expect(shown(made)).toEqual([31, [reverse]])
    const places = await service.db.reader(client.id).rows(sql`
      select distinct customer_country_id as "country", customer_vat_number as "number" from invoices where account_id = ${client.id}`)
    expect(places).toEqual([{ country: 250n, number: 'FR40303265045' }])
    await client.put(`/v1/subscriptions/${subscriptionID}/cancel/prorata`)
    const [note] = (await client.get('/v1/credits')).body
    expect((await client.get(`/v1/credits/${note.creditNoteID}/explanation`)).body).toMatchObject({ Net: 31 })
    expect(await differencesOf(service, client)).toEqual([])
  })
})

describe('taxes that a caller writes', () => {
  const customerOf = async (client: TestClient) =>
    (await client.post('/v1/customers', { Name: 'Acme', isCompany: true })).body.customerID

  test('may have a category and a reason, on invoices and recurring invoices, and come back unchanged', async () => {
    const client = await service.newAccount()
    const customerID = await customerOf(client)
    const Taxes = [{ Name: 'VAT', Perc: 0, Category: 'E', Reason: { en: 'Exempt', de: 'Steuerfrei' } }]
    const { body: draft } = await client.post('/v1/invoices', {
      customerID,
      isDraft: true,
      Charges: [{ UnitCostEx: 10 }],
      Taxes,
    })
    expect(draft.Taxes[0]).toMatchObject({ ...Taxes[0], Base: 10, TaxAmount: 0, ReasonCode: null })
    expect((await client.put(`/v1/invoices/${draft.invoiceID}`, draft)).status).toBe(204)
    await client.put(`/v1/invoices/${draft.invoiceID}/issue`)
    const { body: issued } = await client.get(`/v1/invoices/${draft.invoiceID}`)
    expect(issued.Taxes[0]).toMatchObject(Taxes[0]!)
    expect((await client.put(`/v1/invoices/${draft.invoiceID}`, issued)).status).toBe(204)
    const other = { ...issued, Taxes: [{ ...issued.Taxes[0], Reason: { en: 'Other' } }] }
    expect((await client.put(`/v1/invoices/${draft.invoiceID}`, other)).status).toBe(409)
    const { body: recurring } = await client.post('/v1/recurring-invoices', {
      customerID,
      RecurInvoiceCharges: [{ UnitCostEx: 10 }],
      Taxes,
    })
    expect(recurring.Taxes[0]).toMatchObject(Taxes[0]!)
    const [made] = (await client.get(`/v1/invoices?recurInvoiceID=${recurring.recurInvoiceID}`)).body
    expect(made.Taxes[0]).toMatchObject(Taxes[0]!)
  })

  test('follow the rules of categories only where they name one', async () => {
    const client = await service.newAccount()
    const customerID = await customerOf(client)
    const add = async (tax: object) => {
      const { status, body } = await client.post('/v1/invoices', {
        customerID,
        Charges: [{ UnitCostEx: 10 }],
        Taxes: [{ Name: 'VAT', ...tax }],
      })
      return status === 201 ? body.Taxes[0].Category : [status, body.Errors[0].Field]
    }
    expect(await add({ Perc: 0 })).toBe('Z')
    expect(await add({ Perc: 0.1 })).toBe('S')
    expect(await add({ Perc: 0.1, Category: 'AE' })).toEqual([400, 'Taxes[0].Category'])
    expect(await add({ Perc: 0, Category: 'S' })).toEqual([400, 'Taxes[0].Category'])
    expect(await add({ Perc: 0, Category: 'E' })).toEqual([400, 'Taxes[0].Reason'])
    expect(await add({ Perc: 0, Category: 'K' })).toBe('K')
  })
})

describe('customers that are exempt', () => {
  const put = (client: TestClient, id: number, more: object) =>
    client.put(`/v1/customers/${id}`, { Name: 'Acme', isCompany: true, ...more })

  test.each([
    [{ TaxCategory: 'AE' }, 'TaxCategory'],
    [{ isWaiveTaxes: false, TaxCategory: 'AE' }, 'TaxCategory'],
    [{ isWaiveTaxes: true, TaxCategory: 'S' }, 'TaxCategory'],
    [{ isWaiveTaxes: true, TaxCategory: 'E' }, 'TaxReason'],
    [{ isWaiveTaxes: true, TaxReason: 'Embassy' }, 'TaxReason'],
    [{ TaxReason: 'Embassy' }, 'TaxReason'],
  ])('%j is refused at %s', async (fields, field) => {
    const client = await service.newAccount()
    const { status, body } = await client.post('/v1/customers', { Name: 'Acme', isCompany: true, ...fields })
    expect([status, body.Errors.map(({ Field }: any) => Field)]).toEqual([400, [field]])
  })

  test('keep their category while an edit leaves it out, and lose it with isWaiveTaxes', async () => {
    const client = await service.newAccount()
    const exempt = { isWaiveTaxes: true, TaxCategory: 'e', TaxReason: 'Embassy' }
    const { body } = await client.post('/v1/customers', { Name: 'Acme', isCompany: true, ...exempt })
    const read = async () => {
      const { TaxCategory, TaxReason, isWaiveTaxes } = (await client.get(`/v1/customers/${body.customerID}`)).body
      return [isWaiveTaxes, TaxCategory, TaxReason]
    }
    expect(await read()).toEqual([true, 'E', 'Embassy'])
    expect((await put(client, body.customerID, { isWaiveTaxes: true })).status).toBe(204)
    expect(await read()).toEqual([true, 'E', 'Embassy'])
    expect((await put(client, body.customerID, { isWaiveTaxes: true, TaxReason: null })).status).toBe(400)
    expect((await put(client, body.customerID, { isWaiveTaxes: true, TaxCategory: 'O', TaxReason: null })).status).toBe(
      204,
    )
    expect(await read()).toEqual([true, 'O', null])
    expect((await put(client, body.customerID, {})).status).toBe(204)
    expect(await read()).toEqual([false, null, null])
  })

  test('say what their number is, and none is refused but one that is too long', async () => {
    const client = await service.newAccount()
    const statusOf = async (fields: object) =>
      (await client.post('/v1/customers', { Name: 'Acme', isCompany: true, ...fields })).body.VatNoStatus
    expect(await statusOf({ countryID: 276, VatNo: 'de 136-695-976' })).toBe('valid')
    expect(await statusOf({ countryID: 276, VatNo: 136695977 })).toBe('invalid')
    expect(await statusOf({ countryID: 840, VatNo: '12-3456789' })).toBe('unknown')
    expect(await statusOf({ countryID: 300, VatNo: 'EL094259216' })).toBe('valid')
    expect(await statusOf({ countryID: 276 })).toBeNull()
    const { status, body } = await client.post('/v1/customers', {
      Name: 'A',
      isCompany: true,
      VatNo: 'D'.repeat(65_536),
    })
    expect([status, body.Errors[0].Field]).toEqual([400, 'VatNo'])
  })
})
