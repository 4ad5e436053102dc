import { introduced } from '../../platform/http/tags.ts'
import { pathParameter } from '../../platform/http/path-parameters.ts'
import { conflict, invalid, missing } from '../../kernel/fault.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { refuseOn } from '../../platform/database/failures.ts'
import { type RequestContext, writingOf } from '../../kernel/context.ts'
import { listOperation } from '../../platform/http/list.ts'
import { type Operation, writeOperation } from '../../platform/http/operation.ts'
import { text } from '../../platform/wire/fields.ts'
import { objectOf, required } from '../../platform/wire/read.ts'
import { recordShape } from '../../platform/wire/columns.ts'
import { outText } from '../../platform/wire/write.ts'
import { type CustomLabel, dropCustomValues, labelKey } from '../customers/custom-value-queries.ts'
import { CUSTOM_FIELDS_MAX } from '../customers/wire.ts'
import { recordEvent } from '../events/record.ts'
import {
  countCustomFields,
  deleteCustomField,
  insertCustomField,
  listCustomFields,
  lockCustomField,
  lockLabels,
} from './queries.ts'
import { noContent } from '../../platform/http/answer.ts'

pathParameter('Key', 'The key of the custom field.', { type: 'string' })

const tag = introduced('Custom fields', 'Fields of your own for customers; each has a key, and each customer a value.')

const customFieldShape = recordShape<CustomLabel>()('CustomField', {
  Key: [outText('The label of the custom field, by which customers name it.'), ({ label }) => label],
})

/** Adds a label. Throws a Fault when the account has it, in whatever letter case, or has as many as it may. */
async function addLabel(tx: Transaction, context: RequestContext, label: string): Promise<string> {
  await lockLabels(tx, tx.account)
  if ((await countCustomFields(tx, tx.account)) >= CUSTOM_FIELDS_MAX)
    throw invalid('too_many_custom_fields', `An account may have at most ${CUSTOM_FIELDS_MAX} custom fields.`, 'Key')
  const field = await refuseOn(insertCustomField(tx, tx.account, label, labelKey(label)), {
    custom_fields_label_key: () =>
      conflict(
        'custom_field_taken',
        `This account has the custom field ${JSON.stringify(label)} already (letter case does not count).`,
        'Key',
      ),
  })
  const record = customFieldShape.write(field, writingOf(context))
  await recordEvent(tx, context, { type: 'custom_field.created', recordId: field.id, record })
  return record
}

export const customFieldOperations = (): Operation[] => [
  listOperation({
    id: 'listCustomFields',
    path: '/v1/customfields',
    tag,
    summary: 'List the labels of custom fields',
    out: customFieldShape,
    rows: listCustomFields,
    count: countCustomFields,
  }),
  writeOperation({
    id: 'addCustomField',
    method: 'POST',
    path: '/v1/customfields',
    tag,
    summary: 'Define a label that every customer can have a value for',
    body: objectOf(
      { Key: required(text(), 'The label of the custom field, by which customers name it.') },
      { name: 'CustomFieldInput' },
    ),
    success: { status: 201, schema: customFieldShape.schema },
    refusals: { 409: 'The account has a custom field of that name' },
    write: async (tx, context, { body }) => ({ status: 201, body: await addLabel(tx, context, body.Key) }),
  }),
  writeOperation({
    id: 'deleteCustomField',
    method: 'DELETE',
    path: '/v1/customfields/{Key}',
    tag,
    summary: 'Delete a label with the values that customers have for it',
    record: async (tx, _context, { params }) => {
      const label = params['Key'] ?? ''
      // What no label can be, PostgreSQL need not be asked for: it could not even read some of it.
      const field = label.includes('\0') ? undefined : await lockCustomField(tx, tx.account, label)
      if (!field)
        throw missing(
          'custom_field_unknown',
          `This account has no custom field ${JSON.stringify(label.slice(0, 255))}.`,
          'Key',
        )
      return field
    },
    write: async (tx, context, _input, field: CustomLabel) => {
      await dropCustomValues(tx, tx.account, field.id)
      await deleteCustomField(tx, tx.account, field.id)
      const record = customFieldShape.write(field, writingOf(context))
      await recordEvent(tx, context, { type: 'custom_field.deleted', recordId: field.id, record })
      return noContent()
    },
  }),
]
