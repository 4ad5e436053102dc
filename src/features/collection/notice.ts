import type { IsoDate } from '../../kernel/calendar.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { groupBy } from '../../kernel/grouping.ts'
import type { AccountId, CustomerId, Id, InvoiceId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { updateAnnounced } from '../batches/waiting-queries.ts'
import { customerNameOf } from '../../kernel/customer-name.ts'
import { adapterOf, type GatewayDeps } from '../gateways/call.ts'
import { gatewayFactsOf } from '../gateways/facts.ts'
import type { Gateway } from '../gateways/queries.ts'
import { recordInvoice, rereadInvoice } from '../invoices/manual.ts'
import { updateNextTry } from '../invoices/state-queries.ts'
import { collectionMail, DEBIT_NOTICE } from '../outbox/collection-templates.ts'
import { queueDocumentMails } from '../outbox/mail.ts'
import { findMethod } from '../payment-methods/queries.ts'
import { isAnnouncedThere } from './debit-days.ts'
import type { MadeLine } from './lines.ts'
import { findMailedCustomer, listLineTries } from './try-queries.ts'

/** Announces debits of sepa accounts to their payers. */

export interface DebitToAnnounce {
  invoice: { id: InvoiceId; number: bigint; currency: string; openMinor: bigint }
  paymentMethodId: Id
  actionDate: IsoDate
}

/**
 * Announces the debits of a customer in one mail. `creditor` is the identifier that their bank shows, null where the gateway has none. Rule:
 * without an Email the debits go on, with an event each, and false is returned.
 */
export async function announceDebits(
  tx: Transaction,
  context: RequestContext,
  customerId: CustomerId,
  debits: readonly DebitToAnnounce[],
  creditor: string | null,
): Promise<boolean> {
  if (debits.length === 0) return true
  const customer = await findMailedCustomer(tx, customerId)
  if (!customer?.email) {
    await recordUnannounced(tx, context, debits)
    return false
  }
  const methods = new Map(
    await Promise.all(
      [...new Set(debits.map(({ paymentMethodId }) => paymentMethodId))].map(
        async (id) => [id, await findMethod(tx, tx.account, id)] as const,
      ),
    ),
  )
  const items = debits.map(({ invoice, paymentMethodId, actionDate }) => ({
    what: 'debit' as const,
    number: invoice.number,
    currency: invoice.currency,
    amountMinor: invoice.openMinor,
    day: actionDate,
    lastFour: methods.get(paymentMethodId)?.lastFour ?? '',
    mandate: methods.get(paymentMethodId)?.mandateReference ?? null,
    creditor,
  }))
  await queueDocumentMails(tx, context, [
    {
      customerId,
      locale: customer.locale,
      to: customer.email,
      cc: customer.emailCc,
      template: DEBIT_NOTICE,
      document: null,
      write: (sender) =>
        collectionMail({ ...sender, customerName: customerNameOf(customer), kind: DEBIT_NOTICE, items }),
    },
  ])
  return true
}

/** Announces the lines that a pass has made for a customer, as far as they debit sepa accounts. */
export async function announceLines(
  tx: Transaction,
  context: RequestContext,
  deps: GatewayDeps,
  customerId: CustomerId,
  lines: readonly MadeLine[],
): Promise<void> {
  const ofSepa = lines.filter(({ way }) => way.method.kind === 'sepa')
  for (const [, ofGateway] of groupBy(ofSepa, ({ way }) => way.gateway.id)) {
    const [{ way }] = ofGateway as [MadeLine]
    if (isAnnouncedThere(deps, tx.account, way.gateway)) continue
    const debits = ofGateway.map((line) => ({ ...line, paymentMethodId: line.way.method.id }))
    const isAnnounced = await announceDebits(tx, context, customerId, debits, creditorOf(deps, tx.account, way.gateway))
    if (!isAnnounced || !gatewayFactsOf(way.gateway.type).keepsAccounts) continue
    for (const { paymentId, actionDate } of ofGateway) await updateAnnounced(tx, [paymentId], actionDate)
  }
}

/** Gives the invoices that a batch debits its new day, and announces that day to the payers of sepa accounts. */
export async function announceMoved(
  tx: Transaction,
  context: RequestContext,
  deps: GatewayDeps,
  { batchId, gateway, actionDate }: { batchId: Id; gateway: Gateway; actionDate: IsoDate },
): Promise<void> {
  const tries = await listLineTries(tx, batchId)
  for (const { invoice } of tries) updateNextTry(tx, invoice.id, actionDate, true)
  if (isAnnouncedThere(deps, tx.account, gateway)) return
  const creditor = creditorOf(deps, tx.account, gateway)
  const debits = tries.filter(({ kind }) => kind === 'sepa').map((t) => ({ ...t, actionDate }))
  for (const [customerId, ofCustomer] of groupBy(debits, (one) => one.customerId)) {
    const isAnnounced = await announceDebits(tx, context, customerId, ofCustomer, creditor)
    const paymentIds = ofCustomer.map(({ paymentId }) => paymentId)
    if (isAnnounced) await updateAnnounced(tx, paymentIds, actionDate)
  }
}

/** Returns the identifier by which payers know the creditor of a gateway; null where it has none. */
export function creditorOf(deps: GatewayDeps, account: AccountId, gateway: Gateway): string | null {
  const { CreditorIdentifier } = adapterOf(deps, account, gateway).settings
  return typeof CreditorIdentifier === 'string' ? CreditorIdentifier : null
}

async function recordUnannounced(tx: Transaction, context: RequestContext, debits: readonly DebitToAnnounce[]) {
  for (const { invoice, actionDate } of debits) {
    const reason = `The debit on ${actionDate} was announced to nobody: the customer has no Email.`
    const type = 'invoice.debit_unannounced'
    await recordInvoice(tx, context, type, await rereadInvoice(tx, context, invoice.id), reason)
  }
}
