import { setImmediate as turn } from 'node:timers/promises'
import { type IsoDate, later } from '../../kernel/calendar.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { conflict, invalid } from '../../kernel/fault.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import type { BankAmount, CheckedResultFile, PartLine, ResultLine } from '../../platform/iso20022/result-lines.ts'
import { isBetweenBanks } from '../../rails/nacha/codes.ts'
import { type AchEntry, type AchFileRead, nachaReading, strangeIn, takesMoney } from '../../rails/nacha/read.ts'
import { settingsOf } from '../gateways/call.ts'
import type { GatewayFacts } from '../gateways/facts.ts'
import type { Gateway } from '../gateways/queries.ts'
import type { ResultDeps } from './deps.ts'
import { listByTrace, listSentCompanies, type TracedPayment } from './match-queries.ts'

/**
 * NACHA files of banks, as lines: returns become parts that name the payment whose trace they have, so that all rules of bookings hold for them;
 * corrections of accounts are lines of their own.
 */

/** A correction of an account by the bank that has it (notification of change). */
export interface ChangeLine {
  kind: 'change'
  code: string
  /** As the file has it. */
  corrected: string
  on: IsoDate
  /** The debit that the bank corrects; null where none of the gateway has its trace. */
  paymentId: Id | null
  /** Names this correction for good. */
  bankReference: string
  reference: string
  name: string | null
}

export type LineOfFile = ResultLine | ChangeLine

/** A file of whichever format that was read as a whole, and so can be worked on. */
export interface CheckedFileOfBank extends Pick<CheckedResultFile, 'format' | 'otherAccounts' | 'statusMissing'> {
  linesPadded?: number
  lines(): Iterable<readonly LineOfFile[]>
}

/** Traces that are looked up together. */
const TRACES_AT_ONCE = 5_000
const CURRENCY = 'USD'

/** Reads a NACHA file for a gateway and finds the payments that it is about. Throws what stands against it. */
export async function checkNacha(
  deps: ResultDeps,
  { account: { id: account } }: RequestContext,
  { gateway, companyOf }: { gateway: Gateway; companyOf: NonNullable<GatewayFacts['nachaCompany']> },
  bytes: Buffer,
): Promise<CheckedFileOfBank> {
  const file = await readWhole(bytes, deps.about?.gone)
  const db = deps.db.reader(account)
  // The Settings may have changed since debits left: their answers have the company of then.
  const companies = [
    companyOf(settingsOf(deps.envelope, account, gateway)),
    ...(await listSentCompanies(db, account, gateway.id)),
  ]
  const ours = file.batches.filter(({ companyId }) => companies.includes(companyId.toUpperCase()))
  if (ours.length === 0 && file.batches.length > 0)
    throw conflict('other_account', 'No batch of the file is of the CompanyID of the gateway.', 'gatewayID')
  const entries = ours.flatMap((batch) => batch.entries)
  const payments = await paymentsOf(db, account, gateway.id, entries)
  return {
    format: 'nacha',
    otherAccounts: file.batches.length - ours.length,
    statusMissing: 0,
    linesPadded: file.paddedCount,
    lines: function* () {
      yield entries.map((entry) => lineOf(account, file.on, entry, payments))
    },
  }
}

async function readWhole(bytes: Buffer, gone: AbortSignal | undefined): Promise<AchFileRead> {
  const reading = nachaReading(bytes)
  for (;;) {
    const { done, value } = reading.next()
    if (done) {
      if (value.kind === 'refused') throw invalid('file_unreadable', value.message)
      return value
    }
    await turn()
    gone?.throwIfAborted()
  }
}

/** Finds the newest debit of the gateway by each trace that entries are about. */
async function paymentsOf(
  db: Queryable,
  account: AccountId,
  gatewayId: Id,
  entries: readonly AchEntry[],
): Promise<ReadonlyMap<string, TracedPayment>> {
  const traces = [...new Set(entries.flatMap(({ about }) => (about ? [about.originalTrace] : [])))]
  const found = new Map<string, TracedPayment>()
  for (let from = 0; from < traces.length; from += TRACES_AT_ONCE)
    for (const payment of await listByTrace(db, account, gatewayId, traces.slice(from, from + TRACES_AT_ONCE)))
      found.set(payment.trace, payment)
  return found
}

function lineOf(
  account: AccountId,
  fileOn: IsoDate,
  entry: AchEntry,
  payments: ReadonlyMap<string, TracedPayment>,
): LineOfFile {
  const { about } = entry
  const payment = about && payments.get(about.originalTrace)
  if (about?.kind === 'change')
    return {
      kind: 'change',
      code: about.code,
      corrected: about.corrected,
      on: fileOn,
      paymentId: payment && isNamedBy(account, entry, payment) ? payment.id : null,
      bankReference: referenceOfBank(entry),
      reference: textOf(entry),
      name: entry.name || null,
    }
  return partOf(account, fileOn, entry, payment)
}

/** Returns whether an entry has the reference that its debit left with. Rule: another that begins with P is of another debit; others are the bank's. */
const isNamedBy = (account: AccountId, { reference }: AchEntry, { id }: TracedPayment): boolean =>
  !reference.startsWith('P') || reference === `P${account}-${id}` || reference === `P${id}`

/** Returns by what a return or correction is recognised in any file: its own trace, that of the debit, and its code. */
const referenceOfBank = ({ trace, about }: AchEntry): string =>
  `${trace} ${about?.originalTrace ?? ''} ${about?.code ?? ''}`

const textOf = ({ reference, trace, about }: AchEntry): string =>
  [reference, about?.originalTrace ?? trace, about?.kind === 'return' ? about.text : ''].filter(Boolean).join(' ')

/** Codes of entries that neither return nor correct anything. */
const CHECK_DIGIT = 'check_digit'
const ENTRY = 'entry'

/** Returns an entry as a part. Rule: a return of a debit with our reference is applied; all others wait for a person. */
function partOf(account: AccountId, fileOn: IsoDate, entry: AchEntry, payment: TracedPayment | undefined): PartLine {
  const { about, amountMinor, name } = entry
  const isReturn = about?.kind === 'return' && !isBetweenBanks(about.code)
  const isOurs = payment !== undefined && isNamedBy(account, entry, payment)
  const amount: BankAmount = { amountMinor, currency: CURRENCY }
  // The bank's file may be older than the day of the debit that it returns.
  const on = payment ? later(fileOn, payment.actionDate) : fileOn
  return {
    kind: 'part',
    entry: {
      account: null,
      on,
      amount,
      isCredit: false,
      isUnreadable: false,
      bankReference: null,
      details: 1,
      isWhole: false,
      knownMinor: amountMinor,
      unknownParts: 0,
    },
    index: 1,
    amount,
    original: null,
    // Without a direction it is none of the lines that a person may apply.
    isCredit: isReturn ? false : null,
    isContrary: !isReturn || !isOurs || !takesMoney(entry.transactionCode),
    isUnreadable: false,
    isReversal: false,
    hasReturnInformation: isReturn,
    family: null,
    subFamily: null,
    code: about?.code ?? (strangeIn(entry) === undefined ? ENTRY : CHECK_DIGIT),
    references: {
      endToEnd: payment ? `P${account}-${payment.id}` : null,
      instruction: null,
      paymentInformation: null,
      message: null,
      mandate: null,
    },
    bankReference: referenceOfBank(entry),
    written: null,
    name: name || null,
    text: textOf(entry),
    isReferenceUnique: true,
  }
}
