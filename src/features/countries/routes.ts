import { COUNTRIES, type Country, statesOf } from '../../kernel/countries.ts'
import { missing } from '../../kernel/fault.ts'
import { pathId } from '../../platform/http/handle.ts'
import { type Answer, type Operation, type PathParams, lookupOperation } from '../../platform/http/operation.ts'
import { listAnswer } from '../../platform/http/paging.ts'
import { listQuery, pageOf } from '../../platform/http/query.ts'
import { CountriesOut, countryToWire, StatesOut, stateToWire } from './wire.ts'

const tag = 'Countries'

const unknownCountry = (id: bigint | string) => missing('country_unknown', `There is no country ${id}.`, 'countryID')

function foundCountry(params: PathParams): Country {
  const id = pathId(params, 'countryID', unknownCountry)
  const country = COUNTRIES.find(({ countryId }) => BigInt(countryId) === id)
  if (!country) throw unknownCountry(id)
  return country
}

/** All of a list that lies in memory, unless a page is asked for: whoever fills a choice with countries wants every one. */
function listedInMemory<Row>(
  all: readonly Row[],
  query: { page?: number | null; page_size?: number | null },
  url: string,
  write: (rows: Row[]) => string,
  publicUrl: string | undefined,
): Promise<Answer> {
  const isPaged = query.page != null || query.page_size != null
  const page = isPaged ? pageOf(query) : { page: 1, size: all.length }
  const first = (page.page - 1) * page.size
  const rows = all.slice(first, first + page.size + 1)
  return listAnswer({ rows, page, url, count: async () => all.length }, write, publicUrl)
}

export const countryOperations = (deps: { publicUrl: string | undefined }): Operation[] => [
  lookupOperation({
    id: 'listCountries',
    method: 'GET',
    path: '/v1/countries',
    tag,
    summary: 'List the countries that customers and tax rules can name',
    query: listQuery({}),
    success: { status: 200, schema: CountriesOut.schema },
    read: (_db, _context, { query, url }) =>
      listedInMemory(COUNTRIES, query, url, (some) => CountriesOut.write(some.map(countryToWire)), deps.publicUrl),
  }),
  lookupOperation({
    id: 'listCountryStates',
    method: 'GET',
    path: '/v1/countries/{countryID}/states',
    tag,
    summary: 'List the states of a country',
    query: listQuery({}),
    success: { status: 200, schema: StatesOut.schema },
    record: async (_db, _context, params) => foundCountry(params),
    read: (_db, _context, { params, query, url }) => {
      const states = statesOf(foundCountry(params).countryId)
      return listedInMemory(states, query, url, (some) => StatesOut.write(some.map(stateToWire)), deps.publicUrl)
    },
  }),
]
