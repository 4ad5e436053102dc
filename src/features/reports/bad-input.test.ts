import { describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'

/** Refusals of all reports, each with the parameter that it is about. */

const service = await startTestService()

const OF_PERIODS = ['tax', 'trialbalance', 'revenue']
const OF_DAYS = ['ageing', 'deferred']

const GROUPED = ['tax', 'ageing', 'revenue', 'deferred']

const refusalOf = async (report: string, query: string) => {
  const client = await service.newAccount()
  const { status, body } = await client.get(`/v1/reports/${report}?${query}`)
  return [status, body.Errors?.[0].Code, body.Errors?.[0].Field]
}

describe.each([...OF_PERIODS, ...OF_DAYS])('%s', (report) => {
  test.each([
    ['another form', 'format=xml', 'unknown_word', 'format'],
    ['another locale', 'format=csv&locale=fr', 'unknown_word', 'locale'],
    ['a currency of another kind', 'currency=dollars', 'unknown_currency', 'currency'],
    ['a currency that the account does not have', 'currency=GBP', 'currency_unknown', 'currency'],
    ['a parameter that is none', 'form=2027-01-01', 'unknown_parameter', 'form'],
  ])('%s is 400', async (_, query, code, field) => {
    expect(await refusalOf(report, query)).toEqual([400, code, field])
  })
})

describe.each(OF_PERIODS)('%s', (report) => {
  test.each([
    ['from after to', 'from=2027-02-01&to=2027-01-01', 'dates_reversed'],
    ['a day that is none', 'from=2027-02-30', 'invalid_date'],
    ['a year before 1900', 'from=1899-12-31&to=2027-01-01', 'invalid_date'],
  ])('%s is 400', async (_, query, code) => {
    expect(await refusalOf(report, query)).toEqual([400, code, 'from'])
  })

  test('a year after 2999 is 400, and the years from 1900 to 2999 are a period as any other', async () => {
    expect(await refusalOf(report, 'to=3000-01-01')).toEqual([400, 'invalid_date', 'to'])
    const client = await service.newAccount()
    expect(await client.get(`/v1/reports/${report}?from=1900-01-01&to=2999-12-31`)).toMatchObject({
      status: 200,
      body: [],
    })
  })
})

test.each(GROUPED)('%s by what it has no rows for is 400', async (report) => {
  expect(await refusalOf(report, 'by=weekday')).toEqual([400, 'unknown_word', 'by'])
})

describe.each(OF_DAYS)('%s', (report) => {
  test('a day that is none is 400, and any of the years from 1900 to 2999 is one', async () => {
    expect(await refusalOf(report, 'date=2027-02-30')).toEqual([400, 'invalid_date', 'date'])
    expect(await refusalOf(report, 'date=3000-01-01')).toEqual([400, 'invalid_date', 'date'])
    const client = await service.newAccount()
    for (const day of ['1900-01-01', '2999-12-31'])
      expect(await client.get(`/v1/reports/${report}?date=${day}`)).toMatchObject({ status: 200, body: [] })
  })
})
