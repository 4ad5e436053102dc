import { introduced } from '../../platform/http/tags.ts'
import type { Problems } from '../../kernel/fault.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { listOperation } from '../../platform/http/list.ts'
import { type Operation, readOperation, writeOperation } from '../../platform/http/operation.ts'
import { checkCurrencyHeld } from '../currencies/held.ts'
import { checkCustomerReference, ofCustomerInPath } from '../customers/record.ts'
import type { Asked, NegativeRecord, OwedDocument } from '../money/types.ts'
import { entriesFromWire, ENTRY_NAMES } from '../money/allocation-wire.ts'
import { explainNote } from '../money/note-paper.ts'
import { CREDIT_NOTE_LIST } from '../money/lists.ts'
import { addNegative, editNegative, removeNegative } from '../money/negative-adjustments.ts'
import { resolveAsked, resolveCredited } from '../money/resolve.ts'
import { checkSameCustomer } from '../money/rules.ts'
import { creditNoteShape } from '../money/shapes.ts'
import { creditNote } from './record.ts'
import {
  type CreditNoteBody,
  creditNoteFromWire,
  CreditExplanationOut,
  creditExplanationToWire,
  CreditNoteEdit,
  CreditNoteIn,
  type SentNote,
} from './wire.ts'
import { noContent } from '../../platform/http/answer.ts'

const tag = introduced('Credit notes', 'Documents that take back invoices, whole or in part, with their tax.')

const list = { tag, ...CREDIT_NOTE_LIST }

const reading: Operation[] = [
  listOperation({
    ...list,
    id: 'listCustomerCredits',
    path: '/v1/customers/{customerID}/credits',
    summary: 'List the credit notes of a customer',
    parent: ofCustomerInPath,
  }),
  listOperation({ ...list, id: 'listCredits', path: '/v1/credits', summary: 'List credit notes' }),
  creditNote.readOperation({ id: 'getCredit', tag, summary: 'Read a credit note' }),
  readOperation({
    id: 'explainCredit',
    path: '/v1/credits/{creditNoteID}/explanation',
    tag,
    summary: 'Explain what a credit note gives back, tax by tax',
    success: { status: 200, schema: CreditExplanationOut.schema },
    read: async (db, context, { params }) => {
      const { id, timeZone } = context.account
      const explained = await explainNote(db, id, await creditNote.found(db, context, params))
      return { status: 200, body: CreditExplanationOut.write(creditExplanationToWire(explained, timeZone)) }
    },
  }),
]

/** Credit note and allocations that a body asks for; undefined where they are wrong. */
interface Resolved {
  wanted: SentNote | undefined
  asked: Asked | undefined
}

async function resolveNote(
  tx: Transaction,
  body: Partial<CreditNoteBody>,
  problems: Problems,
  present: NegativeRecord | null,
): Promise<Resolved> {
  await checkCustomerReference(tx, body.customerID, problems)
  await checkCurrencyHeld(tx, body.CurrencyCode, problems)
  const wanted = creditNoteFromWire(body, problems)
  const wish = {
    isAuto: body.AutoApply === true,
    order: 'invoices_only' as const,
    entries: body.Allocations && entriesFromWire(body.Allocations),
  }
  const record = { currency: body.CurrencyCode, present: present?.allocations ?? null }
  return { wanted, asked: await resolveAsked(tx, wish, record, ENTRY_NAMES, problems) }
}

const writing: Operation[] = [
  writeOperation({
    id: 'addCredit',
    method: 'POST',
    path: '/v1/credits',
    tag,
    summary: 'Add a credit note',
    body: CreditNoteIn,
    success: { status: 201, schema: creditNoteShape.schema },
    references: async (tx, _context, { body }, problems): Promise<Resolved & { forInvoice: OwedDocument | null }> => ({
      ...(await resolveNote(tx, body, problems, null)),
      forInvoice: await resolveCredited(tx, body.invoiceID, problems),
    }),
    write: async (tx, context, _input, _record, { wanted, asked, forInvoice }) => {
      const { memo = null, reason = null, ...sent } = wanted as SentNote
      const added = { ...sent, memo, reason, forInvoice }
      return creditNote.created(await addNegative(tx, context, added, asked as Asked), context)
    },
  }),
  writeOperation({
    ...creditNote.editing,
    id: 'editCredit',
    tag,
    summary:
      'Correct a credit note and its allocations; of a closed one number, memo and allocations, of a sent one the allocations',
    body: CreditNoteEdit,
    references: (tx, _context, { body }, problems, present) => resolveNote(tx, body, problems, present),
    write: async (tx, context, _input, present, { wanted, asked }: Resolved) => {
      const { customerId, kind: _kind, ...edit } = wanted as SentNote
      checkSameCustomer(`Credit note ${present.id}`, present.customerId, customerId)
      return creditNote.edited(await editNegative(tx, context, present, edit, asked as Asked))
    },
  }),
  writeOperation({
    ...creditNote.deleting,
    id: 'deleteCredit',
    tag,
    summary:
      'Delete a credit note that was not sent; what it paid is open again, what it corrected can be credited again',
    write: async (tx, context, _input, present) => {
      await removeNegative(tx, context, present)
      return noContent()
    },
  }),
]

export const creditNoteOperations = (): Operation[] => [...reading, ...writing]
