import { startDunning } from '../dunning/start.ts'
import type { AfterIssue } from '../invoices/issue.ts'
import { mailIssued } from '../invoices/send.ts'
import { applyUnallocated } from './apply-unallocated.ts'

/**
 * Steps after issuing, in their order: first what pays invoices, last the mail, which shows what is left to pay. Declared here because
 * money stands above invoices: features above it import the list, invoices by hand get it from app.ts.
 */
export const AFTER_ISSUE: readonly AfterIssue[] = [applyUnallocated, startDunning, mailIssued]
