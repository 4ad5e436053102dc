import { bankOf, entryHash, traceOf } from '../../rails/nacha/layout.ts'

/** NACHA files as banks send them back: returns and corrections of debits, with sums that add up. */

export interface AnsweredEntry {
  /** Of the debit that is answered. */
  trace: string
  code: string
  /** In cents; 0 of a correction. */
  amountMinor?: bigint
  reference?: string
  corrected?: string
  /** Of the bank, at a return. */
  text?: string
  transactionCode?: string
  /** Of the entry itself. */
  ownTrace?: string
}

export interface AnswerFile {
  companyId?: string
  /** YYMMDD. */
  day?: string
}

const ROUTING = '091012984'
const digits = (value: bigint | number, places: number): string => String(value).padStart(places, '0')

/** Writes the file in which a bank answers debits; the company is that of `COMPANY`. */
export function answerFile(
  entries: readonly AnsweredEntry[],
  { companyId = '1234567890', day = '270106' }: AnswerFile = {},
) {
  const header = `101 ${ROUTING} 081000210${day}1200A094101${'FIRST BANK'.padEnd(23)}${'ACME'.padEnd(23)}`
  const lines = [header.padEnd(94)]
  let [count, hash, debits, credits] = [0, 0n, 0n, 0n]
  let number = 0
  for (const isChange of [false, true]) {
    const own = entries.filter(({ code }) => code.startsWith('C') === isChange)
    if (own.length === 0) continue
    number += 1
    let [ownHash, ownDebits, ownCredits] = [0n, 0n, 0n]
    const head = `5200${'ACME SOFTWARE'.padEnd(36)}${companyId.padEnd(10)}${isChange ? 'COR' : 'PPD'}SUBSCRIPTN`
    lines.push(`${head.padEnd(69)}${day}   108100021${digits(number, 7)}`)
    for (const [index, entry] of own.entries()) {
      const {
        trace,
        code,
        amountMinor = 0n,
        reference = '',
        corrected = '',
        text = '',
        transactionCode = isChange ? '21' : '26',
      } = entry
      const ownTrace = entry.ownTrace ?? traceOf('081000210', BigInt(day) * 10n + BigInt(number), (index % 999) + 1)
      lines.push(
        `6${transactionCode}${ROUTING}${'5654221'.padEnd(17)}${digits(amountMinor, 10)}${reference.padEnd(15)}${'ADA LOVELACE'.padEnd(22)}  1${ownTrace}`,
        isChange
          ? `798${code}${trace}${' '.repeat(6)}08100021${corrected.padEnd(29)}${' '.repeat(15)}${ownTrace}`
          : `799${code}${trace}${' '.repeat(6)}08100021${text.padEnd(44)}${ownTrace}`,
      )
      ownHash += BigInt(bankOf(ROUTING))
      if (transactionCode.slice(1) >= '5') ownDebits += amountMinor
      else ownCredits += amountMinor
    }
    const sums = `${digits(entryHash(ownHash), 10)}${digits(ownDebits, 12)}${digits(ownCredits, 12)}`
    lines.push(
      `8200${digits(own.length * 2, 6)}${sums}${companyId.padEnd(10)}${' '.repeat(25)}08100021${digits(number, 7)}`,
    )
    count += own.length * 2
    hash += ownHash
    debits += ownDebits
    credits += ownCredits
  }
  const blocks = Math.ceil((lines.length + 1) / 10)
  const sums = `${digits(entryHash(hash), 10)}${digits(debits, 12)}${digits(credits, 12)}`
  lines.push(`9${digits(number, 6)}${digits(blocks, 6)}${digits(count, 8)}${sums}`.padEnd(94))
  return [...lines, ...Array<string>(blocks * 10 - lines.length).fill('9'.repeat(94))].join('\n')
}
