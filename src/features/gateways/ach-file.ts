import type { Id } from '../../kernel/ids.ts'
import { dateIn, timeIn } from '../../kernel/zone.ts'
import { isAchLegible } from '../../rails/nacha/characters.ts'
import { RETRY_DESCRIPTION, traceOf } from '../../rails/nacha/layout.ts'
import { readNacha } from '../../rails/nacha/read.ts'
import {
  ACCOUNT_MAX,
  type AchBatch,
  type AchDebit,
  AMOUNT_MAX,
  ENTRY_CLASSES,
  type EntryClass,
  FILES_A_DAY,
  HOLDER_MAX,
  REFERENCE_MAX,
  TOTAL_MAX,
  writeNacha,
} from '../../rails/nacha/write.ts'
import { type AchSettings, achSettings } from './ach-settings.ts'
import type { AccountAnswer, BatchToBuild, Built, GatewayAdapter, GatewayCall, LineToBuild } from './contract.ts'
import { ACH_FILE } from './facts.ts'

/**
 * A gateway whose batches leave as NACHA files, which a person hands to the bank; returns and corrections come back by file. It calls nobody, so
 * nothing can fail but the facts, and there is no online check of bank accounts.
 */

/** Returns a sentence about what keeps a line out of a file; undefined where nothing does. */
function lackOf({ mandateDate, amountMinor, accountHolder, accountNumber, routingNumber }: LineToBuild) {
  if (mandateDate === null) return 'The payment method has no MandateDate.'
  if (amountMinor > AMOUNT_MAX) return 'Its amount is over 99999999.99, the most that an entry can have.'
  if (!isAchLegible(accountHolder, HOLDER_MAX)) return 'AccountHolder has no letter or digit that NACHA files carry.'
  if (routingNumber === null || accountNumber === null) return 'The payment method has no account in the United States.'
  if (accountNumber.length > ACCOUNT_MAX) return `Its account number has more than ${ACCOUNT_MAX} characters.`
  return undefined
}

/** Returns the class of an entry. Rule: of a company CCD, by a mandate that was signed on a page WEB, else as the Settings have it. */
const classOf = ({ defaultClass }: AchSettings, { isCompany, signedHere }: LineToBuild): EntryClass => {
  if (isCompany) return 'CCD'
  return signedHere ? 'WEB' : defaultClass
}

/** Returns the reference that comes back with answers of banks: that of the line, or without its account where that is too long. */
const referenceOf = ({ reference, paymentId }: LineToBuild): string =>
  reference.length <= REFERENCE_MAX ? reference : `P${paymentId}`

function debitOf(odfi: string, batchId: Id, entryClass: EntryClass, line: LineToBuild, place: number): AchDebit {
  const frequency = line.signedHere === 'once' ? 'S' : 'R'
  return {
    isSavings: line.accountType === 'Savings',
    routing: line.routingNumber ?? '',
    account: line.accountNumber ?? '',
    amountMinor: line.amountMinor,
    reference: referenceOf(line),
    accountHolder: line.accountHolder,
    frequency: entryClass === 'WEB' ? frequency : null,
    trace: traceOf(odfi, batchId, place),
  }
}

/** A batch record with the payments of its debits, in their order. */
interface Group extends AchBatch {
  debits: AchDebit[]
  paymentIds: Id[]
}

/** Parts lines into batch records. Rule: by class, those that are made again after all others; places in traces count through the file. */
function groupsOf(settings: AchSettings, { batchId, lines }: BatchToBuild): Group[] {
  const sorted = lines.toSorted((a, b) => Number(a.paymentId - b.paymentId))
  const groups: Group[] = []
  let place = 0
  for (const isRepeat of [false, true])
    for (const entryClass of ENTRY_CLASSES) {
      const own = sorted.filter(
        (line) => classOf(settings, line) === entryClass && (line.isRepeat ?? false) === isRepeat,
      )
      if (own.length === 0) continue
      const usual = entryClass === 'WEB' && settings.isPurchase ? 'PURCHASE' : settings.description
      groups.push({
        entryClass,
        description: isRepeat ? RETRY_DESCRIPTION : usual,
        debits: own.map((line) => debitOf(settings.odfi, batchId, entryClass, line, (place += 1))),
        paymentIds: own.map(({ paymentId }) => paymentId),
      })
    }
  return groups
}

const totalOf = (debits: readonly AchDebit[]): bigint => debits.reduce((sum, { amountMinor }) => sum + amountMinor, 0n)

/** Returns why no file can be made whatever becomes of single lines; undefined where one can. */
function reasonAgainst(settings: AchSettings, groups: readonly Group[], fileOfDay: number): string | undefined {
  if (fileOfDay >= FILES_A_DAY)
    return `A gateway can make ${FILES_A_DAY} files a day, which a letter or digit tells apart; submit the batch on another day.`
  const totals = groups.map(({ debits }) => totalOf(debits))
  if (totals.reduce((sum, total) => sum + total, 0n) > TOTAL_MAX)
    return 'Its total is over 9999999999.99, the most that a file can have.'
  if (settings.offset && totals.some((total) => total > AMOUNT_MAX))
    return 'The debits of one class are over 99999999.99 together, the most that the entry which balances them can have.'
  return undefined
}

/** Returns what the finished text lacks, by what was to stand in it; undefined where it reads back equal and adds up. */
function problemOf(text: string, groups: readonly Group[]): string | undefined {
  const file = readNacha(Buffer.from(text, 'latin1'))
  if (file.kind === 'refused') return file.message
  const wanted = groups.flatMap(({ debits }) => debits.map(({ trace, amountMinor }) => `${trace} ${amountMinor}`))
  const traces = new Set(groups.flatMap(({ debits }) => debits.map(({ trace }) => trace)))
  const found = file.batches
    .flatMap(({ entries }) => entries.filter(({ trace }) => traces.has(trace)))
    .map(({ trace, amountMinor }) => `${trace} ${amountMinor}`)
  return found.join() === wanted.join() && file.paddedCount === 0
    ? undefined
    : 'The file does not read back as it was made.'
}

/** Builds the file and checks the finished text: nothing is offered that does not read back and add up. */
function build({ settings: kept }: Pick<GatewayCall, 'settings'>, batch: BatchToBuild): Built {
  const settings = achSettings(kept)
  const { submittedAt, zone, fileOfDay, batchId, actionDate } = batch
  const refused = batch.lines.flatMap((line) => {
    const reason = lackOf(line)
    return reason === undefined ? [] : [{ paymentId: line.paymentId, reason }]
  })
  if (refused.length > 0) return { kind: 'refused', lines: refused }
  const groups = groupsOf(settings, batch)
  const against = reasonAgainst(settings, groups, fileOfDay ?? 0)
  if (against !== undefined) return { kind: 'refused', lines: [], reason: against }
  const text = writeNacha({
    ...settings,
    writtenOn: dateIn(submittedAt, zone),
    writtenAt: timeIn(submittedAt, zone),
    fileOfDay: fileOfDay ?? 0,
    actionDate,
    batchId,
    batches: groups,
  })
  const problem = problemOf(text, groups)
  if (problem !== undefined) return { kind: 'refused', lines: [], reason: problem }
  const traces = groups.flatMap(({ paymentIds, debits }) =>
    paymentIds.map((id, index) => [id, debits[index]?.trace ?? ''] as const),
  )
  const name = `ach-${actionDate}-${batch.token.replaceAll('-', '')}.ach`
  const file = { name, mediaType: 'text/plain; charset=us-ascii', bytes: Buffer.from(text, 'latin1') }
  return { kind: 'built', file, traces: new Map(traces) }
}

/** A debit that could stand in any file: what is wrong with it lies in the Settings. */
const PROBE: LineToBuild = {
  kind: 'ach',
  paymentId: 1n,
  reference: 'P1-1',
  chargeReference: '1',
  amountMinor: 100n,
  accountType: 'Checking',
  accountHolder: 'Test',
  bank: 'Test',
  accountNumber: '1',
  branchCode: null,
  routingNumber: '081000210',
  iban: null,
  bic: null,
  mandateReference: null,
  mandateDate: '2026-01-01',
  hasAccountChanged: false,
  invoiceNumbers: ['1'],
}

/** Tries the Settings: whether a file can be built with them. */
function check(call: GatewayCall): AccountAnswer {
  const missing = ACH_FILE.needed.find((name) => call.settings[name] === undefined)
  if (missing !== undefined) return { kind: 'refused', reason: `Settings.${missing} is not set.` }
  const built = build(call, {
    token: '00000000-0000-4000-8000-000000000000',
    batchId: 1n,
    currency: 'USD',
    actionDate: '2027-01-07',
    submittedAt: call.now,
    zone: 'UTC',
    fileOfDay: 0,
    lines: [PROBE],
  })
  if (built.kind === 'built') return { kind: 'accepted' }
  return { kind: 'refused', reason: built.reason ?? built.lines[0]?.reason ?? '' }
}

export const achFile: GatewayAdapter = {
  ...ACH_FILE,
  check: async (call) => check(call),
  buildBatch: async (call, batch) => build(call, batch),
}
