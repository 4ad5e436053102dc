import type { AllocationState } from '../../engine/money/allocation-effects.ts'
import { conflict, type Problems } from '../../kernel/fault.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { pathId } from '../../platform/http/handle.ts'
import type { PageStart } from '../../platform/http/paging.ts'
import {
  type Answer,
  noContent,
  type Operation,
  type PathParams,
  lookupOperation,
  readOperation,
  writeOperation,
} from '../../platform/http/operation.ts'
import { checkCustomerReference, foundCustomerId } from '../customers/record.ts'
import { checkCurrencyHeld } from '../currencies/held.ts'
import {
  countNegatives,
  type GivenFilter,
  listNegatives,
  type NegativeAdjustment,
  type NewNegative,
} from '../money/adjustment-queries.ts'
import type { Asked } from '../money/allocate.ts'
import { listAllocationsOfGiven } from '../money/allocation-queries.ts'
import { entriesFromWire, ENTRY_NAMES } from '../money/allocation-wire.ts'
import { chooseAsked } from '../money/choose.ts'
import { answerGiven, GivenQuery } from '../money/given-list.ts'
import { CreditNoteOut, creditNoteToWire } from '../money/negative-wire.ts'
import { addNegative, editNegative, lockedNegative, type NegativeRecord, removeNegative } from '../money/negatives.ts'
import { explainNote } from './explain.ts'
import { foundNote, unknownNote } from './found.ts'
import {
  type CreditNoteBody,
  creditNoteEtag,
  creditNoteFromWire,
  CreditExplanationOut,
  creditExplanationToWire,
  CreditNoteIn,
  CreditNotesOut,
} from './wire.ts'

const tag = 'Credit notes'

const notesOf = (db: Queryable, { id, timeZone }: { id: AccountId; timeZone: string }) => ({
  kind: 'negative_adjustment' as const,
  list: (filter: GivenFilter, { skip }: PageStart, limit: number) =>
    listNegatives(db, id, { ...filter, kind: 'credit_note' }, skip, limit),
  count: (filter: GivenFilter) => countNegatives(db, id, { ...filter, kind: 'credit_note' }),
  write: (notes: NegativeAdjustment[], allocationsOf: (id: Id) => readonly AllocationState[]) =>
    CreditNotesOut.write(notes.map((note) => creditNoteToWire(note, allocationsOf(note.id), timeZone))),
})

async function lockedNote(tx: Transaction, params: PathParams): Promise<NegativeRecord> {
  const id = pathId(params, 'creditNoteID', unknownNote)
  const record = await lockedNegative(tx, id)
  if (record?.negative.kind !== 'credit_note') throw unknownNote(id)
  return record
}

const etagOfRecord = ({ negative, allocations }: NegativeRecord): string => creditNoteEtag(negative, allocations)

const answerOf = (status: number, record: NegativeRecord, timeZone: string): Answer => ({
  status,
  body: CreditNoteOut.write(creditNoteToWire(record.negative, record.allocations, timeZone)),
  etag: etagOfRecord(record),
})

const reading = (publicUrl: string | undefined): Operation[] => [
  readOperation({
    id: 'listCustomerCredits',
    method: 'GET',
    path: '/v1/customers/{customerID}/credits',
    tag,
    summary: 'List the credit notes of a customer',
    query: GivenQuery,
    success: { status: 200, schema: CreditNotesOut.schema },
    record: (db, { account }, params) => foundCustomerId(db, account.id, params),
    read: async (db, { account }, { params, query, url }) => {
      const customerId = await foundCustomerId(db, account.id, params)
      return answerGiven(db, account.id, { query, url, publicUrl }, customerId, notesOf(db, account))
    },
  }),
  readOperation({
    id: 'listCredits',
    method: 'GET',
    path: '/v1/credits',
    tag,
    summary: 'List credit notes',
    query: GivenQuery,
    success: { status: 200, schema: CreditNotesOut.schema },
    read: (db, { account }, { query, url }) =>
      answerGiven(db, account.id, { query, url, publicUrl }, null, notesOf(db, account)),
  }),
  lookupOperation({
    id: 'getCredit',
    method: 'GET',
    path: '/v1/credits/{creditNoteID}',
    tag,
    summary: 'Read a credit note',
    success: { status: 200, schema: CreditNoteOut.schema },
    read: async (db, { account }, { params }) => {
      const id = pathId(params, 'creditNoteID', unknownNote)
      const [negative, allocations] = await Promise.all([
        foundNote(db, account.id, params),
        listAllocationsOfGiven(db, account.id, 'negative_adjustment', [id]),
      ])
      return answerOf(200, { negative, allocations }, account.timeZone)
    },
  }),
  readOperation({
    id: 'explainCredit',
    method: 'GET',
    path: '/v1/credits/{creditNoteID}/explanation',
    tag,
    summary: 'Explain what a credit note gives back, tax by tax',
    success: { status: 200, schema: CreditExplanationOut.schema },
    read: async (db, { account }, { params }) => {
      const note = await foundNote(db, account.id, params)
      const explained = await explainNote(db, account.id, note)
      return { status: 200, body: CreditExplanationOut.write(creditExplanationToWire(explained, account.timeZone)) }
    },
  }),
]

/** A credit note and its allocations, as a body asks for them. */
interface Chosen {
  wanted: NewNegative | undefined
  asked: Asked | undefined
}

async function chooseNote(
  tx: Transaction,
  body: Partial<CreditNoteBody>,
  problems: Problems,
  present: NegativeRecord | null,
): Promise<Chosen> {
  await checkCustomerReference(tx, body.customerID, problems)
  await checkCurrencyHeld(tx, body.CurrencyCode, problems)
  const wanted = creditNoteFromWire(body, problems)
  const wish = {
    isAuto: body.AutoApply === true,
    order: 'invoices_only' as const,
    entries: body.Allocations && entriesFromWire(body.Allocations),
  }
  const record = { currency: body.CurrencyCode, present: present?.allocations ?? null }
  return { wanted, asked: await chooseAsked(tx, wish, record, ENTRY_NAMES, problems) }
}

async function editNote(
  tx: Transaction,
  context: RequestContext,
  present: NegativeRecord,
  chosen: Chosen,
): Promise<Answer> {
  const wanted = chosen.wanted as NewNegative
  const { id, customerId } = present.negative
  if (wanted.customerId !== customerId)
    throw conflict(
      'other_customer',
      `Credit note ${id} is of customer ${customerId} and cannot become one of customer ${wanted.customerId}.`,
      'customerID',
    )
  const { dated, currency, amountMinor, ref, memo } = wanted
  const edit = { dated, currency, amountMinor, ref, memo }
  return noContent(etagOfRecord(await editNegative(tx, context, present, edit, chosen.asked as Asked)))
}

const writing = (): Operation[] => [
  writeOperation({
    id: 'addCredit',
    method: 'POST',
    path: '/v1/credits',
    tag,
    summary: 'Add a credit note',
    body: CreditNoteIn,
    success: { status: 201, schema: CreditNoteOut.schema },
    references: (tx, _context, { body }, problems) => chooseNote(tx, body, problems, null),
    write: async (tx, context, _input, _record, chosen: Chosen) => {
      const record = await addNegative(tx, context, chosen.wanted as NewNegative, chosen.asked as Asked)
      const headers = { location: `/v1/credits/${record.negative.id}` }
      return { ...answerOf(201, record, context.account.timeZone), headers }
    },
  }),
  writeOperation({
    id: 'editCredit',
    method: 'PUT',
    path: '/v1/credits/{creditNoteID}',
    tag,
    summary: 'Correct a credit note and its allocations; of one that the service made, number, memo and allocations',
    body: CreditNoteIn,
    success: { status: 204 },
    record: (tx, _context, { params }) => lockedNote(tx, params),
    etag: etagOfRecord,
    references: (tx, _context, { body }, problems, present) => chooseNote(tx, body, problems, present),
    write: (tx, context, _input, present: NegativeRecord, chosen: Chosen) => editNote(tx, context, present, chosen),
  }),
  writeOperation({
    id: 'deleteCredit',
    method: 'DELETE',
    path: '/v1/credits/{creditNoteID}',
    tag,
    summary: 'Delete a credit note; what it paid is open again',
    success: { status: 204 },
    record: (tx, _context, { params }) => lockedNote(tx, params),
    etag: etagOfRecord,
    write: async (tx, context, _input, present: NegativeRecord) => {
      await removeNegative(tx, context, present)
      return noContent()
    },
  }),
]

export const creditNoteOperations = (deps: { publicUrl: string | undefined }): Operation[] => [
  ...reading(deps.publicUrl),
  ...writing(),
]
