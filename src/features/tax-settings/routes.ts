import { assert } from '../../kernel/assert.ts'
import { missing } from '../../kernel/fault.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../platform/http/context.ts'
import { pathId } from '../../platform/http/handle.ts'
import {
  noContent,
  type Operation,
  type PathParams,
  readOperation,
  writeOperation,
} from '../../platform/http/operation.ts'
import { listAnswer } from '../../platform/http/paging.ts'
import { listQuery, pageOf } from '../../platform/http/query.ts'
import type { EventType } from '../events/queries.ts'
import { recordEvent } from '../events/record.ts'
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
import { rulesFromWire, taxSettingEtag, TaxSettingIn, TaxSettingOut, TaxSettingsOut, taxSettingToWire } from './wire.ts'

const tag = 'Tax settings'

const unknownSetting = (id: bigint | string) =>
  missing('tax_setting_unknown', `There is no tax setting ${id}.`, 'taxSettingID')

const settingId = (params: PathParams): bigint => pathId(params, 'taxSettingID', unknownSetting)

async function lockedSetting(tx: Transaction, params: PathParams): Promise<TaxSetting> {
  const id = settingId(params)
  const setting = await lockTaxSetting(tx, tx.account, id)
  if (!setting) throw unknownSetting(id)
  return setting
}

/** Writes the event of a setting as it now is, and answers both. */
async function recordSetting(
  tx: Transaction,
  context: RequestContext,
  type: EventType,
  id: bigint,
): Promise<{ setting: TaxSetting; json: string }> {
  const setting = await findTaxSetting(tx, tx.account, id)
  assert(setting, `tax setting ${id} exists`)
  const json = TaxSettingOut.write(taxSettingToWire(setting))
  await recordEvent(tx, context, { type, recordId: id, record: json })
  return { setting, json }
}

export const taxSettingOperations = (deps: { publicUrl: string | undefined }): Operation[] => [
  readOperation({
    id: 'listTaxSettings',
    method: 'GET',
    path: '/v1/tax',
    tag,
    summary: 'List tax settings with their rules',
    query: listQuery({}),
    success: { status: 200, schema: TaxSettingsOut.schema },
    read: async (db, { account }, { query, url }) => {
      const page = pageOf(query)
      const rows = await listTaxSettings(db, account.id, (page.page - 1) * page.size, page.size + 1)
      return listAnswer(
        { rows, page, url, count: () => countTaxSettings(db, account.id) },
        (some) => TaxSettingsOut.write(some.map(taxSettingToWire)),
        deps.publicUrl,
      )
    },
  }),
  readOperation({
    id: 'getTaxSetting',
    method: 'GET',
    path: '/v1/tax/{taxSettingID}',
    tag,
    summary: 'Read a tax setting',
    success: { status: 200, schema: TaxSettingOut.schema },
    read: async (db, { account }, { params }) => {
      const id = settingId(params)
      const setting = await findTaxSetting(db, account.id, id)
      if (!setting) throw unknownSetting(id)
      return { status: 200, body: TaxSettingOut.write(taxSettingToWire(setting)), etag: taxSettingEtag(setting) }
    },
  }),
  writeOperation({
    id: 'addTaxSetting',
    method: 'POST',
    path: '/v1/tax',
    tag,
    summary: 'Add a tax setting: one tax, with a rule for each place',
    body: TaxSettingIn,
    success: { status: 201, schema: TaxSettingOut.schema },
    references: async (_tx, _context, { body }, problems) => checkRules(body.rules ?? [], undefined, problems),
    write: async (tx, context, { body }) => {
      const id = await insertTaxSetting(tx, tx.account, body.Name)
      const added = rulesFromWire(body.rules ?? []).map((rule) => ({ ...rule, id: null }))
      await replaceRules(tx, tx.account, id, added)
      const { setting, json } = await recordSetting(tx, context, 'tax_setting.created', id)
      return { status: 201, body: json, etag: taxSettingEtag(setting), headers: { location: `/v1/tax/${id}` } }
    },
  }),
  writeOperation({
    id: 'editTaxSetting',
    method: 'PUT',
    path: '/v1/tax/{taxSettingID}',
    tag,
    summary: 'Replace a tax setting: rules with an identifier are edited, others added, those left out deleted',
    body: TaxSettingIn,
    success: { status: 204 },
    record: (tx, _context, { params }) => lockedSetting(tx, params),
    etag: taxSettingEtag,
    references: async (_tx, _context, { body }, problems, present) => checkRules(body.rules ?? [], present, problems),
    write: async (tx, context, { body }, present: TaxSetting) => {
      await updateTaxSetting(tx, tx.account, present.id, body.Name)
      // A list that is not sent stays as it is; an empty one empties.
      if (body.rules) await replaceRules(tx, tx.account, present.id, rulesFromWire(body.rules))
      const { setting } = await recordSetting(tx, context, 'tax_setting.updated', present.id)
      return noContent(taxSettingEtag(setting))
    },
  }),
  writeOperation({
    id: 'deleteTaxSetting',
    method: 'DELETE',
    path: '/v1/tax/{taxSettingID}',
    tag,
    summary: 'Delete a tax setting; taxes of issued invoices stay',
    success: { status: 204 },
    record: (tx, _context, { params }) => lockedSetting(tx, params),
    etag: taxSettingEtag,
    write: async (tx, context, _input, setting: TaxSetting) => {
      await recordSetting(tx, context, 'tax_setting.deleted', setting.id)
      await deleteTaxSetting(tx, tx.account, setting.id)
      return noContent()
    },
  }),
]
