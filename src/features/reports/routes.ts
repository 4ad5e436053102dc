import type { Operation } from '../../platform/http/operation.ts'
import { ageingReport } from './ageing-report.ts'
import { deferredReport } from './deferred-report.ts'
import { revenueReport } from './revenue-report.ts'
import { taxReport } from './tax-report.ts'
import { trialBalanceReport } from './trial-balance-report.ts'

/** Lists the reports in the order in which the documentation shows them. */
export const reportOperations = (): Operation[] => [
  taxReport,
  trialBalanceReport,
  ageingReport,
  deferredReport,
  revenueReport,
]
