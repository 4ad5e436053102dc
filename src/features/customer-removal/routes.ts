import { conflict } from '../../kernel/fault.ts'
import { type Operation, writeOperation } from '../../platform/http/operation.ts'
import { customerUses, deleteCustomer } from '../customers/queries.ts'
import { customerKind, writeCustomerRecord } from '../customers/record.ts'
import { recordEvent } from '../events/record.ts'
import type { LinesOfService } from '../batches/hooks.ts'
import { anonymiseSessions } from '../capture-sessions/queries.ts'
import type { MandateDeps } from '../emandates/types.ts'
import { forgetUnsignedMandates } from '../emandates/forget.ts'
import { deleteUnsentMail } from '../outbox/queries.ts'
import { deleteDraftsOf } from '../invoices/manual.ts'
import { removeMethodsOf } from '../payment-methods/actions.ts'
import { abandonIntentsOf } from '../payment-methods/removal.ts'
import { deleteRecurringOf } from '../recurring-invoices/queries.ts'
import { deleteEndedSubscriptions } from '../subscriptions/state-queries.ts'
import { anonymiseCustomer } from './anonymise.ts'
import { noContent } from '../../platform/http/answer.ts'

/** Operations that reach into everything that belongs to a customer, so the feature stands above all of it. */
export const customerRemovalOperations = (
  deps: { linesOfService: LinesOfService } & Pick<MandateDeps, 'links' | 'realClock'>,
): Operation[] => [
  writeOperation({
    ...customerKind.deleting,
    id: 'deleteCustomer',
    tag: 'Customers',
    summary: 'Delete a customer that has no money records and nothing running',
    refusals: {
      409: 'The customer has money records, or a running subscription or recurring invoice: archive it instead',
    },
    write: async (tx, context, _input, { id }) => {
      const uses = await customerUses(tx, tx.account, id, context.moment.today)
      if (uses.hasMoney || uses.hasRunning) {
        const reason = uses.hasMoney ? 'has money records' : 'has a running subscription or recurring invoice'
        throw conflict('customer_in_use', `Customer ${id} ${reason} and cannot be deleted; archive it instead.`)
      }
      const record = await writeCustomerRecord(tx, context, id)
      await deleteUnsentMail(tx, tx.account, id)
      await deleteDraftsOf(tx, id)
      await deleteRecurringOf(tx, id)
      await deleteEndedSubscriptions(tx, tx.account, id)
      await forgetUnsignedMandates(tx, context, deps, id)
      await anonymiseSessions(tx, id)
      await removeMethodsOf(tx, context, id)
      await abandonIntentsOf(tx, id)
      await deleteCustomer(tx, tx.account, id)
      await recordEvent(tx, context, { type: 'customer.deleted', recordId: id, customerId: id, record })
      return noContent()
    },
  }),
  writeOperation({
    id: 'anonymiseCustomer',
    method: 'POST',
    path: '/v1/customers/{customerID}/anonymise',
    tag: 'Customers',
    summary: 'Replace who a customer is by neutral text, for good',
    representation: customerKind.representation,
    refusals: { 409: 'A try, a refund or a debit of the customer has no outcome yet' },
    record: customerKind.deleting.record,
    write: async (tx, context, _input, { id }) => {
      await anonymiseCustomer(tx, context, deps, id)
      return noContent()
    },
  }),
]
