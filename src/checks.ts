import type { GoOn } from './platform/duty.ts'
import type { Check } from './platform/checks/difference.ts'
import { allocations } from './features/verification/allocations.ts'
import { balances } from './features/verification/balances.ts'
import { batchedEntries } from './features/verification/batched-entries.ts'
import { entriesBalance, ledgerDays } from './features/ledger/checks.ts'
import { ledgerChain } from './features/ledger/checks-chain.ts'
import { batchHashes, batchPlaces } from './features/ledger/checks-packs.ts'
import { lineIdentifiers, orphans, shapes, zeroCharges } from './features/invoices/checks.ts'
import { listLineIdentifiers } from './features/invoices/group-by-facts-queries.ts'
import { batches, batchLines, givingWay } from './features/batches/checks.ts'
import { appliedReturns, resultFiles } from './features/result-files/checks.ts'
import { counts } from './features/verification/counts.ts'
import { chargeChanges, consoleRefunds, gatewayNames } from './features/verification/charge-changes.ts'
import { coverage } from './features/verification/coverage.ts'
import { cycles } from './features/subscriptions/checks.ts'
import { creditedCharges, creditNotes } from './features/verification/credits.ts'
import { emandates } from './features/emandates/checks.ts'
import { deliveries, eventSeals, issuedEvents } from './features/events/checks.ts'
import { ledgerEntries, unposted } from './features/verification/entries.ts'
import { payments, positives } from './features/verification/granted-records.ts'
import { invoices } from './features/verification/invoices.ts'
import { type NightlyDeps, verifyWaiting } from './features/verification/nightly.ts'
import { creditNumbers, invoiceNumbers } from './features/verification/numbers.ts'
import { sales } from './features/verification/sales.ts'
import { settlements } from './features/verification/settlements.ts'
import { taxDays } from './features/verification/tax-days.ts'
import { usageEvents } from './features/subscription-components/checks.ts'
import { usageCycles } from './features/verification/usage.ts'
import { verifierBy } from './features/verification/verify.ts'

/** The wiring of verification: the checks of all rooms and those that compare rooms, in the order in which they run and report. */
export const CHECKS: readonly Check[] = [
  invoices,
  shapes,
  lineIdentifiers,
  zeroCharges,
  orphans,
  creditNotes,
  creditedCharges,
  settlements,
  payments,
  positives,
  batches,
  batchLines,
  givingWay,
  resultFiles,
  appliedReturns,
  sales,
  chargeChanges,
  consoleRefunds,
  gatewayNames,
  allocations,
  balances,
  entriesBalance,
  ledgerEntries,
  batchedEntries,
  unposted,
  ledgerDays,
  taxDays,
  ledgerChain,
  batchHashes(listLineIdentifiers),
  batchPlaces,
  invoiceNumbers,
  creditNumbers,
  coverage,
  cycles,
  usageCycles,
  counts,
  issuedEvents,
  eventSeals,
  usageEvents,
  deliveries,
  emandates,
]

export const verifyAccount = verifierBy(CHECKS)

/** Verifies by all checks the accounts that wait this night, see `verifyWaiting`. */
export const verifyNightly = (deps: NightlyDeps, goOn: GoOn): Promise<void> =>
  verifyWaiting({ ...deps, verify: verifyAccount }, goOn)
