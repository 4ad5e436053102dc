import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { readResultFile } from './read.ts'
import type { EntryLine, ResultLine } from './result-lines.ts'

/** Statements and notifications against what an independent reader makes of them, which lies beside them. */

const FIXTURES = new URL('../../../../shared/fixtures/iso20022/camt/', import.meta.url)

const linesOf = (bytes: Buffer): ResultLine[] => [...readResultFile(bytes).lines].flat()

type Decoded = Record<string, any>

const textOf = (value: unknown): string | null => (value === null || value === '' ? null : String(value))
const dayOf = (date: Decoded | null): string | null => date?.['0'].slice(0, 10) ?? null
const amountOf = (money: Decoded | null) =>
  money && {
    amountMinor: BigInt(String(money['getAmount']).replace('-', '')),
    currency: money['getCurrency'].getCode,
  }

/** The decoding writes what it has written before as a word; it is then what the singular field beside it has. */
const listed = (list: unknown[] | undefined, single: Decoded): Decoded[] =>
  (list ?? []).map((one) => (one === '__RECURSIVITY__' ? single : (one as Decoded)))

function nameIn(detail: Decoded | undefined, isCredit: boolean): string | null {
  const parties = listed(detail?.['getRelatedParties'], detail?.['getRelatedParty']).map(
    (one) => one['getRelatedPartyType'],
  )
  const named = (type: string) => parties.find((one) => one?.['__CLASS__'].endsWith(`\\${type}`))?.['getName'] ?? null
  return isCredit ? named('Debtor') : (named('Creditor') ?? named('Debtor'))
}

function textIn(entry: Decoded, detail: Decoded | undefined, isOnly: boolean): string | null {
  const remittance = detail?.['getRemittanceInformation']
  const plain = listed(remittance?.getUnstructuredBlocks, remittance?.getUnstructuredBlock).map(
    (one) => one['getMessage'],
  )
  const structured = listed(remittance?.getStructuredBlocks, remittance?.getStructuredBlock).map((one) =>
    [
      listed([one['getCreditorReferenceInformation']], remittance.getCreditorReferenceInformation)[0]?.['getRef'],
      one['getAdditionalRemittanceInformation'],
    ]
      .filter(Boolean)
      .join(' '),
  )
  return [...plain, ...structured].join(' ') || (isOnly ? textOf(entry['getAdditionalInfo']) : null)
}

/** Returns a line of the independent decoding in our words. */
function expectedOf(entry: Decoded, detail: Decoded | undefined, place: number, account: string) {
  const references = detail?.['getReference']
  const kind = detail?.['getBankTransactionCode']?.getDomain ?? entry['getBankTransactionCode']?.getDomain
  const isOnly = (entry['getTransactionDetails'] as Decoded[]).length < 2
  const own = textOf(references?.getAccountServicerReference)
  const ofEntry = textOf(entry['getAccountServicerReference'])
  return {
    account,
    on: dayOf(entry['getBookingDate']),
    isCredit: entry['getCreditDebitIndicator'] === 'CRDT',
    isReversal: entry['getReversalIndicator'],
    family: kind?.getFamily?.getCode ?? null,
    subFamily: kind?.getFamily?.getSubFamilyCode ?? null,
    code: detail?.['getReturnInformation']?.getCode ?? null,
    bankReference: own ?? (ofEntry && `${ofEntry}#${place}`),
    references: {
      endToEnd: textOf(references?.getEndToEndId),
      instruction: textOf(references?.getInstructionId),
      paymentInformation: textOf(references?.getPaymentInformationId) ?? textOf(entry['getBatchPaymentId']),
      mandate: textOf(references?.getMandateId),
    },
    name: nameIn(detail, entry['getCreditDebitIndicator'] === 'CRDT'),
    text: textIn(entry, detail, isOnly),
    amount: amountOf(detail?.['getAmount'] ?? detail?.['getAmountDetails'] ?? (isOnly ? entry['getAmount'] : null)),
  }
}

describe.each(['camt053.v2.minimal', 'camt053.v8', 'camt054.v2', 'camt054.v8'])('%s', (name) => {
  const decoded = JSON.parse(readFileSync(new URL(`${name}.json`, FIXTURES), 'utf8')) as Decoded
  const entries = decoded['getEntries'] as Decoded[]
  const record = entries[0]?.['getRecord']
  const account = record.getAccount.getIdentification
  const lines = linesOf(readFileSync(new URL(`${name}.xml`, FIXTURES)))
  const entryLines = lines.filter((line): line is EntryLine => line.kind === 'entry')

  test('has the account and the entries of the independent decoding, detail by detail', () => {
    expect(lines[0]).toEqual({ kind: 'statement', account })
    const expected = entries.flatMap((entry) => {
      const details = entry['getTransactionDetails'] as Decoded[]
      const first = entry['getTransactionDetail']
      const all = details.map((detail, index) =>
        (detail as unknown) === '__RECURSIVITY__' && index === 0 ? first : detail,
      )
      return (all.length === 0 ? [undefined] : all).map((detail, index) =>
        expectedOf(entry, detail, index + 1, account),
      )
    })
    expect(entryLines).toHaveLength(expected.length)
    for (const [index, line] of entryLines.entries()) {
      const { references, ...rest } = expected[index]!
      expect(line).toMatchObject({ ...rest, references })
    }
  })
})
