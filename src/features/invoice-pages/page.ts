import { addDays, later, type IsoDate } from '../../kernel/calendar.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { type Named, pageGone, type PageOperation, pageOperation } from '../../platform/http/pages.ts'
import type { Link } from '../../platform/page/links.ts'
import type { Drawing } from '../documents/draw.ts'
import { loadInvoiceDocument } from '../documents/load.ts'
import { invoicePdf } from '../documents/routes.ts'
import { findLinkedInvoice, type LinkedInvoice } from '../invoices/link-queries.ts'
import { invoicePage } from './show.ts'

/** The public page of an invoice, and its PDF. */

/** Days for which an invoice that is settled is still shown. */
const SETTLED_DAYS = 90

/** Returns the last day on which a page is shown; null while something is to be paid. Rule: the later of DueDate and settling, and 90 days. */
const shownUntil = ({ dueDate, settledOn }: LinkedInvoice): IsoDate | null =>
  settledOn === null ? null : addDays(later(dueDate, settledOn), SETTLED_DAYS)

/** Finds the invoice of a link: undefined where it was revoked. Throws `gone` where the invoice was settled long ago. */
async function findOfLink(
  db: Queryable,
  { account, moment }: RequestContext,
  { record, counter }: Link,
): Promise<Named<LinkedInvoice> | undefined> {
  const invoice = await findLinkedInvoice(db, account.id, record)
  if (!invoice || invoice.isDraft || invoice.linkCounter !== counter) return undefined
  const until = shownUntil(invoice)
  if (until !== null && until < moment.today) throw pageGone()
  return { found: invoice, locale: invoice.locale }
}

export const invoicePages = ({ drawing }: { drawing: Drawing }): PageOperation<any>[] => [
  pageOperation<LinkedInvoice>({
    id: 'invoicePage',
    link: 'i',
    below: '',
    find: findOfLink,
    show: async (db, { context, found, locale, path }) => {
      const document = await loadInvoiceDocument(db, context, found.id, locale)
      return invoicePage({ document, locale, path, today: context.moment.today }, undefined)
    },
  }),
  pageOperation<LinkedInvoice>({
    id: 'invoicePagePdf',
    link: 'i',
    below: '/pdf',
    find: findOfLink,
    show: (db, { context, found }) => invoicePdf(drawing, db, context, found.id),
  }),
]
