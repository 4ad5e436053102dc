import { introduced } from '../../platform/http/tags.ts'
import { writingOf } from '../../kernel/context.ts'
import { listOperation } from '../../platform/http/list.ts'
import type { Operation } from '../../platform/http/operation.ts'
import { type ComposeDeps, eventFilters, eventPortions, eventShape, typesOfRecord } from './wire.ts'
import { EVENTS } from './packed.ts'
import { countEvents, listEvents } from './queries.ts'

/** Declares the operations of the audit log: every change of the account, oldest first. */
export const eventOperations = <Kept>(deps: ComposeDeps<Kept>): Operation[] => [
  listOperation({
    id: 'listEvents',
    path: '/v1/events',
    tag: introduced('Events', 'Every change of the account in order, with the record as it was after it.'),
    summary: 'List events: what was changed, when and by whom',
    out: eventShape,
    filters: eventFilters,
    filterOf: ({ type, customerID, RecordType, RecordID, from, to }) => ({
      type,
      types: typesOfRecord(RecordType),
      customerId: customerID,
      recordId: RecordID,
      from,
      before: to,
    }),
    blocks: EVENTS,
    rows: listEvents,
    count: countEvents,
    pieces: (db, context, rows) => eventShape.list.pieces(eventPortions(deps, db, context, rows), writingOf(context)),
  }),
]
