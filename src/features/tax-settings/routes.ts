import { introduced } from '../../platform/http/tags.ts'
import { assert } from '../../kernel/assert.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { listOperation } from '../../platform/http/list.ts'
import { type Operation, writeOperation } from '../../platform/http/operation.ts'
import { recordKind } from '../../platform/http/record.ts'
import { recordChange } from '../events/record.ts'
import {
  countTaxSettings,
  deleteTaxSetting,
  findTaxSetting,
  insertTaxSetting,
  listTaxSettings,
  lockTaxSetting,
  replaceRules,
  type TaxSetting,
  updateTaxSetting,
} from './queries.ts'
import { checkRules } from './rules.ts'
import { rulesFromWire, taxSettingEtag, TaxSettingIn, taxSettingShape } from './wire.ts'
import { noContent } from '../../platform/http/answer.ts'

const tag = introduced('Tax settings', 'Taxes and the rules of where, and for whom, each rate holds.')

const taxSetting = recordKind({
  code: 'tax_setting',
  name: 'tax setting',
  param: 'taxSettingID',
  path: '/v1/tax',
  out: taxSettingShape,
  idOf: ({ id }) => id,
  find: (db, { account }, id) => findTaxSetting(db, account.id, id),
  lock: (tx, { account }, id) => lockTaxSetting(tx, account.id, id),
  etag: taxSettingEtag,
})

/** Reads a setting as it now is and records its event. */
async function recordWritten(
  tx: Transaction,
  context: RequestContext,
  type: 'tax_setting.created' | 'tax_setting.updated',
  id: bigint,
): Promise<TaxSetting> {
  const row = await findTaxSetting(tx, tx.account, id)
  assert(row, `tax setting ${id} exists`)
  await recordChange(tx, context, taxSetting, { type, row })
  return row
}

export const taxSettingOperations = (): Operation[] => [
  listOperation({
    id: 'listTaxSettings',
    path: '/v1/tax',
    tag,
    summary: 'List tax settings with their rules',
    out: taxSettingShape,
    rows: listTaxSettings,
    count: countTaxSettings,
  }),
  taxSetting.readOperation({ id: 'getTaxSetting', tag, summary: 'Read a tax setting' }),
  writeOperation({
    id: 'addTaxSetting',
    method: 'POST',
    path: '/v1/tax',
    tag,
    summary: 'Add a tax setting: one tax, with a rule for each place',
    body: TaxSettingIn,
    success: { status: 201, schema: taxSettingShape.schema },
    references: async (_tx, _context, { body }, problems) => checkRules(body.rules ?? [], undefined, problems),
    write: async (tx, context, { body }) => {
      const id = await insertTaxSetting(tx, tx.account, body.Name)
      const added = rulesFromWire(body.rules ?? []).map((rule) => ({ ...rule, id: null }))
      await replaceRules(tx, tx.account, id, added)
      return taxSetting.created(await recordWritten(tx, context, 'tax_setting.created', id), context)
    },
  }),
  writeOperation({
    ...taxSetting.editing,
    id: 'editTaxSetting',
    tag,
    summary: 'Replace a tax setting: rules with an identifier are edited, others added, those left out deleted',
    body: TaxSettingIn,
    references: async (_tx, _context, { body }, problems, present) => checkRules(body.rules ?? [], present, problems),
    write: async (tx, context, { body }, present) => {
      await updateTaxSetting(tx, tx.account, present.id, body.Name)
      // A list that is not sent stays as it is; an empty one empties.
      if (body.rules) await replaceRules(tx, tx.account, present.id, rulesFromWire(body.rules, present.rules))
      return taxSetting.edited(await recordWritten(tx, context, 'tax_setting.updated', present.id))
    },
  }),
  writeOperation({
    ...taxSetting.deleting,
    id: 'deleteTaxSetting',
    tag,
    summary: 'Delete a tax setting; taxes of issued invoices stay',
    write: async (tx, context, _input, setting) => {
      await recordChange(tx, context, taxSetting, { type: 'tax_setting.deleted', row: setting })
      await deleteTaxSetting(tx, tx.account, setting.id)
      return noContent()
    },
  }),
]
