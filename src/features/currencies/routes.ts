import { introduced } from '../../platform/http/tags.ts'
import { LEFT_OUT } from '../../platform/wire/left-out.ts'
import { SHARED } from '../../platform/wire/shared-sentences.ts'
import { type RequestContext, writingOf } from '../../kernel/context.ts'
import { conflict, missing } from '../../kernel/fault.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { lookupOperation, type Operation, writeOperation } from '../../platform/http/operation.ts'
import { currencyCode } from '../../platform/wire/fields.ts'
import { objectOf, optional } from '../../platform/wire/read.ts'
import { recordEvent } from '../events/record.ts'
import { currencyUses, deleteCurrency, insertCurrency, listCurrencies, lockCurrency } from './queries.ts'
import { CurrencyIn, currencyShape } from './wire.ts'
import { type Answer, noContent } from '../../platform/http/answer.ts'

const tag = introduced('Currencies', 'Currencies in which the account bills.')

// A currency has no identifier: it is named by its code, which is in the record.
const recordCurrencyEvent = (
  tx: Transaction,
  context: RequestContext,
  type: 'currency.added' | 'currency.deleted',
  currency: string,
) => recordEvent(tx, context, { type, recordId: 0n, record: currencyShape.write({ currency }, writingOf(context)) })

async function answerCurrencies(db: Queryable, context: RequestContext): Promise<Answer> {
  const currencies = await listCurrencies(db, context.account.id)
  return { status: 200, body: currencyShape.list.write(currencies, writingOf(context)) }
}

export const currencyOperations = (): Operation[] => [
  lookupOperation({
    id: 'listCurrencies',
    path: '/v1/currencies',
    tag,
    summary: 'List the currencies of the account',
    success: { status: 200, schema: currencyShape.list.schema },
    read: answerCurrencies,
  }),
  writeOperation({
    id: 'addCurrency',
    method: 'POST',
    path: '/v1/currencies',
    tag,
    summary: 'Add a currency to the account',
    body: CurrencyIn,
    success: { status: 201 },
    representation: { schema: currencyShape.list.schema, read: answerCurrencies },
    refusals: { 409: 'The account has this currency already' },
    write: async (tx, context, { body }) => {
      const added = await insertCurrency(tx, context.account.id, body.CurrencyCode)
      if (!added)
        throw conflict('currency_exists', `The account has the currency ${body.CurrencyCode} already.`, 'CurrencyCode')
      await recordCurrencyEvent(tx, context, 'currency.added', body.CurrencyCode)
      return { status: 201 }
    },
  }),
  writeOperation({
    id: 'deleteCurrency',
    method: 'DELETE',
    path: '/v1/currencies',
    tag,
    summary: 'Take a currency from the account',
    // The interface puts the code into the body; a client that cannot send one with DELETE uses the query.
    body: objectOf(
      { CurrencyCode: optional(currencyCode(), SHARED.CurrencyCode, LEFT_OUT.fromQuery) },
      { name: 'CurrencyChoice', ignored: ['Name'] },
    ),
    isBodyOptional: true,
    query: objectOf({
      CurrencyCode: optional(currencyCode(), 'The currency that is taken away.', 'Left out, the body names it.'),
    }),
    refusals: {
      404: 'The account does not have this currency',
      409: 'The currency is used, or is the default of the account',
    },
    references: async (_tx, _context, { body, query }, problems) => {
      const isRefused = problems.found.some(({ field }) => field === 'CurrencyCode')
      if (!isRefused && (body.CurrencyCode ?? query.CurrencyCode) == null)
        problems.add('required', 'CurrencyCode', 'CurrencyCode is required, in the body or in the query.')
    },
    write: async (tx, context, { body, query }) => {
      const code = (body.CurrencyCode ?? query.CurrencyCode) as string
      const { id: account } = context.account
      if (!(await lockCurrency(tx, account, code)))
        throw missing('currency_unknown', `The account does not have the currency ${code}.`, 'CurrencyCode')
      const uses = await currencyUses(tx, account, code)
      if (uses.isDefault)
        throw conflict('currency_default', `${code} is the default currency of the account.`, 'CurrencyCode')
      const used = [
        uses.rates && 'a package rate',
        uses.components && 'a component price',
        uses.customers && 'a customer',
        uses.recurring && 'a recurring invoice',
        uses.invoices && 'a money record',
      ].find(Boolean)
      if (used) throw conflict('currency_used', `${code} is used by ${used} and cannot be deleted.`, 'CurrencyCode')
      await deleteCurrency(tx, account, code)
      await recordCurrencyEvent(tx, context, 'currency.deleted', code)
      return noContent()
    },
  }),
]
