import { randomUUID } from 'node:crypto'
import type { Instant } from '../../kernel/calendar.ts'
import type { Id, InvoiceId } from '../../kernel/ids.ts'
import { bigintList } from '../../platform/database/columns.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { drawIds, idsOfRanges } from '../../platform/database/draw-ids.ts'
import { arrayLiteral, type Fragment, fragment, NOTHING, sql } from '../../platform/database/sql.ts'
import { eventsOfMails } from '../events/issued-queries.ts'
import { firstState, type Sender } from './queries.ts'

/** Statements that put mails with invoices into the outbox as their facts. */

export interface QueuedInvoices {
  ids: readonly InvoiceId[]
  /** Identifiers of mails, as many as invoices. */
  mailIds: readonly Id[]
  sender: Sender
  /** Domain of their Message-IDs. */
  domain: string
  at: Instant
  isHeld: boolean
}

/** Draws identifiers of mails and of their events. */
export async function drawMailIds(
  tx: Transaction,
  { mails, events }: { mails: number; events: number },
): Promise<{ mailIds: Id[]; eventIds: Id[] }> {
  const [ofMails = [], ofEvents = []] = await drawIds(tx, [
    { sequence: 'outbox_outbox_id_seq', count: mails },
    { sequence: 'event_rows_event_id_seq', count: events },
  ])
  return { mailIds: idsOfRanges(ofMails), eventIds: idsOfRanges(ofEvents) }
}

/** Returns the insert of the mails with some invoices, in the order of their numbers; with `isWished` of customers who get theirs by mail. */
const insertion = (tx: Transaction, queued: QueuedInvoices, isWished: boolean): Fragment => fragment`
    insert into outbox (account_id, outbox_id, created_at, status, next_try_at, customer_id, template, to_address, cc_address, message_id, document_kind,
      document_id, facts)
    select ${tx.account}, (${bigintList(queued.mailIds)}::bigint[])[row_number() over (order by i.number)], ${queued.at}::timestamptz,
           ${firstState(queued.isHeld)}, c.customer_id, 'invoice', c.email, c.email_cc,
           ${`<${randomUUID()}.`} || i.invoice_id || ${`@${queued.domain}>`}, 'invoice', i.invoice_id, ${factsOf(queued.sender)}
      from invoices i join customers c on c.account_id = ${tx.account} and c.customer_id = i.customer_id
     where i.account_id = ${tx.account} and i.invoice_id = any(${arrayLiteral(queued.ids)}::bigint[])
       ${isWished ? fragment`and c.auto_send_invoice` : NOTHING} and c.email is not null
     order by i.number`

/**
 * Returns the facts of a mail, as `InvoiceMailFacts` names them. The text is put together here, because `json_build_object` finds out what each of its
 * arguments is for each row anew: half of what the facts cost. A last name that is null is one in a list, because a write has nothing stable in COALESCE.
 */
function factsOf({ name, colour, country, locale }: Sender): Fragment {
  const ofAccount = JSON.stringify({ accountName: name, colour, country }).slice(0, -1)
  return fragment`
    ${ofAccount} || ',"locale":' || to_json(coalesce(c.locale, ${locale}))::text || ',"isCompany":' || c.is_company::text
      || ',"name":' || to_json(c.name)::text || ',"lastName":' || btrim(to_json(array[c.last_name])::text, '[]')
      || ',"invoiceId":"' || i.invoice_id || '","linkCounter":' || i.link_counter || ',"number":"' || i.number
      || '","invoiceDate":' || to_json(i.invoice_date)::text || ',"dueDate":' || to_json(i.due_date)::text || ',"currency":"' || i.currency || '"'
      || ',"totalMinor":"' || i.total_minor || '","balanceMinor":"' || i.total_minor - i.negative_minor - i.paid_minor - i.pending_minor || '"}'`
}

/** Puts the mail with one invoice into the outbox, whether or not its customer wishes that; they can be reached. */
export const insertInvoiceMail = (tx: Transaction, queued: QueuedInvoices) =>
  tx.rows(sql`${insertion(tx, queued, false)} returning 1`)

/**
 * Puts the mails with invoices of those customers who wish them, and can be reached, into the outbox, each with its event. Of events there are as many
 * identifiers as of mails.
 */
export const insertInvoiceMails = (tx: Transaction, queued: QueuedInvoices, eventIds: readonly Id[], actor: string) => {
  const mailed = fragment`${insertion(tx, queued, true)} returning document_id`
  return tx.rows(sql`${eventsOfMails(tx.account, queued.at, actor, { mailed, eventIds: bigintList(eventIds) })}`)
}
