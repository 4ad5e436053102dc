import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { hasFixtures } from '../../../test/support/fixtures.ts'
import { check, linesOf, partsOf } from './reading.testing.ts'
import type { BankEntry } from './result-lines.ts'
import { UnreadableFile } from './unreadable.ts'

/** Statements and notifications against what an independent reader makes of them, which lies beside them. */

const FIXTURES = new URL('../../../../shared/fixtures/iso20022/camt/', import.meta.url)

type Decoded = Record<string, any>

const textOf = (value: unknown): string | null => (value === null || value === '' ? null : String(value))
const dayOf = (date: Decoded | null): string | null => date?.['0'].slice(0, 10) ?? null
const amountOf = (money: Decoded | null): BankEntry['amount'] =>
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

/** Returns the amount of a detail in the currency of its entry; null if it has one in another currency alone. */
function amountIn(entry: Decoded, detail: Decoded | undefined) {
  const ofEntry = amountOf(entry['getAmount'])
  const own = amountOf(detail?.['getAmount'] ?? detail?.['getAmountDetails'] ?? null)
  if (own && own.currency === ofEntry?.currency) return own
  return (entry['getTransactionDetails'] as Decoded[]).length < 2 ? ofEntry : null
}

/** Returns what is expected of an entry: in these files all its parts have amounts that come to its own, or none has. */
function entryOf(entry: Decoded, detail: Decoded | undefined, account: string): BankEntry {
  const amount = amountOf(entry['getAmount'])
  const details = (entry['getTransactionDetails'] as Decoded[]).length
  const isKnown = amountIn(entry, detail) !== null
  return {
    account,
    on: dayOf(entry['getBookingDate']) as BankEntry['on'],
    amount,
    isCredit: entry['getCreditDebitIndicator'] === 'CRDT',
    isUnreadable: false,
    bankReference: textOf(entry['getAccountServicerReference']),
    details,
    isWhole: details === 0,
    knownMinor: isKnown ? (amount?.amountMinor ?? 0n) : 0n,
    unknownParts: isKnown ? 0 : details,
  }
}

/** Returns a line of the independent decoding in our words. */
function expectedOf(entry: Decoded, detail: Decoded | undefined, place: number, account: string) {
  const references = detail?.['getReference']
  const kind = detail?.['getBankTransactionCode']?.getDomain ?? entry['getBankTransactionCode']?.getDomain
  const isOnly = (entry['getTransactionDetails'] as Decoded[]).length < 2
  const own = textOf(references?.getAccountServicerReference)
  const ofEntry = textOf(entry['getAccountServicerReference'])
  const bankReference = own ?? (ofEntry && `${ofEntry}#${place}`)
  return {
    kind: 'part',
    entry: entryOf(entry, detail, account),
    index: place,
    isUnreadable: false,
    isCredit: entry['getCreditDebitIndicator'] === 'CRDT',
    isContrary: false,
    isReversal: entry['getReversalIndicator'],
    hasReturnInformation: (detail?.['getReturnInformation'] ?? null) !== null,
    family: kind?.getFamily?.getCode ?? null,
    subFamily: kind?.getFamily?.getSubFamilyCode ?? null,
    code: detail?.['getReturnInformation']?.getCode ?? null,
    bankReference,
    written: bankReference && { text: bankReference, isPlaceholder: false },
    references: {
      endToEnd: textOf(references?.getEndToEndId),
      instruction: textOf(references?.getInstructionId),
      paymentInformation: textOf(references?.getPaymentInformationId) ?? textOf(entry['getBatchPaymentId']),
      message: textOf(references?.getMessageId),
      mandate: textOf(references?.getMandateId),
    },
    name: nameIn(detail, entry['getCreditDebitIndicator'] === 'CRDT'),
    text: textIn(entry, detail, isOnly),
    original: null,
    amount: amountIn(entry, detail),
  }
}

/**
 * Fields that the independent reader leaves out, as they stand in the files: the direction of a detail (it repeats that of the entry) and the
 * message of a batch. No file has an amount before charges (InstdAmt).
 */
const LEFT_OUT: Readonly<Record<string, { isContrary: boolean; message: string }>> = {
  'camt054.v8': { isContrary: true, message: 'UXC06170000006' },
}

/** Every part is handed over, also those of entries of which one amount is not known. */
const EACH = { namesPayment: () => true }

const NAMES = ['camt053.v2.minimal', 'camt053.v8', 'camt054.v2', 'camt054.v8']

test.skipIf(!hasFixtures)('the files of the independent reader are there (needs ../shared/fixtures)', () => {
  expect(existsSync(FIXTURES)).toBe(true)
})

describe.each(hasFixtures ? NAMES : [])('%s', (name) => {
  const decoded = JSON.parse(readFileSync(new URL(`${name}.json`, FIXTURES), 'utf8')) as Decoded
  const entries = decoded['getEntries'] as Decoded[]
  const record = entries[0]?.['getRecord']
  const account = record.getAccount.getIdentification
  const file = readFileSync(new URL(`${name}.xml`, FIXTURES), 'utf8')
  const inVersion = (version: string) => Buffer.from(file.replaceAll(/(camt\.05[34]\.001)\.\d\d/g, `$1.${version}`))
  const expected = entries.flatMap((entry) => {
    const details = entry['getTransactionDetails'] as Decoded[]
    const first = entry['getTransactionDetail']
    const all = details.map((detail, index) =>
      (detail as unknown) === '__RECURSIVITY__' && index === 0 ? first : detail,
    )
    return (all.length === 0 ? [undefined] : all).map((detail, index) => {
      const { references, ...rest } = expectedOf(entry, detail, index + 1, account)
      const { isContrary = false, message = references.message } = LEFT_OUT[name] ?? {}
      const isCredit = rest.isCredit !== isContrary
      return { ...rest, isCredit, isContrary, references: { ...references, message } }
    })
  })

  test('has the account and the entries of the independent decoding, detail by detail and field by field', () => {
    expect(partsOf(file, EACH)).toEqual(expected)
  })

  test.each(['02', '03', '04', '05', '06', '07', '08', '09', '10', '11', '12', '13'])(
    'is read as version %s by its namespace',
    (version) => {
      expect(partsOf(inVersion(version), EACH)).toEqual(expected)
      expect(check(inVersion(version)).format).toBe(`camt.${name.slice(4, 7)}.001.${version}`)
    },
  )

  test.each(['00', '01', '14', '20'])('is refused as version %s', (version) => {
    expect(() => linesOf(inVersion(version))).toThrow(UnreadableFile)
  })
})
