import { introduced } from '../../platform/http/tags.ts'
import { filter } from '../../platform/wire/left-out.ts'
import { COUNTRIES, statesOf } from '../../kernel/countries.ts'
import { memoryAnswer } from '../../platform/http/list.ts'
import { type Operation, readOperation } from '../../platform/http/operation.ts'
import { listQuery } from '../../platform/http/query.ts'
import { readableKind } from '../../platform/http/record.ts'
import { text } from '../../platform/wire/fields.ts'
import { countryShape, stateShape } from './wire.ts'

const tag = introduced('Countries', 'The countries and their subdivisions, by the identifiers that addresses use.')

const country = readableKind({
  code: 'country',
  name: 'country',
  identified: 'country (its numeric code of ISO 3166-1)',
  param: 'countryID',
  path: '/v1/countries',
  out: countryShape,
  idOf: ({ countryId }) => BigInt(countryId),
  find: async (_db, _context, id) => COUNTRIES.find(({ countryId }) => BigInt(countryId) === id),
})

export const countryOperations = (): Operation[] => [
  readOperation({
    id: 'listCountries',
    path: '/v1/countries',
    tag,
    summary: 'List the countries that customers and tax rules can name',
    query: listQuery({
      Code: filter(text(), 'the country with this code (ISO 3166-1, two letters)'),
    }),
    success: { status: 200, schema: countryShape.list.schema },
    read: (_db, context, { query, url }) => {
      const wanted = query.Code?.toUpperCase()
      const found = wanted == null ? COUNTRIES : COUNTRIES.filter(({ code }) => code === wanted)
      return memoryAnswer(found, countryShape, context, query, url)
    },
  }),
  readOperation({
    id: 'listCountryStates',
    path: '/v1/countries/{countryID}/states',
    tag,
    summary: 'List the states of a country',
    query: listQuery({}),
    success: { status: 200, schema: stateShape.list.schema },
    record: country.found,
    read: async (db, context, { params, query, url }) => {
      const { countryId } = await country.found(db, context, params)
      return memoryAnswer(statesOf(countryId), stateShape, context, query, url)
    },
  }),
]
