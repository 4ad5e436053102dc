import { groupBy } from '../../kernel/grouping.ts'
import { amountText } from '../../kernel/currencies.ts'
import { taxInvoice } from '../../engine/tax.ts'
import { decimalText } from '../../kernel/decimal.ts'
import type { Id, InvoiceId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { BATCHES_AT_ONCE, behindBatches, membersOf } from '../ledger/group-by-facts.ts'
import { listPostingPacks } from '../ledger/group-by-facts-queries.ts'
import type { Charge } from '../invoices/queries.ts'
import {
  AlikeInvoicesReader,
  checkCharge,
  checkReferences,
  ComputedShapes,
  type OneByOne,
} from '../invoices/group-by-facts.ts'
import {
  type CheckedInvoice,
  findInvoices,
  listCheckedCharges,
  listInvoicePage,
  listInvoicesOf,
} from '../invoices/group-by-facts-queries.ts'
import { type Check, type Report } from '../../platform/checks/difference.ts'
import { eachSpan, isRead, PAGE_SIZE, type Part, type CheckReading } from '../../platform/checks/pages.ts'
import {
  type AppliedTo,
  type CheckedTax,
  listAppliedTo,
  listCreditedOf,
  listCheckedTaxes,
  listInvoicesPosted,
} from './invoices-queries.ts'

/** Invoices follow from their lines: every charge, every tax and its shares, the total, and what is allocated to it. */

export const invoices: Check = {
  name: 'invoices',
  async run(tx, report, reading) {
    const computed = new ComputedShapes()
    const check = (page: readonly CheckedInvoice[]) => checkPage(tx, page, computed, report)
    const alike = new AlikeInvoicesReader()
    const looked = await eachSpan(
      reading,
      (after, limit) => findInvoices(tx, tx.account, after, limit),
      (span) => alike.look(tx, span, oneByOne(tx, new ComputedShapes()).some, oneByOne(tx, computed), report),
      INVOICES_AT_ONCE,
    )
    return looked + (reading.part ? await checkPosted(tx, reading.part, check, reading) : 0)
  },
}

/** Invoices that the database compares at once. */
const INVOICES_AT_ONCE = 4096

/** Returns how invoices are looked at, each by its own rows, a page at a time. */
const oneByOne = (tx: Transaction, computed: ComputedShapes): OneByOne => ({
  async some(ids, report) {
    for (let from = 0; from < ids.length; from += PAGE_SIZE)
      await checkPage(tx, await listInvoicesOf(tx, tx.account, ids.slice(from, from + PAGE_SIZE)), computed, report)
  },
  async all({ after, upTo }, report) {
    for (let last = after; last < upTo;) {
      const page = await listInvoicePage(tx, tx.account, { after: last, upTo }, PAGE_SIZE)
      await checkPage(tx, page, computed, report)
      last = page.length < PAGE_SIZE ? upTo : page.at(-1)!.id
    }
  },
})

/** Checks invoices of other nights to which something was posted. */
async function checkPosted(
  tx: Transaction,
  { since, ends }: Part,
  check: (page: readonly CheckedInvoice[]) => Promise<void>,
  reading: CheckReading,
): Promise<number> {
  const last = ends[`${invoices.name} 0`]
  let after = since - 1n
  let looked = 0
  for (;;) {
    reading.goOn()
    const entries = await listInvoicesPosted(tx, tx.account, after, PAGE_SIZE)
    const ids = entries.flatMap(({ invoiceId }) =>
      invoiceId !== null && !isRead(reading, invoiceId, last) ? [invoiceId] : [],
    )
    const page = await listInvoicesOf(tx, tx.account, [...new Set(ids)])
    await check(page)
    looked += page.length
    if (entries.length < PAGE_SIZE) break
    after = entries.at(-1)!.id
  }
  return looked + (await checkBatched(tx, since, (id) => !isRead(reading, id, last), check, reading))
}

/** Checks invoices that were posted in batches since an entry, and that are not read anyway. */
async function checkBatched(
  tx: Transaction,
  since: Id,
  isWanted: (id: InvoiceId) => boolean,
  check: (page: readonly CheckedInvoice[]) => Promise<void>,
  reading: CheckReading,
): Promise<number> {
  let after = await behindBatches(tx, since)
  let looked = 0
  for (;;) {
    reading.goOn()
    const batches = await listPostingPacks(tx, tx.account, after, BATCHES_AT_ONCE)
    const ids = batches.flatMap(membersOf).flatMap(({ invoiceId }) => (isWanted(invoiceId) ? [invoiceId] : []))
    if (ids.length > 0) await check(await listInvoicesOf(tx, tx.account, ids))
    looked += ids.length
    if (batches.length < BATCHES_AT_ONCE) return looked
    after = batches.at(-1)!.id
  }
}

async function checkPage(
  tx: Transaction,
  page: readonly CheckedInvoice[],
  computed: ComputedShapes,
  report: Report,
): Promise<void> {
  const ids = page.map(({ id }) => id)
  const toRead = computed.toRead(page).map(({ id }) => id)
  const charges = groupBy(await listCheckedCharges(tx, tx.account, toRead), ({ invoiceId }) => invoiceId)
  const taxes = groupBy(await listCheckedTaxes(tx, tx.account, toRead), ({ invoiceId }) => invoiceId)
  const applied = new Map((await listAppliedTo(tx, tx.account, 'invoice', ids)).map((sums) => [sums.id, sums]))
  const credited = new Map((await listCreditedOf(tx, tx.account, ids)).map((sum) => [sum.id, sum.creditedMinor]))
  for (const invoice of page) {
    const facts = {
      invoice,
      charges: charges.get(invoice.id) ?? [],
      taxes: taxes.get(invoice.id) ?? [],
      applied: applied.get(invoice.id) ?? NOTHING_APPLIED,
      creditedMinor: credited.get(invoice.id) ?? 0n,
    }
    const knownMinor = computed.totalOf(invoice)
    if (knownMinor === undefined) computed.keep(invoice, checkLines(facts, report))
    else reporterOf(invoice, report).amount('total', invoice.totalMinor, knownMinor)
    checkRest(facts, report)
  }
  await checkReferences(tx, page, report)
}

export const NOTHING_APPLIED: Omit<AppliedTo, 'id'> = {
  paidMinor: 0n,
  pendingMinor: 0n,
  negativeMinor: 0n,
  writtenOffMinor: 0n,
}

interface CheckedInvoiceFacts {
  invoice: CheckedInvoice
  charges: readonly Charge[]
  taxes: readonly CheckedTax[]
  applied: Omit<AppliedTo, 'id'>
  /** Sum that credit notes settle for it, in minor units. */
  creditedMinor: bigint
}

/** Reports what of lines and taxes of one invoice does not follow from them, and returns the total that they come to, in minor units. */
function checkLines(facts: CheckedInvoiceFacts, report: Report): bigint {
  const { invoice, charges } = facts
  const { currency, customerId } = invoice
  const reporter = reporterOf(invoice, report)
  for (const [index, charge] of charges.entries()) {
    checkCharge(charge, { customerId, currency, report })
    if (charge.displayOrder !== index + 1)
      report({
        customerId,
        recordType: 'charge',
        recordId: charge.id,
        what: 'place on the invoice',
        stored: String(charge.displayOrder),
        expected: String(index + 1),
      })
  }
  if (charges.length === 0) reporter.text('lines', 'none', 'at least one')
  return checkTaxes(facts, report)
}

/** Reports everything else of one invoice that does not follow from its own rows. */
function checkRest(facts: CheckedInvoiceFacts, report: Report): void {
  const { invoice } = facts
  const reporter = reporterOf(invoice, report)
  checkApplied(facts, reporter)
  if (invoice.isCancelled && !invoice.isIssued)
    reporter.text('state', 'cancelled draft', 'cancelled only after it was issued')
  if (!invoice.isCustomerFrozen) reporter.text('customer as frozen', 'a version that is not kept', 'a version that is')
  if (!invoice.isOfOwnSubscription)
    reporter.text('subscription', 'none, or that of another customer', 'one of its customer')
  if (!invoice.isAccountFrozen) reporter.text('account as frozen', 'a version that is not kept', 'a version that is')
}

interface InvoiceReporter {
  amount(what: string, storedMinor: bigint, expectedMinor: bigint): void
  text(what: string, stored: string, expected: string): void
}

/** Differences of one invoice; equal amounts are none. */
function reporterOf({ id, customerId, currency }: CheckedInvoice, report: Report): InvoiceReporter {
  const text = (what: string, stored: string, expected: string) =>
    report({ customerId, recordType: 'invoice', recordId: id, what, stored, expected })
  return {
    text,
    amount(what, storedMinor, expectedMinor) {
      if (storedMinor !== expectedMinor)
        text(what, amountText(storedMinor, currency), amountText(expectedMinor, currency))
    },
  }
}

function checkTaxes({ invoice, charges, taxes }: CheckedInvoiceFacts, report: Report): bigint {
  const { currency, customerId } = invoice
  const reporter = reporterOf(invoice, report)
  const should = taxInvoice(
    charges.map(({ netMinor }) => netMinor),
    taxes.map(({ rate }) => rate),
  )
  for (const [index, tax] of taxes.entries()) {
    const { baseMinor, amountMinor, shares } = should.taxes[index]!
    const name = `tax ${tax.name} at ${decimalText(tax.rate)}`
    reporter.amount(`base of ${name}`, tax.baseMinor, baseMinor)
    reporter.amount(name, tax.amountMinor, amountMinor)
    const stored = tax.shares ?? [tax.amountMinor]
    // The one line of a short invoice carries the tax whole, which is not written twice.
    const areEqual = stored.length === shares.length && stored.every((share, line) => BigInt(share) === shares[line])
    if (!areEqual && tax.amountMinor === amountMinor)
      reporter.text(`shares of ${name}`, stored.join(', ') || 'none', shares.join(', ') || 'none')
  }
  for (const [index, charge] of charges.entries()) {
    const grossMinor = should.grossMinor[index]!
    if (charge.grossMinor !== grossMinor)
      report({
        customerId,
        recordType: 'charge',
        recordId: charge.id,
        what: 'amount with tax',
        stored: amountText(charge.grossMinor, currency),
        expected: amountText(grossMinor, currency),
      })
  }
  reporter.amount('total', invoice.totalMinor, should.totalMinor)
  return should.totalMinor
}

/** Rule: what is allocated to an invoice is inside its total, and a draft or a cancelled invoice takes nothing. */
function checkApplied({ invoice, applied, creditedMinor }: CheckedInvoiceFacts, reporter: InvoiceReporter): void {
  const { totalMinor, negativeMinor, paidMinor, pendingMinor, currency } = invoice
  reporter.amount('negative adjustments', negativeMinor, applied.negativeMinor)
  reporter.amount('bad debt', invoice.writtenOffMinor, applied.writtenOffMinor)
  reporter.amount('what is credited of it', invoice.creditedMinor, creditedMinor)
  reporter.amount('payments', paidMinor, applied.paidMinor)
  reporter.amount('pending payments', pendingMinor, applied.pendingMinor)
  const appliedMinor = applied.negativeMinor + applied.paidMinor + applied.pendingMinor
  if (appliedMinor > totalMinor)
    reporter.text(
      'allocations',
      amountText(appliedMinor, currency),
      `at most its total, ${amountText(totalMinor, currency)}`,
    )
  if (pendingMinor < 0n || paidMinor < 0n || negativeMinor < 0n)
    reporter.text('what is paid of it', 'less than nothing', 'nothing or more')
  if (appliedMinor !== 0n && (invoice.isCancelled || !invoice.isIssued))
    reporter.text(
      'allocations',
      amountText(appliedMinor, currency),
      `none on a ${invoice.isCancelled ? 'cancelled invoice' : 'draft'}`,
    )
}
