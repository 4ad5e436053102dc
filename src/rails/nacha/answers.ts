import type { IsoDate } from '../../kernel/calendar.ts'
import {
  bankOf,
  BATCH_CONTROL,
  BATCH_HEADER,
  BLOCK_RECORDS,
  CHANGE_ADDENDUM,
  DEBITS_AND_CREDITS,
  ENTRY,
  entryHash,
  FILE_CONTROL,
  FILE_HEADER,
  FILLER,
  RETURN_ADDENDUM,
  traceOf,
} from './layout.ts'
import { dayText, digits, record } from './write.ts'

/**
 * Writes the file in which a bank answers debits: returns, and corrections of accounts, with sums that add up. This service only reads such files; the
 * demo and the tests play the bank.
 */

export interface AnsweredEntry {
  /** Of the debit that is answered. */
  trace: string
  /** R01 and so on of a return, C01 and so on of a correction. */
  code: string
  /** In cents; 0 of a correction. */
  amountMinor?: bigint
  /** Of the debit. */
  reference?: string
  /** What is right, in the form of the code. */
  corrected?: string
  /** What the bank says of a return. */
  text?: string
  accountHolder?: string
  transactionCode?: string
  /** Of the entry itself. */
  ownTrace?: string
}

export interface AnswerFile {
  /** The company whose debits are answered, and its bank, to which the file goes. */
  company: { name: string; id: string; bank: string; routing: string }
  /** The bank that answers: its routing number. */
  answering: string
  day: IsoDate
}

/** Writes a file of answers: returns in a batch record, corrections in another. */
export function answerFile(entries: readonly AnsweredEntry[], { company, answering, day }: AnswerFile): string {
  const written = dayText(day)
  const lines = [
    record(FILE_HEADER, {
      recordType: '1',
      priority: '01',
      destination: ` ${company.routing}`,
      origin: ` ${answering}`,
      day: written,
      time: '1200',
      modifier: 'A',
      recordSize: '094',
      blocking: '10',
      format: '1',
      destinationName: company.bank.toUpperCase(),
      originName: 'ACH OPERATOR',
    }),
  ]
  let [count, hash, debits, credits] = [0, 0n, 0n, 0n]
  let number = 0
  for (const isChange of [false, true]) {
    const own = entries.filter(({ code }) => code.startsWith('C') === isChange)
    if (own.length === 0) continue
    number += 1
    const ends = {
      serviceClass: DEBITS_AND_CREDITS,
      companyId: company.id,
      odfi: bankOf(answering),
      batchNumber: digits(number, 7),
    }
    lines.push(
      record(BATCH_HEADER, {
        ...ends,
        recordType: '5',
        companyName: company.name.toUpperCase(),
        entryClass: isChange ? 'COR' : 'PPD',
        description: 'SUBSCRIPTN',
        effectiveDay: written,
        status: '1',
      }),
    )
    let [ownHash, ownDebits, ownCredits] = [0n, 0n, 0n]
    for (const [index, entry] of own.entries()) {
      const { amountMinor = 0n, transactionCode = isChange ? '21' : '26' } = entry
      const trace = entry.ownTrace ?? traceOf(answering, BigInt(written) * 10n + BigInt(number), (index % 999) + 1)
      const about = {
        recordType: '7',
        code: entry.code,
        originalTrace: entry.trace,
        originalRdfi: bankOf(answering),
        trace,
      }
      lines.push(
        record(ENTRY, {
          recordType: '6',
          transactionCode,
          routing: company.routing,
          account: '',
          amount: digits(amountMinor, 10),
          reference: entry.reference ?? '',
          name: entry.accountHolder ?? '',
          hasAddenda: '1',
          trace,
        }),
        isChange
          ? record(CHANGE_ADDENDUM, { ...about, addendaType: '98', corrected: entry.corrected ?? '' })
          : record(RETURN_ADDENDUM, { ...about, addendaType: '99', text: entry.text ?? '' }),
      )
      ownHash += BigInt(bankOf(company.routing))
      if (transactionCode.slice(1) >= '5') ownDebits += amountMinor
      else ownCredits += amountMinor
    }
    lines.push(
      record(BATCH_CONTROL, {
        ...ends,
        recordType: '8',
        entries: digits(own.length * 2, 6),
        hash: digits(entryHash(ownHash), 10),
        debits: digits(ownDebits, 12),
        credits: digits(ownCredits, 12),
      }),
    )
    count += own.length * 2
    hash += ownHash
    debits += ownDebits
    credits += ownCredits
  }
  const blocks = Math.ceil((lines.length + 1) / BLOCK_RECORDS)
  lines.push(
    record(FILE_CONTROL, {
      recordType: '9',
      batches: digits(number, 6),
      blocks: digits(blocks, 6),
      entries: digits(count, 8),
      hash: digits(entryHash(hash), 10),
      debits: digits(debits, 12),
      credits: digits(credits, 12),
    }),
  )
  return [...lines, ...Array<string>(blocks * BLOCK_RECORDS - lines.length).fill(FILLER)].join('\n')
}
