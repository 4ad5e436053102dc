import { addMonths } from './kernel/calendar.ts'
import { dateIn, instantOf } from './kernel/zone.ts'
import type { RealClock } from './kernel/context.ts'
import type { OrderOfDay } from './features/billing-run/due-kind.ts'
import { type AfterDay, inTurn } from './features/billing-run/after-day.ts'
import { batchesDuty, batchesOfDay } from './features/batches/duty.ts'
import { COUNTED_CUSTOMERS } from './features/customers/queries.ts'
import { EVENTS } from './features/events/packed.ts'
import { COUNTED_INVOICES } from './features/invoices/queries.ts'
import { LEDGER } from './features/ledger/packed.ts'
import { COUNTED_PAYMENTS } from './features/money/payment-queries.ts'
import { COUNTED_SUBSCRIPTIONS } from './features/subscriptions/queries.ts'
import type { CountedList } from './platform/packed/declare.ts'
import { forgetBatchFiles } from './features/batches/queries.ts'
import { runDuty, type RunDutyDeps, runSlicesDuty, scheduleDuty } from './features/billing-run/duties.ts'
import { deleteOldRuns } from './features/billing-run/queries.ts'
import { afterCustomerReturn } from './features/collection/actions.ts'
import { captureSessionsOfDay, giveBackDuty } from './features/capture-sessions/duty.ts'
import { leftFieldsDuty } from './features/capture-sessions/left-fields.ts'
import { deleteOldSessions } from './features/capture-sessions/queries.ts'
import { collectionDuty, collectionOfDay, returnsDuty } from './features/collection/duty.ts'
import { linesOfService } from './features/collection/line-hooks.ts'
import type { OnReturn } from './features/customers/actions.ts'
import type { GatewayDeps } from './features/gateways/call.ts'
import { keysDuty } from './features/gateways/keys-duty.ts'
import { deleteOldReports } from './features/gateway-reports/queries.ts'
import { pollDuty } from './features/gateway-reports/poll.ts'
import { reportsDuty, reportsOfDay, sandboxReportsDuty } from './features/gateway-reports/work.ts'
import { abandoningDuty, removalDuty } from './features/payment-methods/removal.ts'
import { refundsDuty, refundsOfDay } from './features/refunds/duty.ts'
import { deleteOldBankReferences, deleteOldResultLines } from './features/result-files/queries.ts'
import { settlingDuty, settlingOfDay } from './features/result-files/settle.ts'
import { listedReports } from './features/result-files/unapplied.ts'
import { mandateSetupsDuty } from './features/mandate-setups/duty.ts'
import { afterMethodOfCustomer } from './features/collection/actions.ts'
import { forgetMandatesDuty, mandatePdfsDuty } from './features/emandates/duty.ts'
import type { Drawing } from './features/documents/draw.ts'
import type { SealKey } from './platform/seal/certificate.ts'
import { makeLinks } from './platform/page/links.ts'
import { mailDuty, type MailDutyDeps } from './features/mailing/duty.ts'
import { deleteOldMail } from './features/outbox/queries.ts'
import { resumeRecurringInvoices } from './features/recurring-invoices/actions.ts'
import { mailLostCard } from './features/reminders/card-lost.ts'
import { reminderDuty, remindersOfDay } from './features/reminders/duty.ts'
import { resumeSubscriptions } from './features/subscriptions/actions.ts'
import { recurringInvoicesDue } from './features/recurring-invoices/due.ts'
import { statementsDue } from './features/statements/due.ts'
import { pausedEndsDue, subscriptionsDue } from './features/subscriptions/due.ts'
import { webhookDuty, type WebhookDutyDeps } from './features/webhooks/duty.ts'
import { sumDaysDuty } from './features/ledger/days.ts'
import { writeIssuedRecords } from './features/invoices/issued-record.ts'
import { writeUsageRecords } from './features/subscription-components/usage-records.ts'
import { deleteOldDeliveries } from './features/events/delivery-queries.ts'
import { verificationDuty } from './features/verification/duty.ts'
import { verifyAccount } from './checks.ts'
import { type NightlyCopies, nightlyCopyDuty } from './platform/backup/nightly.ts'
import { deleteOldKeys, deleteOldLeases, sealLists } from './platform/database/housekeeping.ts'
import { youngTablesDuty } from './platform/database/young-tables.ts'
import type { Duty } from './platform/duty.ts'

/** The wiring of background work: the duties of a worker, and what falls due on a day, in its order. */

/** Every kind of due records, in the order of a day: endings and invoices, then statements. */
export const ORDER_OF_DAY: OrderOfDay = [[pausedEndsDue, subscriptionsDue, recurringInvoicesDue], [statementsDue]]

/** Bills a customer again who is back, from today, and plans the tries of what is due of them. */
export const onReturn: OnReturn = async (tx, context, customer, gapFrom) => {
  await resumeSubscriptions(tx, context, customer, gapFrom)
  await resumeRecurringInvoices(tx, context, customer, gapFrom)
  await afterCustomerReturn(tx, context, customer.id)
}

/** Adds what reports of gateways need of other rooms: what they leave to a person is listed among the result files, and who has lost a card gets a mail. */
export const withFollowUps = <About extends GatewayDeps>(about: About) => ({
  ...about,
  linesOfService,
  ...listedReports(about),
  onCardLost: mailLostCard,
})

/**
 * Makes the work of a day after its runs, in its order: gateways report, debits without a booking are settled, refunds are asked about, then is
 * collected, batches are built, then is reminded.
 */
export const afterDayOf = (about: GatewayDeps & { realClock: RealClock; hasMailServer?: boolean }): AfterDay =>
  inTurn([
    reportsOfDay(withFollowUps(about)),
    settlingOfDay({ ...about, linesOfService }),
    refundsOfDay(about),
    collectionOfDay({ ...about, onReturn }),
    batchesOfDay({ ...about, linesOfService }),
    remindersOfDay(about),
    captureSessionsOfDay(about),
  ])

const DAY_MS = 86_400_000
/** Months after the day of its debits for which the file of a batch is kept: as long as they can be claimed back. */
const BATCH_FILE_MONTHS = 14

/** The lists whose blocks are counted: the rows of the table counted_lists, each made by a migration. */
export const COUNTED_LISTS: readonly CountedList[] = [
  COUNTED_CUSTOMERS,
  COUNTED_SUBSCRIPTIONS,
  COUNTED_INVOICES,
  COUNTED_PAYMENTS,
  EVENTS,
  LEDGER,
]

const sealingDuty: Duty = { name: 'seal lists', everyMs: 20_000, run: ({ db }) => sealLists(db, COUNTED_LISTS) }

/** Forgets what is kept for a time only: runs, mail, capture sessions, reports and lines of bank files for 90 days, references of banks for 14 months, deliveries for 30, keys of requests and leases for one. */
const forgettingDuty: Duty = {
  name: 'forget',
  everyMs: 3_600_000,
  run: async ({ db, realClock }) => {
    const before = (days: number) => instantOf(realClock() - days * DAY_MS)
    await deleteOldRuns(db.unscoped, before(90))
    await deleteOldMail(db.unscoped, before(90))
    await deleteOldSessions(db.unscoped, before(90))
    await deleteOldReports(db.unscoped, before(90))
    await deleteOldResultLines(db.unscoped, before(90))
    await deleteOldBankReferences(db.unscoped, before(426))
    await deleteOldDeliveries(db.unscoped, before(30))
    await forgetBatchFiles(db.unscoped, addMonths(dateIn(realClock(), 'UTC'), -BATCH_FILE_MONTHS))
    await deleteOldKeys(db, before(1))
    await deleteOldLeases(db, before(1))
  },
}

/** Returns every duty of a worker. */
export const workerDuties = (
  about: Omit<RunDutyDeps, 'order'> &
    GatewayDeps &
    Pick<WebhookDutyDeps, 'outbound'> & {
      /** Left out: mail stays in the outbox. */
      mailing?: MailDutyDeps | undefined
      /** Left out: PDFs of mandates are made when they are asked for. */
      drawing?: Drawing | undefined
      /** Left out: no copy is made by night. */
      copies?: NightlyCopies | undefined
      /** SEAL_P12; left out: the key that the deployment has made itself. */
      ownSeal?: SealKey | undefined
    },
): Duty[] => {
  const runs = { ...about, order: ORDER_OF_DAY }
  return [
    scheduleDuty(runs),
    runDuty(runs),
    runSlicesDuty(runs),
    youngTablesDuty,
    sealingDuty,
    sumDaysDuty,
    forgettingDuty,
    verificationDuty(verifyAccount),
    abandoningDuty,
    removalDuty(about),
    giveBackDuty(about),
    leftFieldsDuty(about),
    // No link is shown to anybody here.
    forgetMandatesDuty({ links: makeLinks(about.envelope, undefined) }),
    ...(about.drawing ? [mandatePdfsDuty({ ...about, drawing: about.drawing })] : []),
    collectionDuty({ ...about, onReturn }),
    returnsDuty({ ...about, onReturn }),
    mandateSetupsDuty({ ...about, onMethodChanged: afterMethodOfCustomer }),
    reportsDuty(withFollowUps(about)),
    settlingDuty({ ...about, linesOfService }),
    sandboxReportsDuty(about),
    pollDuty(about),
    keysDuty(about),
    refundsDuty(about),
    batchesDuty({ ...about, linesOfService }),
    reminderDuty(about),
    webhookDuty({ ...about, writeIssuedRecords, writeUsageRecords }),
    ...(about.mailing ? [mailDuty(about.mailing)] : []),
    ...(about.copies ? [nightlyCopyDuty(about.copies)] : []),
  ]
}
