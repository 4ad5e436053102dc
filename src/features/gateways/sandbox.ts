import { createHash } from 'node:crypto'
import type { CardBrand } from '../../kernel/bank-numbers.ts'
import type { DeclineClass } from '../../kernel/rails.ts'
import { accountRefusalOf } from '../../sandbox/conduct.ts'
import type { ReportType, SandboxReport } from '../../sandbox/queries.ts'
import {
  type ChargeChangeView,
  type ChargeView,
  isSignedReport,
  makeSandbox,
  type NoAnswer,
  type RefundView,
  type SandboxCall,
  type SandboxFault,
  signReport,
} from '../../sandbox/sandbox.ts'
import type { Database } from '../../platform/database/database.ts'
import type {
  ChargeChange,
  ChargeState,
  Declined,
  GatewayAdapter,
  GatewayCall,
  GatewayReport,
  None,
  NotSent,
  Outcome,
  ReportsRead,
  StoredCard,
  Unknown,
} from './contract.ts'
import { SANDBOX } from './facts.ts'

/** Translates between the sandbox and the words of the contract. */

/** The page on which the sandbox plays the customer's bank, below the frame of a capture session. */
const SANDBOX_BANK = './bank'

const CLASSES: Record<string, readonly [DeclineClass, string]> = {
  card_declined: ['declined', 'The card was declined.'],
  insufficient_funds: ['insufficient_funds', 'The card has too little money.'],
  debit_insufficient_funds: ['insufficient_funds', 'The account has too little money.'],
  debit_account_closed: ['account_closed', 'The account is closed.'],
  debit_no_mandate: ['no_mandate', 'The bank knows no mandate.'],
  expired_card: ['method_expired', 'The card has expired.'],
  no_such_card: ['invalid_account', 'The gateway does not hold this card.'],
  cancelled: ['action_required', 'The customer did not confirm the payment.'],
  refund_refused: ['declined', 'The refund was refused.'],
  refund_failed: ['declined', 'The refund came back.'],
  not_refundable: ['declined', 'There is not as much left of the charge.'],
}
const GENERIC = ['declined', 'The gateway declined.'] as const

function declined(code: string, on: string): Declined {
  const [declineClass, message] = CLASSES[code] ?? GENERIC
  return { kind: 'declined', class: declineClass, code, message, on }
}

/** Makes the sandbox one of the gateways; `keyedHash` makes fingerprints of card numbers and the secret that its reports are signed with. */
export function sandboxAdapter(db: Database, keyedHash: (text: string) => Buffer): GatewayAdapter {
  const sandbox = makeSandbox(db, (number) => keyedHash(`card ${number}`).toString('hex'))
  return {
    ...SANDBOX,
    check: async (call) => {
      const { fault } = callOf(call)
      if (fault === 'none') return { kind: 'accepted' }
      return { kind: fault === 'refused' ? 'not_sent' : 'unknown' }
    },
    storeCard: async (call, { cardType, ...card }) => {
      const stored = await sandbox.storeCard(callOf(call), { ...card, brand: cardType })
      switch (stored.kind) {
        case 'declined':
          return declined(stored.code, call.today)
        // It was removed since.
        case 'none':
          return { kind: 'unknown' }
        default:
          return shownCard<NoAnswer>(stored)
      }
    },
    findStored: async (call, { reference }) => shownCard(await sandbox.findStored(callOf(call), reference)),
    askStored: async (call, token) => shownCard(await sandbox.askStored(callOf(call), token)),
    findToken: async (call, token) => shownCard(await sandbox.askStored(callOf(call), token)),
    removeStored: (call, token) => sandbox.removeStored(callOf(call), token),
    verifyAccount: async (_call, { accountNumber, iban }) => {
      const reason = accountRefusalOf(iban ?? accountNumber ?? '')
      return reason === null ? { kind: 'accepted' } : { kind: 'refused', reason: 'The bank knows no such account.' }
    },
    charge: async (call, charge) => {
      const view = await sandbox.charge(callOf(call), charge)
      // Its caller learns of what arrived and was lost by asking.
      return view.kind === 'none' ? { kind: 'unknown' } : outcomeOf(charge.reference, view)
    },
    askCharge: async (call, { reference }) =>
      chargeStateOf(reference, await sandbox.askCharge(callOf(call), reference)),
    cancelCharge: async (call, { reference }) => {
      const view = await sandbox.cancelCharge(callOf(call), reference)
      return view.kind === 'none' ? view : outcomeOf(reference, view)
    },
    playBank: async (call, { reference }, isConfirmed) => {
      const view = await sandbox.playBank(callOf(call), reference, isConfirmed)
      return view.kind === 'none' ? view : outcomeOf(reference, view)
    },
    buildBatch: async () => ({ kind: 'built', file: null }),
    submitBatch: async (call, { actionDate, currency, lines }) => {
      const debits = lines.map(({ chargeReference, iban, accountNumber, amountMinor }) => ({
        reference: chargeReference,
        number: iban ?? accountNumber ?? '',
        amountMinor,
      }))
      return sandbox.debit(callOf(call), { actionDate, currency, debits })
    },
    refund: async (call, { reference, charge, amountMinor }) => {
      const view = await sandbox.refund(callOf(call), { reference, chargeReference: charge.reference, amountMinor })
      return view.kind === 'none' ? { kind: 'unknown' } : refundOutcomeOf(reference, view)
    },
    askRefund: async (call, { reference }) => {
      const view = await sandbox.askRefund(callOf(call), reference)
      return view.kind === 'none' ? view : refundOutcomeOf(reference, view)
    },
    listReports: async (call, { cursor, since }) => {
      const [dueOn = '', id = '0'] = (cursor ?? since.slice(0, 10)).split('/')
      const listed = await sandbox.listReports(callOf(call), { dueOn, id: BigInt(id) }, REPORTS_A_LOOK)
      if (listed.kind !== 'listed') return listed
      const last = listed.reports.at(-1)
      return {
        kind: 'listed',
        reports: listed.reports.map(sandboxReportOf),
        cursor: last ? `${last.dueOn}/${last.id}` : `${dueOn}/${id}`,
        isMore: listed.reports.length === REPORTS_A_LOOK,
      }
    },
    readReport: (whose, raw, headers, realNow) => {
      const [id, stamp, signature] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map(
        (name) => headers[name],
      )
      if (typeof id !== 'string' || typeof stamp !== 'string' || typeof signature !== 'string') return REFUSED
      const seconds = Number(stamp)
      const isRight = isSignedReport(
        secretOf(whose, keyedHash),
        { id, seconds, signature },
        raw,
        Date.parse(realNow) / 1000,
      )
      return isRight ? reportsIn(whose, id, raw) : REFUSED
    },
  }
}

const REFUSED = { kind: 'refused' } as const

type Whose = Parameters<NonNullable<GatewayAdapter['readReport']>>[0]

const secretOf = (whose: Whose, keyedHash: (text: string) => Buffer): Buffer => {
  const given = whose.settings['EventSecret']
  return typeof given === 'string'
    ? createHash('sha256').update(given).digest()
    : keyedHash(`reports ${whose.accountId} ${whose.gatewayId}`)
}

/** Makes the request that the sandbox reports with, of one thing or of several: its body, and the headers that sign it. */
export function sandboxReport(
  whose: Whose,
  keyedHash: (text: string) => Buffer,
  reports: readonly GatewayReport[],
  realNow: string,
): { raw: Buffer; headers: Record<string, string> } {
  const raw = Buffer.from(JSON.stringify(reports.map((report) => ({ ...report, scope: whose.scope }))))
  const seconds = Math.floor(Date.parse(realNow) / 1000)
  const id = reports[0]?.id ?? 'none'
  const signature = signReport(secretOf(whose, keyedHash), id, seconds, raw)
  return {
    raw,
    headers: { 'webhook-id': id, 'webhook-timestamp': String(seconds), 'webhook-signature': signature },
  }
}

const ABOUT = ['charge', 'refund', 'stored'] as const

/** Reads the reports of a body. Rule: what bears another scope is somebody else's; a body of a program before is one report, with its identifier in a header. */
function reportsIn(whose: Whose, id: string, raw: Buffer): ReportsRead {
  try {
    const body: unknown = JSON.parse(raw.toString('utf8'))
    const all = (Array.isArray(body) ? body : [{ ...(body as object), id }]) as Record<string, unknown>[]
    const reports = all.flatMap(({ scope, ...one }) => {
      const about = ABOUT.find((word) => word === one['about'])
      const { id: itsId, reference, gatewayReference } = one
      if (about === undefined || typeof itsId !== 'string' || typeof reference !== 'string') throw REFUSED
      if (typeof gatewayReference !== 'string' && gatewayReference !== undefined) throw REFUSED
      const report = { id: itsId, about, reference, ...(gatewayReference !== undefined && { gatewayReference }) }
      return scope === undefined || scope === whose.scope ? [report] : []
    })
    if (all.length === 0) throw REFUSED
    return { kind: 'read', reports }
  } catch {
    return REFUSED
  }
}

const REPORTS_A_LOOK = 100

const ABOUT_OF: Readonly<Record<ReportType, GatewayReport['about']>> = {
  'charge.settled': 'charge',
  'charge.returned': 'charge',
  'charge.dispute_won': 'charge',
  'charge.refunded': 'charge',
  'refund.updated': 'refund',
  'card.updated': 'stored',
}

/** Writes what stands in the book as a report, however it comes. */
export const sandboxReportOf = ({ id, type, reference }: SandboxReport): GatewayReport => ({
  id: `sandbox-${id}`,
  about: ABOUT_OF[type],
  reference,
  ...(ABOUT_OF[type] === 'charge' && { gatewayReference: nameOfCharge(reference) }),
})

/** Returns the sandbox's name of a charge. */
const nameOfCharge = (reference: string): string => `sandbox-charge-${reference}`

function callOf({ settings: { LatencyMs, Fault }, accountId: account, ...call }: GatewayCall): SandboxCall {
  return {
    account,
    ...call,
    latencyMs: typeof LatencyMs === 'number' ? LatencyMs : 0,
    fault: (Fault ?? 'none') as SandboxFault,
  }
}

type StoredView = Omit<StoredCard, 'cardType'> & { kind: 'stored'; brand: string }

function shownCard<Other extends None | NoAnswer>(view: StoredView | Other): ({ kind: 'stored' } & StoredCard) | Other {
  if (view.kind !== 'stored') return view as Other
  const { brand, ...card } = view as StoredView
  return { ...card, cardType: brand as CardBrand }
}

function outcomeOf(reference: string, view: Exclude<ChargeView, { kind: 'none' }> | NoAnswer): Outcome {
  const gatewayReference = nameOfCharge(reference)
  switch (view.kind) {
    case 'succeeded':
      return { kind: 'succeeded', gatewayReference, on: view.on }
    case 'declined':
      return declined(view.code, view.on)
    case 'pending':
      return { kind: 'pending', gatewayReference }
    case 'requires_action':
      return { kind: 'requires_action', gatewayReference, url: SANDBOX_BANK }
    default:
      return view
  }
}

const CHANGED: Readonly<Record<ChargeChangeView['kind'], string>> = {
  returned: 'The customer’s bank took the money back.',
  dispute_won: 'The dispute was won.',
  refunded: 'Refunded at the gateway.',
}

function chargeStateOf(reference: string, view: ChargeView | NoAnswer): ChargeState | Unknown | NotSent {
  if (view.kind === 'none') return { outcome: view, changes: [] }
  if (view.kind !== 'succeeded') {
    const outcome = outcomeOf(reference, view)
    return outcome.kind === 'unknown' || outcome.kind === 'not_sent' ? outcome : { outcome, changes: [] }
  }
  const changes = view.changes.map(({ kind, on, amountMinor }): ChargeChange => ({
    kind,
    reference: `${kind}-${reference}`,
    on,
    amountMinor,
    class: 'refunded_late',
    code: kind,
    message: CHANGED[kind],
  }))
  return { outcome: outcomeOf(reference, view), changes }
}

function refundOutcomeOf(reference: string, view: Exclude<RefundView, { kind: 'none' }> | NoAnswer): Outcome {
  const gatewayReference = `sandbox-refund-${reference}`
  switch (view.kind) {
    case 'succeeded':
      return { kind: 'succeeded', gatewayReference, on: view.on }
    case 'pending':
      return { kind: 'pending', gatewayReference }
    case 'declined':
      return declined(view.code, view.on)
    default:
      return view
  }
}
