import { addDays, later, type IsoDate } from '../../kernel/calendar.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { type Named, type PageOperation, pageOperation, type PageRequest } from '../../platform/http/pages.ts'
import type { Link, Links } from '../../platform/page/links.ts'
import { refuseForInvoice } from '../collection/by-fields.ts'
import { findPaying, payByCustomer, type PayDeps } from '../collection/by-customer.ts'
import type { Drawing } from '../documents/draw.ts'
import { loadInvoiceDocument } from '../documents/load.ts'
import { invoicePdf } from '../documents/routes.ts'
import { CARD_PAGE_FIELDS, cardFieldsAnswer, cardPage, payWithCard } from './card.ts'
import { answerConfirm, confirmPage, confirmStep } from './confirm.ts'
import { PAY_FIELDS, payPage, seenFromForm } from './pay.ts'
import { findLinkedInvoice, type LinkedInvoice } from './queries.ts'
import { invoicePage } from './show.ts'

/** The public page of an invoice, its PDF, and how it is paid there. */

/** Days for which an invoice that is settled is still shown. */
const SETTLED_DAYS = 90

/** Returns the last day on which a page is shown; null while something is to be paid. Rule: the later of DueDate and settling, and 90 days. */
const shownUntil = ({ dueDate, settledOn }: LinkedInvoice): IsoDate | null =>
  settledOn === null ? null : addDays(later(dueDate, settledOn), SETTLED_DAYS)

/** Finds the invoice of a link: undefined where it was revoked, gone where the invoice was settled long ago. */
async function findOfLink(
  db: Queryable,
  { account, moment }: RequestContext,
  { record, counter }: Link,
): Promise<Named<LinkedInvoice> | undefined> {
  const invoice = await findLinkedInvoice(db, account.id, record)
  if (!invoice || invoice.isDraft || invoice.linkCounter !== counter) return undefined
  const until = shownUntil(invoice)
  return { found: invoice, locale: invoice.locale, isGone: until !== null && until < moment.today }
}

/** Loads an invoice as its page shows it, with how it can be paid. */
async function showing(deps: Deps, db: Queryable, request: PageRequest<LinkedInvoice>) {
  const { context, found, locale, path } = request
  const [document, paying] = await Promise.all([
    loadInvoiceDocument(db, context, found.id, locale),
    deps.db.transaction(context.account.id, (tx) => findPaying(tx, context, deps, found.id)),
  ])
  return { document, paying, locale, path, cardPath: request.beside('p').address, today: context.moment.today }
}

type Deps = PayDeps & { drawing: Drawing; links: Links }

export const invoicePages = (deps: Deps): PageOperation<any>[] => [
  pageOperation<LinkedInvoice>({
    id: 'invoicePage',
    link: 'i',
    below: '',
    find: findOfLink,
    show: async (db, request) => invoicePage(await showing(deps, db, request)),
  }),
  pageOperation<LinkedInvoice>({
    id: 'invoicePagePay',
    link: 'i',
    below: '/pay',
    find: findOfLink,
    show: async (db, request) => {
      const { paying, ...shown } = await showing(deps, db, request)
      // What was paid or begun meanwhile is shown by the page itself.
      return paying?.card && !paying.open ? payPage({ ...shown, paying }) : invoicePage({ ...shown, paying })
    },
    form: {
      fields: PAY_FIELDS,
      submit: async ({ context, found, path, link }, values) => {
        await payByCustomer(deps, context, found.id, { seen: seenFromForm(values), returnUrl: deps.links.url(link) })
        return path
      },
    },
  }),
  pageOperation<LinkedInvoice>({
    id: 'invoicePagePdf',
    link: 'i',
    below: '/pdf',
    find: findOfLink,
    show: (db, { context, found }) => invoicePdf(deps.drawing, db, context, found.id),
  }),
  pageOperation<LinkedInvoice>({
    id: 'invoicePageCard',
    link: 'p',
    below: '',
    find: findOfLink,
    show: async (db, request) => {
      const { document, paying } = await showing(deps, db, request)
      return cardPage(deps, { ...request, document, paying })
    },
    form: {
      fields: CARD_PAGE_FIELDS,
      submit: (request, values) => payWithCard(deps, request, values),
    },
  }),
  pageOperation<LinkedInvoice>({
    id: 'invoicePageFields',
    link: 'p',
    below: '/fields',
    find: findOfLink,
    form: { fields: [], submit: async (request) => ({ facts: await cardFieldsAnswer(deps, request) }) },
  }),
  pageOperation<LinkedInvoice>({
    id: 'invoicePageRefused',
    link: 'p',
    below: '/refused',
    find: findOfLink,
    form: {
      fields: [],
      submit: async ({ context, found, path }) => ({
        facts: (await refuseForInvoice(deps, context, found.id)) ? { next: path } : {},
      }),
    },
  }),
  pageOperation<LinkedInvoice>({
    id: 'invoicePageConfirm',
    link: 'p',
    below: '/confirm',
    find: findOfLink,
    show: async (db, request) => {
      const { document, paying } = await showing(deps, db, request)
      return confirmPage(deps, { ...request, document, paying })
    },
    form: { fields: ['answer'], submit: (request, values) => answerConfirm(deps, request, values) },
  }),
  pageOperation<LinkedInvoice>({
    id: 'invoicePageStep',
    link: 'p',
    below: '/step',
    find: findOfLink,
    form: { fields: [], submit: async (request) => ({ facts: await confirmStep(deps, request) }) },
  }),
]
