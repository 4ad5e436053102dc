import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { AccountId } from './kernel/ids.ts'
import { afterDayOf, onReturn, ORDER_OF_DAY } from './duties.ts'
import {
  ACCOUNT_CHANNEL,
  findAccount,
  findLogo,
  getAccount,
  getAccountUnder,
  getLook,
} from './features/accounts/queries.ts'
import { accountOperations } from './features/accounts/routes.ts'
import { makeAuthenticator } from './features/api-keys/authenticate.ts'
import { takeOverLine } from './features/batches/lines.ts'
import { refreshLastMoments } from './features/batches/last-moments.ts'
import { batchOperations } from './features/batches/routes.ts'
import { componentOperations } from './features/components/routes.ts'
import { countryOperations } from './features/countries/routes.ts'
import { currencyOperations } from './features/currencies/routes.ts'
import { instantOf } from './kernel/zone.ts'
import { listBatchFigures } from './features/batches/queries.ts'
import { readFigures } from './features/billing-run/figures.ts'
import { listVerificationFigures } from './features/verification/nightly-queries.ts'
import type { OrderOfDay } from './features/billing-run/due-kind.ts'
import { billingRunOperations } from './features/billing-run/routes.ts'
import { type Drawing, makeDrawing } from './features/documents/draw.ts'
import { glyphWarningsOfInvoice } from './features/documents/glyphs.ts'
import { stopPages } from './features/reminders/page.ts'
import { documentOperations } from './features/documents/routes.ts'
import type { Adapters } from './features/gateways/contract.ts'
import { listingTypes } from './features/gateway-reports/poll.ts'
import { listHoldFigures, listReportAges } from './features/gateways/queries.ts'
import { reportIntake } from './features/gateway-reports/routes.ts'
import { gatewayOperations } from './features/gateways/routes.ts'
import { refundOperations } from './features/refunds/routes.ts'
import {
  afterCollectionChanged,
  afterGatewayChanged,
  afterMethodOfCustomer,
  reviewCustomer,
} from './features/collection/actions.ts'
import { linesOfService } from './features/collection/line-hooks.ts'
import { collectionOperations } from './features/collection/routes.ts'
import { collectionRulesOperations } from './features/dunning/rules-routes.ts'
import { resultFileOperations } from './features/result-files/routes.ts'
import { eventOperations } from './features/events/routes.ts'
import { writeIssuedRecords } from './features/invoices/issued-record.ts'
import { writeUsageRecords } from './features/subscription-components/usage-records.ts'
import { invoiceOperations } from './features/invoices/routes.ts'
import { recurringInvoiceOperations } from './features/recurring-invoices/routes.ts'
import { subscriptionOperations } from './features/subscriptions/routes.ts'
import { invoicePages } from './features/invoice-pages/page.ts'
import { invoiceLinkOperations } from './features/invoice-pages/routes.ts'
import { customerRemovalOperations } from './features/customer-removal/routes.ts'
import { type Hashing, makeHashing } from './features/contacts/hashing.ts'
import { contactOperations } from './features/contacts/routes.ts'
import { adjustmentOperations } from './features/adjustments/routes.ts'
import { releaseForCancellation } from './features/money/release.ts'
import { creditNoteOperations } from './features/credit-notes/routes.ts'
import { invoiceCreditOperations } from './features/invoice-credits/routes.ts'
import { customFieldOperations } from './features/custom-fields/routes.ts'
import { customerOperations } from './features/customers/routes.ts'
import { AFTER_ISSUE } from './features/money/apply-unallocated.ts'
import { noteOperations } from './features/notes/routes.ts'
import { glCodeOperations } from './features/gl-codes/routes.ts'
import { ledgerOperations } from './features/ledger/routes.ts'
import { exportOperations } from './features/exports/routes.ts'
import { reportOperations } from './features/reports/routes.ts'
import { statementOperations } from './features/statements/routes.ts'
import { subscriptionComponentOperations } from './features/usage/component-routes.ts'
import { usageOperations } from './features/usage/routes.ts'
import { capturePages } from './features/capture-sessions/page.ts'
import { mandateSetupPage } from './features/mandate-setups/page.ts'
import { mandateSetupOperations } from './features/mandate-setups/routes.ts'
import { captureSessionOperations } from './features/capture-sessions/routes.ts'
import { MANDATE_DOWNLOAD_ABOUT, mandateDownload } from './features/emandates/download.ts'
import type { SealKey } from './platform/seal/certificate.ts'
import { type FurtherFonts, useFurtherFonts } from './platform/pdf/further-fonts.ts'
import { signingPage } from './features/emandates/page.ts'
import { keepCustomerOfUnsigned } from './features/emandates/queries.ts'
import { emandateOperations } from './features/emandates/routes.ts'
import { paymentMethodOperations } from './features/payment-methods/routes.ts'
import { paymentOperations } from './features/payments/routes.ts'
import { outboxOperations } from './features/outbox/routes.ts'
import { listWebhookFigures } from './features/webhooks/queries.ts'
import { webhookOperations } from './features/webhooks/routes.ts'
import { packageGroupOperations } from './features/package-groups/routes.ts'
import { packageOperations } from './features/packages/routes.ts'
import { taxSettingOperations } from './features/tax-settings/routes.ts'
import { newestCopyAge } from './platform/backup/nightly.ts'
import type { Database } from './platform/database/database.ts'
import { backgroundContext, type Caller, momentOf, type RealClock, type RequestContext } from './kernel/context.ts'
import { Bodies, BODY_BOUNDS } from './platform/http/body-bounds.ts'
import type { ConnectionBounds } from './platform/http/connection-bounds.ts'
import type { Envelope, Sealer } from './platform/envelope/envelope.ts'
import { GroupedWrites } from './platform/http/grouped-writes.ts'
import { idempotencySecrets } from './platform/http/idempotency.ts'
import type { Outbound } from './platform/outbound/outbound.ts'
import { makeMetrics, type Metrics } from './platform/metrics.ts'
import { KnownLong } from './platform/http/known-long.ts'
import type { Operation } from './platform/http/operation.ts'
import { OUTWARD } from './platform/http/outward.ts'
import { addDownload } from './platform/http/download.ts'
import type { HttpDeps } from './platform/http/deps.ts'
import { addIntake } from './platform/http/intake.ts'
import { makePages, type Pages } from './platform/http/pages.ts'
import { type Links, makeLinks } from './platform/page/links.ts'
import { makeRateLimit } from './platform/http/rate-limit.ts'
import { buildServer } from './platform/http/server.ts'
import { listReplicationFigures } from './platform/failover/queries.ts'
import { LONG_CONNECTIONS } from './platform/long/kinds.ts'
import { LongOperations } from './platform/long/long-operations.ts'
import { listLongFigures } from './platform/long/queries.ts'
import { listProcessFigures } from './platform/processes/queries.ts'
import { answersSince } from './platform/database/watch.ts'
import { Outage } from './platform/outage.ts'
import { Places } from './platform/places.ts'
import { SlowRequests } from './platform/http/slow-requests.ts'
import { Underway } from './platform/underway.ts'
import { type SteadyClock, steadyClock } from './platform/steady-clock.ts'
import { addServicePages } from './platform/http/service-pages.ts'

/** The wiring of the service: what is made once, and who gets it. */

export interface AppSettings {
  publicUrl: string | undefined
  /** The origin of the frames of capture sessions; undefined: that of PUBLIC_URL. */
  widgetOrigin?: string | undefined
  corsOrigins: readonly string[]
  trustProxy: boolean | string | readonly string[]
  bounds: ConnectionBounds
  rateLimitPerMinute: number
  /** From so many milliseconds on a request is slow; 0: none is. */
  slowRequestMs: number
  /** SMTP_URL is set. */
  hasMailServer: boolean
  /** BACKUP_DIR; left out: no copy is made by night. */
  backupDir?: string | undefined
  version: string
  /** The package's folder, where pages and documents lie. */
  root: string
}

export interface AppDeps {
  db: Database
  envelope: Envelope
  adapters: Adapters
  outbound: Outbound
  log: Logger
  realClock: RealClock
  /** Measures spans; left out: that of the process. */
  clock?: SteadyClock
  settings: AppSettings
  /** SEAL_P12; left out: the key that the deployment has made itself. */
  ownSeal?: SealKey | undefined
  /** Those of FONTS_DIR; left out: none. */
  fonts?: FurtherFonts | undefined
  /** Hashes passwords; left out: in a thread of this process. */
  hashing?: Hashing
}

/** Counters for what is done outside of requests. */
type Counters = Pick<Metrics, 'runFinished' | 'gatewayCalled' | 'workerStatus'>

export interface App extends Counters {
  server: FastifyInstance
  operations: readonly Operation[]
  pages: Pages
  links: Links
  /** Draws documents for this process. */
  drawing: Drawing
  /** Makes the service not ready, and every answer close its connection: a balancer sends the next requests elsewhere. */
  beginDraining(): void
  /** Whether no request is under way, and nothing that one has begun. */
  isAtRest(): boolean
  /** Writes down what is kept in memory for a moment: last use of keys. */
  flush(): Promise<void>
  close(): Promise<void>
}

interface FeatureDeps {
  db: Database
  longDb: Database
  log: Logger
  realClock: RealClock
  /** All kinds of due records, in the order of a day. */
  order: OrderOfDay
  /** Forgets what this process remembers of an account, after the commit of a change to it. */
  forgetAccount(account: AccountId): void
  /** Told of every billing run that a request has made this process do: runs of the clock. */
  runFinished?: Metrics['runFinished']
  /** Keeps the secrets of mails that wait. */
  sealer: Sealer
  /** Seals secrets that are opened again. */
  envelope: Envelope
  /** Calls gateways, by their type. */
  adapters: Adapters
  /** Judges addresses that callers name. */
  outbound: Outbound
  /** SMTP_URL is set; what may leave is for the outbox to decide, and without it mail stays readable there. */
  hasMailServer: boolean
  hashing: Hashing
  drawing: Drawing
  links: Links
  widgetOrigin?: string | undefined
}

/** Functions of higher features that lower ones call: they take them as arguments, because a feature imports only from its left. */
const CALLS_BACK = {
  customers: { onReturn, onCollectionChanged: reviewCustomer },
  methods: { onMethodChanged: afterMethodOfCustomer, onMethodRemoved: keepCustomerOfUnsigned },
  gateways: { onGatewayChanged: afterGatewayChanged },
  invoices: {
    onCancel: releaseForCancellation,
    afterIssue: AFTER_ISSUE,
    warningsOf: glyphWarningsOfInvoice,
    onCollectionChanged: afterCollectionChanged,
  },
  events: { writeIssuedRecords, writeUsageRecords },
  batches: { linesOfService },
  payments: { onLineChanged: takeOverLine(linesOfService) },
}

/** Returns every operation of the interface and beside it, in the order in which the documentation shows them. */
export const allOperations = (deps: FeatureDeps): Operation[] => [
  ...customerOperations(CALLS_BACK.customers),
  ...customerRemovalOperations({ ...deps, ...CALLS_BACK.batches }),
  ...statementOperations(deps),
  ...paymentMethodOperations({ ...deps, ...CALLS_BACK.methods }),
  ...mandateSetupOperations(deps),
  ...captureSessionOperations({ ...deps, ...CALLS_BACK.methods }),
  ...emandateOperations(deps),
  ...contactOperations(deps),
  ...noteOperations(),
  ...customFieldOperations(),
  ...subscriptionOperations(),
  ...subscriptionComponentOperations(),
  ...usageOperations(),
  ...invoiceOperations(CALLS_BACK.invoices),
  ...paymentOperations(CALLS_BACK.payments),
  ...refundOperations(deps),
  ...batchOperations({ ...deps, ...CALLS_BACK.batches }),
  ...resultFileOperations({ ...deps, ...CALLS_BACK.batches }),
  ...creditNoteOperations(),
  ...invoiceCreditOperations(),
  ...adjustmentOperations(),
  ...documentOperations(deps),
  ...invoiceLinkOperations(deps),
  ...recurringInvoiceOperations(),
  ...packageOperations(),
  ...packageGroupOperations(),
  ...componentOperations(),
  ...ledgerOperations(),
  ...glCodeOperations(),
  ...reportOperations(),
  ...exportOperations(deps),
  ...gatewayOperations({
    ...deps,
    ...CALLS_BACK.gateways,
    onSettingsChanged: (tx, about) => refreshLastMoments(tx, deps, about),
  }),
  ...collectionRulesOperations(),
  ...collectionOperations(deps),
  ...taxSettingOperations(),
  ...currencyOperations(),
  ...countryOperations(),
  ...accountOperations({ ...deps, onZoneChanged: (tx, { timeZone }) => refreshLastMoments(tx, deps, { timeZone }) }),
  ...billingRunOperations({ ...deps, afterDay: afterDayOf(deps) }),
  ...outboxOperations(deps),
  ...eventOperations(CALLS_BACK.events),
  ...webhookOperations(deps),
]

/** Public pages that are made at a time: nobody who floods them takes the connections that others need. */
const PAGES = { running: 4, waiting: 200, patienceMs: 10_000 }

/** Of one query for /metrics, after which its connection is given up. */
const FIGURES_ANSWER_MS = 60_000

/** Makes the public pages, and what they show of every account. */
function allPages(
  { db, envelope, realClock, clock = steadyClock, settings }: AppDeps,
  links: Links,
  calling: Parameters<typeof invoicePages>[0] & Parameters<typeof capturePages>[0],
): Pages {
  const { publicUrl, widgetOrigin, hasMailServer } = settings
  return makePages(
    {
      db,
      links,
      clock,
      places: new Places(PAGES),
      publicUrl,
      widgetOrigin,
      findAccount,
      contextOf: (account) => ({
        ...backgroundContext(account, momentOf(account, realClock), { actor: 'page', hasMailServer }),
        publicUrl,
      }),
      findLook: getLook,
      findLogo,
    },
    [
      ...invoicePages(calling),
      ...stopPages(calling),
      ...capturePages(calling),
      mandateSetupPage({ ...calling, db, links }),
      signingPage({ db, envelope, links, realClock, ...CALLS_BACK.methods }),
    ],
  )
}

/** Documents that are found by a token, as the OpenAPI document describes them. */
export const DOWNLOADS = [MANDATE_DOWNLOAD_ABOUT]

/** Adds what signees of mandates ask for beside the interface: the PDF. */
function addMandateRoutes(
  server: FastifyInstance,
  { visit }: Pages,
  deps: Omit<Parameters<typeof mandateDownload>[0], 'authenticate'>,
  { authenticate, rateLimit }: Pick<HttpDeps, 'authenticate' | 'rateLimit'>,
): void {
  const counted = async (authorization: string, address: string): Promise<Caller> => {
    const caller = await authenticate(authorization, address)
    const { refusal } = rateLimit(caller)
    if (refusal) throw refusal
    return caller
  }
  addDownload(server, mandateDownload({ ...deps, authenticate: counted }), visit)
}

/** Makes the function that gives a request of a caller its context. */
const contextsOf =
  (realClock: RealClock, log: Logger, { hasMailServer, publicUrl }: AppSettings) =>
  (caller: Caller): RequestContext => ({
    account: caller.account,
    moment: momentOf(caller.account, realClock),
    caller,
    actor: `key ${caller.keyId}`,
    hasMailServer,
    publicUrl,
    warn: (facts, message) => log.warn(facts, message),
  })

/** Reads the figures that /metrics shows of the database. */
async function allFigures({ db, realClock, adapters }: Pick<AppDeps, 'db' | 'realClock' | 'adapters'>) {
  const unscoped: Database['unscoped'] = {
    ...db.unscoped,
    rows: (statement) => db.unscoped.rows(statement, FIGURES_ANSWER_MS),
  }
  return [
    ...(await readFigures({ unscoped }, realClock, ORDER_OF_DAY)),
    ...(await listVerificationFigures(unscoped)),
    ...(await listBatchFigures(unscoped, instantOf(realClock()))),
    ...(await listHoldFigures(unscoped)),
    ...(await listReportAges(unscoped, listingTypes({ adapters }))),
    ...(await listReplicationFigures(unscoped)),
    ...(await listWebhookFigures(unscoped, instantOf(realClock()))),
    ...(await listLongFigures(unscoped)),
    ...(await listProcessFigures(unscoped)),
  ]
}

/** Makes the figures of /metrics, with the age of the newest nightly copy where any are made. */
function metricsOf(deps: AppDeps, clock: SteadyClock): Metrics {
  const { db, realClock } = deps
  const { backupDir, version } = deps.settings
  const copyAge = backupDir === undefined ? {} : { readCopyAge: () => newestCopyAge(backupDir, realClock()) }
  return makeMetrics({ db, readFigures: () => allFigures(deps), ...copyAge, clock, version })
}

/** Makes what finds callers and counts their requests. */
const callersOf = (
  { authenticate }: Pick<ReturnType<typeof makeAuthenticator>, 'authenticate'>,
  { rateLimitPerMinute }: AppSettings,
  clock: SteadyClock,
) => ({ authenticate, rateLimit: makeRateLimit(rateLimitPerMinute, clock) })

/** Makes the bounds of reads that are large. */
const readPlaces = () => ({
  // Two for an account, more are refused (429). A long document counts until it is drawn.
  expensiveAnswers: new Places({ running: Infinity, perOwner: 2 }),
  // Of the process; beyond those that wait it is 503.
  expensiveReads: new Places({ running: 4, waiting: 100 }),
  knownLong: new KnownLong(),
})

/** Readers of the account of a transaction: alone, or with what was kept under the key of a request. */
const ACCOUNT_READERS: Pick<HttpDeps, 'freshAccount' | 'freshAccountUnder'> = {
  freshAccount: (tx) => getAccount(tx, tx.account),
  freshAccountUnder: (tx, keyed, realNow) => getAccountUnder(tx, tx.account, keyed, realNow),
}

/** Makes what draws documents, and lets the warnings of this process know the same fonts. */
function drawingOf({ settings: { root }, log, fonts }: AppDeps): Drawing {
  useFurtherFonts(fonts)
  return makeDrawing({ root, log, fonts })
}

/** Makes the clock of spans, and what knows whether the service is on its way out, whether the database is away, and whether anything is under way. */
const timesOf = ({ db, log, clock = steadyClock }: AppDeps) => ({
  clock,
  draining: { hasBegun: false },
  underway: new Underway(),
  outage: new Outage({
    log,
    counted: 'requests',
    answersSince: (momentMs) => answersSince(db.readiness(), momentMs),
    away: db.away,
  }),
})

/** Makes what a process asks the service about on its way out, or before it comes to rest. */
const controlsOf = ({
  underway,
  draining,
}: Pick<HttpDeps, 'underway' | 'draining'>): Pick<App, 'isAtRest' | 'beginDraining'> => ({
  isAtRest: () => underway.isNone,
  beginDraining: () => (draining.hasBegun = true),
})

export async function buildApp(deps: AppDeps): Promise<App> {
  const { db, envelope, adapters, outbound, log, realClock, clock = steadyClock, settings } = deps
  const authenticator = makeAuthenticator(db, realClock, { clock, log })
  const metrics = metricsOf(deps, clock)
  const drawing = drawingOf(deps)
  const hashing = deps.hashing ?? makeHashing({ root: settings.root })
  const longDb = db.apart(LONG_CONNECTIONS)
  const times = timesOf(deps)
  const links = makeLinks(envelope, settings.publicUrl)
  const operations = allOperations({
    ...settings,
    links,
    db,
    longDb,
    log,
    drawing,
    realClock,
    order: ORDER_OF_DAY,
    forgetAccount: authenticator.forget,
    runFinished: metrics.runFinished,
    sealer: envelope.under('outbox'),
    envelope,
    adapters,
    outbound,
    hashing,
  })
  const outward = { outwardPlaces: new Places(OUTWARD), secrets: idempotencySecrets(envelope) }
  const callers = callersOf(authenticator, settings, clock)
  const pages = allPages(deps, links, { ...deps, ...outward, drawing, links })
  const server = buildServer(
    {
      db,
      longDb,
      longOperations: new LongOperations({ db, longDb }),
      ...times,
      ...outward,
      log,
      realClock,
      publicUrl: settings.publicUrl,
      trustProxy: settings.trustProxy,
      bounds: settings.bounds,
      bodies: new Bodies(BODY_BOUNDS, db.turns),
      corsOrigins: settings.corsOrigins,
      ...callers,
      contextOf: contextsOf(realClock, log, settings),
      ...ACCOUNT_READERS,
      groupedWrites: new GroupedWrites({ db, ...ACCOUNT_READERS, count: metrics.writesGrouped }),
      ...readPlaces(),
      metrics,
      slowRequests: new SlowRequests({ log, metrics, slowMs: settings.slowRequestMs }),
    },
    operations,
    pages,
  )
  addServicePages(server, { db, ...times, operations, downloads: DOWNLOADS, metrics, settings })
  addMandateRoutes(server, pages, { db, envelope, links, realClock, drawing, ownSeal: deps.ownSeal }, callers)
  addIntake(server, reportIntake({ db, envelope, adapters, realClock, clock }))
  const stopListening = await db.listen(ACCOUNT_CHANNEL, (account) => authenticator.forget(BigInt(account)))
  return {
    server,
    operations,
    pages,
    links,
    drawing,
    ...metrics,
    flush: authenticator.flushLastUse,
    ...controlsOf(times),
    close: async () => {
      times.outage.stop()
      await server.close()
      await Promise.all([drawing.close(), hashing.close()])
      await authenticator.flushLastUse()
      await stopListening()
      await longDb.close()
    },
  }
}
