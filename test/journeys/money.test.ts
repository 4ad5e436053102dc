import { describe, expect, test } from 'vitest'
import { addTax, checkBooks, invoicesOf, moveTo, rowsOf, subscribe } from '../support/shop.ts'
import { startTestService } from '../support/app.ts'

/** Currencies without, with two and with three decimals, taxes and their rounding. */

const service = await startTestService()
const accountAt = (date: string) => service.newAccount({ clockAt: `${date}T08:00:00.000Z` })

describe('currencies', () => {
  test('yen have no decimals: half of 100.5 is 50, the whole 101', async () => {
    const client = await accountAt('2027-02-15')
    await addTax(client, 'Consumption tax', { Perc: 0.1 })
    await subscribe(client, { currency: 'JPY', price: 100.5 }, { firstProrataSyncDate: '2027-03-01' })
    await moveTo(client, '2027-03-01')
    expect(await rowsOf(client)).toEqual([
      '2027-02-15: 2027-02-15 to 2027-02-28, 14 of 28 days 50 = 55',
      '2027-03-01: 2027-03-01 to 2027-03-31 101 = 111',
    ])
    const [, whole] = await invoicesOf(client)
    expect(whole.Charges[0]).toMatchObject({ UnitCostEx: 100.5, Qty: 1, AmountEx: 101, AmountInc: 111 })
    await checkBooks(service, client)
  })

  test('dinars have three: prices may have more and are rounded once', async () => {
    const client = await accountAt('2027-01-22')
    await subscribe(client, { currency: 'KWD', price: 9.9995, setupFee: 0.125 }, { firstProrataSyncDate: '2027-02-01' })
    await moveTo(client, '2027-02-01')
    expect(await rowsOf(client)).toEqual([
      '2027-01-22: Set-up fee 0.125 + 2027-01-22 to 2027-01-31, 10 of 31 days 3.226 = 3.351',
      '2027-02-01: 2027-02-01 to 2027-02-28 10 = 10',
    ])
    await checkBooks(service, client)
  })

  test('one account bills several, and never adds them up', async () => {
    const client = await accountAt('2027-01-01')
    const yen = await subscribe(client, { currency: 'JPY', price: 1000 })
    const dollars = await subscribe(client, { currency: 'USD', price: 10 })
    await moveTo(client, '2027-02-01')
    const balances = []
    for (const { customerID } of [yen, dollars])
      balances.push((await client.get(`/v1/customers/${customerID}`)).body.Balance)
    expect(balances).toEqual([2000, 20])
    expect((await invoicesOf(client)).map(({ CurrencyCode, Total }) => `${CurrencyCode} ${Total}`)).toEqual([
      'JPY 1000',
      'USD 10',
      'JPY 1000',
      'USD 10',
    ])
  })

  test('a package that costs nothing is billed and makes no invoice; its set-up fee makes one', async () => {
    const client = await accountAt('2027-01-01')
    await subscribe(client, { price: 0 })
    await subscribe(client, { price: 0, setupFee: 8 })
    await subscribe(client, { price: 0.004 })
    expect(await moveTo(client, '2027-12-31')).toMatchObject({ Invoices: 0, Renewals: 33 })
    expect(await rowsOf(client)).toEqual(['2027-01-01: Set-up fee 8 = 8'])
  })

  test('a piece that rounds to nothing leaves the rest of the year as it is', async () => {
    const client = await accountAt('2027-01-31')
    await subscribe(client, { price: 0.1 }, { firstProrataSyncDate: '2027-02-01' })
    await moveTo(client, '2027-03-01')
    expect(await rowsOf(client)).toEqual([
      '2027-02-01: 2027-02-01 to 2027-02-28 0.1 = 0.1',
      '2027-03-01: 2027-03-01 to 2027-03-31 0.1 = 0.1',
    ])
  })
})

describe('taxes', () => {
  test('each is rounded by itself on the sum of the lines, and one of 0 % is listed', async () => {
    const client = await accountAt('2027-01-01')
    for (const [name, Perc] of [
      ['State', 0.08875],
      ['County', 0.02125],
      ['District', 0.005],
      ['Nothing', 0],
    ] as const)
      await addTax(client, name, { Perc })
    await subscribe(client, { price: 99.99 })
    const [invoice] = await invoicesOf(client)
    expect(invoice.Taxes.map(({ Name, Perc }: any) => [Name, Perc])).toEqual([
      ['State', 0.08875],
      ['County', 0.02125],
      ['District', 0.005],
      ['Nothing', 0],
    ])
    // 8.87 + 2.12 + 0.50 + 0.00
    expect(invoice).toMatchObject({ Total: 111.48, Balance: 111.48 })
    await checkBooks(service, client)
  })

  test('lines share a tax so that they add up to the total exactly', async () => {
    const client = await accountAt('2027-01-01')
    await addTax(client, 'VAT', { Perc: 0.15 })
    await subscribe(client, { price: 3.33, setupFee: 10.1 })
    const [invoice] = await invoicesOf(client)
    // 13.43 × 15 % = 2.0145, so 2.01: 1.51 and, with the larger remainder, 0.50.
    expect(invoice.Charges.map(({ AmountEx, AmountInc }: any) => [AmountEx, AmountInc])).toEqual([
      [10.1, 11.61],
      [3.33, 3.83],
    ])
    expect(invoice.Total).toBe(15.44)
    await checkBooks(service, client)
  })

  test('follow the place: state before country before everywhere, one rule a setting', async () => {
    const client = await accountAt('2027-01-01')
    const states = (await client.get('/v1/countries/840/states')).body
    const [{ countryStateID }] = states
    await addTax(
      client,
      'Sales',
      { Perc: 0.01 },
      { Perc: 0.05, countryID: 840 },
      { Perc: 0.0725, countryID: 840, countryStateID },
    )
    await addTax(client, 'Levy', { Perc: 0.02, countryID: 276 })
    const wish = { price: 100 }
    await subscribe(client, wish, {}, { countryID: 840, countryStateID })
    await subscribe(client, wish, {}, { countryID: 840 })
    await subscribe(client, wish, {}, { countryID: 276 })
    await subscribe(client, wish, {}, { countryID: 840, isWaiveTaxes: true })
    const invoices = await invoicesOf(client)
    expect(invoices.map(({ Total, Taxes }) => [Total, Taxes.map(({ Name }: any) => Name)])).toEqual([
      [107.25, ['Sales']],
      [105, ['Sales']],
      [103, ['Sales', 'Levy']],
      [100, []],
    ])
  })

  test('are those of the day of issue: a new rate counts from the next invoice', async () => {
    const client = await accountAt('2027-01-01')
    const setting = await addTax(client, 'VAT', { Perc: 0.15 })
    const { customerID } = await subscribe(client, { price: 100 })
    await client.put(`/v1/tax/${setting}`, { Name: 'VAT', rules: [{ Perc: 0.16 }] })
    await moveTo(client, '2027-02-01')
    await client.put(`/v1/customers/${customerID}`, { Name: 'Ada', LastName: 'Lovelace', isWaiveTaxes: true })
    await moveTo(client, '2027-03-01')
    expect((await invoicesOf(client)).map(({ Total }) => Total)).toEqual([115, 116, 100])
  })
})
