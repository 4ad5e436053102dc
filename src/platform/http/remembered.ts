import type { Change, NumbersGiven } from '../failover/memory.ts'
import type { Answer } from './answer.ts'
import type { Operation } from './operation.ts'

/** Changes as a process remembers them, from answers of 2xx. */

/** Paths that name a record, and not another word. */
const NAMES_RECORD = /^\/v1\/[a-z]+\/\{/
const RECORD_OF_PATH = /^\/v1\/([a-z]+)\/([\w-]+)/
const RECORD_OF_BODY = /^\{"([A-Za-z]+)(?:ID|Id)":(\d+)/
const INVOICE_NUMBER = /"invoiceNum":(?:"(\d{1,12})"|(\d{1,12})[,}])/g
const NUMBER = /"(?:invoiceNum|CreditNumber)":"?([^",}]+)"?/

/** Returns a change as it is remembered. Rule: its record is the one that was made, else that of the path, else the first of the answer. */
export function changeOf(
  { id: operation, path }: Pick<Operation, 'id' | 'path'>,
  { url }: { url: string },
  { headers = {}, body }: Answer,
): Change {
  const text = typeof body === 'string' ? body : ''
  const [, type, id] =
    RECORD_OF_PATH.exec(headers['location'] ?? '') ??
    (NAMES_RECORD.test(path) ? RECORD_OF_PATH.exec(url) : null) ??
    RECORD_OF_BODY.exec(text) ??
    []
  const number = operation.includes('Invoice') || operation.includes('Credit') ? NUMBER.exec(text)?.[1] : undefined
  return { operation, type: type ?? null, id: id ?? null, number: number ?? null }
}

/**
 * Returns the invoice numbers in an answer that was kept: who gives it again may know no more of them than its caller. Rule: numbers of credit notes are left
 * out, because callers may choose them.
 */
export function invoiceNumbersIn({ body }: Answer): NumbersGiven[] {
  const text = typeof body === 'string' ? body : ''
  return [...text.matchAll(INVOICE_NUMBER)].map(([, quoted, plain]) => ({
    of: 'invoice',
    number: BigInt(quoted ?? plain ?? 0),
  }))
}
