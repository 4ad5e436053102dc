import type { IsoDate } from '../../kernel/calendar.ts'
import { groupBy } from '../../kernel/grouping.ts'
import { findCountry } from '../../kernel/countries.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import type { Envelope } from '../../platform/envelope/envelope.ts'
import { repeatStanding } from '../../rails/nacha/repeats.ts'
import type { LineToBuild, PayerAddress, RefusedLine } from '../gateways/contract.ts'
import { gatewayFactsOf } from '../gateways/facts.ts'
import type { Gateway } from '../gateways/queries.ts'
import { referenceFor } from '../gateways/references.ts'
import { openNumber } from '../payment-methods/actions.ts'
import { mandateProblem, mandateUsesOf } from '../payment-methods/mandates.ts'
import { listMethodsById, type MandateUse, NEVER_USED, type StoredMethod } from '../payment-methods/queries.ts'
import {
  type LineFacts,
  listLineFacts,
  listPaidInvoices,
  listPaidNumbers,
  listTracedDebits,
  type TracedDebit,
} from './line-queries.ts'
import type { Batch } from './queries.ts'
import { refusalOfMethod } from './rules.ts'

/** Lines as a gateway gets them, and those that it cannot get. */
export interface Readied {
  lines: readonly LineToBuild[]
  refused: readonly RefusedLine[]
  /** The method of each line, as it was used. */
  methods: ReadonlyMap<Id, StoredMethod>
}

/** Reads what a batch is built from; nothing of it changes while the batch is in state build. */
export async function readyLines(
  db: Queryable,
  envelope: Envelope,
  account: AccountId,
  batch: Batch,
  gateway: Gateway,
): Promise<Readied> {
  const facts = await listLineFacts(db, account, batch.id)
  const paid = await listPaidNumbers(
    db,
    account,
    facts.map(({ id }) => id),
  )
  const numbers = groupBy(paid, ({ lineId }) => lineId)
  const found = await listMethodsById(db, account, [...new Set(facts.map(({ paymentMethodId }) => paymentMethodId))])
  const methodOf = new Map(found.map((method) => [method.id, method]))
  const uses = await mandateUsesOf(db, account, found)
  const { needsMandates, boundsRepeats } = gatewayFactsOf(gateway.type)
  const before = boundsRepeats ? await debitsBefore(db, account, facts) : undefined
  const lines: LineToBuild[] = []
  const refused: RefusedLine[] = []
  const methods = new Map<Id, StoredMethod>()
  for (const line of facts) {
    const method = methodOf.get(line.paymentMethodId)
    const use = uses.get(line.paymentMethodId) ?? NEVER_USED
    // What was handed over already is asked about, whatever has become of its method.
    const isCalled = line.sentAt !== null || line.refusal !== null || line.gatewayReference !== null
    const refusal =
      isCalled || !method
        ? undefined
        : (refusalOfMethod(gateway, method) ??
          (needsMandates ? mandateProblem(needsMandates, method, use.lastUsedOn, batch.actionDate) : undefined))
    if (!method || refusal) {
      const gone = `payment method ${line.paymentMethodId} is gone.`
      refused.push({ paymentId: line.id, reason: refusal?.message ?? gone })
      continue
    }
    const standing = standingAmong(before?.get(line.id) ?? [], line, { method, actionDate: batch.actionDate })
    if (standing === 'too_many') {
      refused.push({ paymentId: line.id, reason: REPEATED })
      continue
    }
    methods.set(line.id, method)
    const invoiceNumbers = (numbers.get(line.id) ?? []).map(({ number }) => String(number))
    const written = lineToBuild(envelope, account, line, method)
    const isRepeat = standing === 'repeat'
    lines.push({ ...written, invoiceNumbers, hasAccountChanged: hasAccountChanged(method, use), isRepeat })
  }
  return { lines, refused, methods }
}

const REPEATED =
  'The debit has come back for want of funds three times within 180 days, the most that Nacha allows of an account.'

/** Returns the debits that left before for the invoices of each line, oldest first. */
async function debitsBefore(
  db: Queryable,
  account: AccountId,
  lines: readonly LineFacts[],
): Promise<ReadonlyMap<Id, TracedDebit[][]>> {
  const lineIds = lines.map(({ id }) => id)
  const paid = await listPaidInvoices(db, account, lineIds)
  const sent = await listTracedDebits(db, account, [...new Set(paid.map(({ invoiceId }) => invoiceId))])
  const ofInvoice = groupBy(sent, ({ invoiceId }) => invoiceId)
  const ofLine = new Map<Id, TracedDebit[][]>()
  for (const { lineId, invoiceId } of paid)
    ofLine.set(lineId, [...(ofLine.get(lineId) ?? []), ofInvoice.get(invoiceId) ?? []])
  return ofLine
}

/** Returns what a line is beside the debits of its invoices: whatever one of them makes it. */
function standingAmong(
  before: readonly TracedDebit[][],
  { amountMinor }: LineFacts,
  { method, actionDate }: { method: StoredMethod; actionDate: IsoDate },
): ReturnType<typeof repeatStanding> {
  const next = { amountMinor, actionDate, account: method.numberHash?.toString('hex') ?? null }
  const found = before.map((debits) => repeatStanding(debits, next))
  return found.find((one) => one === 'too_many') ?? found.find((one) => one === 'repeat') ?? 'new'
}

function lineToBuild(envelope: Envelope, account: AccountId, line: LineFacts, method: StoredMethod) {
  const number = openNumber(envelope, account, method)
  const { kind, accountType, accountHolder, bank, branchCode, routingNumber, bic, mandateReference, mandateDate } =
    method
  return {
    paymentId: line.id,
    reference: `P${account}-${line.id}`,
    chargeReference: referenceFor(line),
    amountMinor: line.amountMinor,
    kind: kind as LineToBuild['kind'],
    accountType: accountType ?? '',
    accountHolder: accountHolder ?? '',
    bank: bank ?? '',
    accountNumber: kind === 'sepa' ? null : number,
    iban: kind === 'sepa' ? number : null,
    branchCode,
    routingNumber,
    bic,
    mandateReference,
    mandateDate: mandateDate as IsoDate | null,
    token: method.gatewayToken,
    address: addressOf(line),
    isCompany: line.isCompany,
    signedHere: signedHere(line),
  }
}

const signedHere = ({ frequency }: LineFacts): NonNullable<LineToBuild['signedHere']> | null => {
  if (frequency === null) return null
  return frequency === 'Once' ? 'once' : 'recurring'
}

/** Returns the structured address of the customer; null where town or country is missing. */
function addressOf({ address1, address2, city, postalCode, country }: LineFacts): PayerAddress | null {
  const found = findCountry(country ?? '')
  if (!city || !found) return null
  const street = [address1, address2].filter(Boolean).join(', ')
  return { street: street === '' ? null : street, postalCode: postalCode || null, town: city, country: found.code }
}

/** Returns whether a mandate goes on with another account than its bank knows: that of its last debit, else the one it was given for. */
export function hasAccountChanged(
  { numberHash, mandateNumberHash }: Pick<StoredMethod, 'numberHash' | 'mandateNumberHash'>,
  { sentNumberHash }: Pick<MandateUse, 'sentNumberHash'>,
): boolean {
  const known = sentNumberHash ?? mandateNumberHash
  return known !== null && !(numberHash && known.equals(numberHash))
}
