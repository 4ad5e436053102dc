import { isOutsideEea } from '../../kernel/bank-numbers.ts'
import type { Id } from '../../kernel/ids.ts'
import { checkPain008 } from '../../rails/sepa/check-pain008.ts'
import { sepaText } from '../../rails/sepa/characters.ts'
import {
  type DirectDebit,
  messageIdOf,
  NAME_MAX,
  paymentInformationIdOf,
  REMITTANCE_MAX,
  writePain008,
} from '../../rails/sepa/pain008.ts'
import type { AccountAnswer, BatchToBuild, Built, GatewayAdapter, GatewayCall, LineToBuild } from './contract.ts'
import { SEPA_FILE } from './facts.ts'
import { sepaSettings, type SepaSettings } from './sepa-settings.ts'

/**
 * A gateway whose batches leave as pain.008 files, which a person hands to the bank; results come back by file or by hand. It calls nobody, so
 * nothing can fail but the facts, and there is no online check of bank accounts.
 */

/** Returns whether the scheme wants the address of a payer. Rule: one of the two accounts lies outside of the European Economic Area. */
const isAddressNeeded = ({ creditor }: SepaSettings, { iban }: LineToBuild): boolean =>
  [creditor.iban, iban ?? ''].some((number) => isOutsideEea(number.slice(0, 2)))

/** Returns a sentence about what a line lacks before it can be written; undefined where it lacks nothing. */
function lackOf(settings: SepaSettings, line: LineToBuild): string | undefined {
  if (line.mandateReference === null || line.mandateDate === null)
    return 'The payment method has no MandateReference and MandateDate.'
  if (isAddressNeeded(settings, line) && !line.address)
    return 'The customer has no city and country, which banks outside of the European Economic Area ask for.'
  return undefined
}

const MORE = ' ...'

/** Returns what a payer reads on the statement: whose debit it is, and the invoices that it pays, as many whole numbers as there is room for. */
function remittanceOf(creditor: string, numbers: readonly string[]): string {
  const [name, [first, ...others]] = [sepaText(creditor, NAME_MAX), numbers]
  if (first === undefined) return name
  let text = `${name}: ${others.length > 0 ? 'Invoices' : 'Invoice'} ${first}`
  for (const [index, number] of others.entries()) {
    const longer = `${text}, ${number}`
    const isLast = index === others.length - 1
    if (longer.length + (isLast ? 0 : MORE.length) > REMITTANCE_MAX) return text + MORE
    text = longer
  }
  return text
}

const debitOf = (settings: SepaSettings, line: LineToBuild): DirectDebit => ({
  reference: line.reference,
  amountMinor: line.amountMinor,
  mandateReference: line.mandateReference ?? '',
  mandateDate: line.mandateDate ?? '',
  hasAccountChanged: line.hasAccountChanged,
  accountHolder: line.accountHolder,
  address: isAddressNeeded(settings, line) ? (line.address ?? null) : null,
  iban: line.iban ?? '',
  bic: line.bic ?? '',
  remittance: remittanceOf(settings.creditor.name, line.invoiceNumbers),
})

/** Builds the file and checks the finished text: nothing is offered that the check finds wrong. */
function build({ settings: kept }: Pick<GatewayCall, 'settings'>, batch: Omit<BatchToBuild, 'batchId'>): Built {
  const settings = sepaSettings(kept)
  const reasons = new Map<Id, string>()
  for (const line of batch.lines) {
    const lack = lackOf(settings, line)
    if (lack !== undefined) reasons.set(line.paymentId, lack)
  }
  const lines = batch.lines.filter(({ paymentId }) => !reasons.has(paymentId))
  const xml = writePain008({
    ...settings,
    createdAt: batch.submittedAt,
    messageId: messageIdOf(batch.token),
    paymentInformationId: paymentInformationIdOf(batch.token),
    collectionDate: batch.actionDate,
    debits: lines.map((line) => debitOf(settings, line)),
  })
  const payments = new Map(lines.map(({ reference, paymentId }) => [reference, paymentId]))
  let reason: string | undefined
  for (const problem of lines.length > 0 ? checkPain008(xml) : []) {
    const paymentId = problem.reference === null ? undefined : payments.get(problem.reference)
    if (paymentId === undefined) reason ??= `${problem.message}.`
    else if (!reasons.has(paymentId)) reasons.set(paymentId, `${problem.message}.`)
  }
  if (reason !== undefined) return { kind: 'refused', lines: [], reason }
  if (reasons.size > 0)
    return { kind: 'refused', lines: [...reasons].map(([paymentId, reason]) => ({ paymentId, reason })) }
  const name = `pain.008-${batch.actionDate}-${messageIdOf(batch.token)}.xml`
  return { kind: 'built', file: { name, mediaType: 'application/xml', bytes: Buffer.from(xml) } }
}

/** A debit that could stand in any file: what the check finds wrong with it lies in the Settings. */
const PROBE: LineToBuild = {
  kind: 'sepa',
  paymentId: 1n,
  reference: 'P1-1',
  chargeReference: '1',
  amountMinor: 100n,
  accountType: 'Current',
  accountHolder: 'Test',
  bank: 'Test',
  accountNumber: null,
  branchCode: null,
  routingNumber: null,
  iban: 'DE89370400440532013000',
  bic: 'COBADEFFXXX',
  mandateReference: 'TEST',
  mandateDate: '2026-01-01',
  hasAccountChanged: false,
  invoiceNumbers: ['1'],
  address: { street: null, postalCode: null, town: 'Berlin', country: 'DE' },
}

/** Tries the Settings: whether a file can be built with them. */
function check(call: GatewayCall): AccountAnswer {
  const missing = SEPA_FILE.needed.filter((name) => call.settings[name] === undefined)
  if (missing.length > 0) return { kind: 'refused', reason: `Settings.${missing[0]} is not set.` }
  const days = { actionDate: '2027-01-07', submittedAt: call.now, currency: 'EUR', zone: 'UTC', fileOfDay: null }
  const built = build(call, { ...days, token: '00000000-0000-4000-8000-000000000000', lines: [PROBE] })
  if (built.kind === 'built') return { kind: 'accepted' }
  return { kind: 'refused', reason: built.reason ?? built.lines[0]?.reason ?? '' }
}

export const sepaFile: GatewayAdapter = {
  ...SEPA_FILE,
  check: async (call) => check(call),
  buildBatch: async (call, batch) => build(call, batch),
}
