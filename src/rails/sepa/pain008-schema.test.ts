import fc from 'fast-check'
import { XmlDocument } from 'libxml2-wasm'
import SEPA from 'sepa'
import { describe, expect, test } from 'vitest'
import { hasFixtures } from '../../../test/support/fixtures.ts'
import { hasXmllint, schemaOf, xmllint } from '../../../test/support/schemas.ts'
import { sepaText } from './characters.ts'
import { type DirectDebits, namespaceOf, PAIN008_VERSIONS, writePain008 } from './pain008.ts'
import { SAMPLE, someDebits } from './pain008.testing.ts'

describe.skipIf(!hasFixtures)('the official schemas take every file (needs ../shared/fixtures)', () => {
  test.each(PAIN008_VERSIONS)('pain.008.001.%s, by libxml2-wasm', (version) => {
    const problemOf = schemaOf(`pain.008.001.${version}`)
    expect(problemOf(writePain008({ ...SAMPLE, version }))).toBe('')
    expect(problemOf(writePain008({ ...SAMPLE, version }).replace('>RCUR<', '>ONCE<'))).toContain('ONCE')
    fc.assert(
      fc.property(someDebits, (file) => {
        expect(problemOf(writePain008({ ...file, version }))).toBe('')
      }),
    )
  })

  test.skipIf(!hasXmllint).each(PAIN008_VERSIONS)('pain.008.001.%s, by xmllint (needs libxml2-utils)', (version) => {
    const schema = `pain.008.001.${version}`
    for (const file of [SAMPLE, ...fc.sample(someDebits, 10)])
      expect(xmllint(schema, writePain008({ ...file, version }))).toBe('')
    expect(xmllint(schema, writePain008({ ...SAMPLE, version }).replace('>RCUR<', '>ONCE<'))).toContain('ONCE')
  })
})

/** Writes the same debits by the package "sepa", which takes texts as they are. */
function writtenBySepa(file: DirectDebits): string {
  const document = new SEPA.Document(`pain.008.001.${file.version}`)
  document.grpHdr.id = file.messageId
  document.grpHdr.created = new Date(file.createdAt)
  document.grpHdr.initiatorName = sepaText(file.creditor.name, 70)
  const info = document.createPaymentInfo()
  info.localInstrumentation = file.scheme
  info.sequenceType = file.sequenceType
  info.collectionDate = new Date(`${file.collectionDate}T12:00:00`)
  info.creditorName = sepaText(file.creditor.name, 70)
  info.creditorIBAN = file.creditor.iban
  info.creditorBIC = file.creditor.bic
  info.creditorId = file.creditor.identifier
  document.addPaymentInfo(info)
  for (const debit of file.debits) {
    const debited = info.createTransaction()
    debited.end2endId = debit.reference
    debited.amount = Number(debit.amountMinor) / 100
    debited.mandateId = debit.mandateReference
    debited.mandateSignatureDate = new Date(`${debit.mandateDate}T12:00:00`)
    debited.debtorName = sepaText(debit.accountHolder, 70)
    debited.debtorIBAN = debit.iban
    debited.debtorBIC = debit.bic
    debited.remittanceInfo = sepaText(debit.remittance, 140)
    info.addTransaction(debited)
  }
  return document.toString()
}

const COMPARED = [
  '//x:MsgId',
  '//x:NbOfTxs',
  '//x:CtrlSum',
  '//x:Nm',
  '//x:PmtMtd',
  '//x:SvcLvl/x:Cd',
  '//x:LclInstrm/x:Cd',
  '//x:SeqTp',
  '//x:ReqdColltnDt',
  '//x:IBAN',
  '//x:ChrgBr',
  '//x:CdtrSchmeId//x:Othr/x:Id',
  '//x:SchmeNm/x:Prtry',
  '//x:EndToEndId',
  '//x:InstdAmt',
  '//x:InstdAmt/@Ccy',
  '//x:MndtId',
  '//x:DtOfSgntr',
  '//x:Ustrd',
  '//x:FinInstnId/*',
]

function valuesOf(xml: string, version: DirectDebits['version']): Record<string, string[]> {
  const document = XmlDocument.fromString(xml)
  try {
    const find = (path: string) => document.find(path, { x: namespaceOf(version) }).map(({ content }) => content)
    return Object.fromEntries(COMPARED.map((path) => [path, find(path)]))
  } finally {
    document.dispose()
  }
}

test('the package "sepa" writes the same totals, identifiers, days, names and numbers', () => {
  fc.assert(
    fc.property(someDebits, (file) => {
      // It counts amounts by floating point, so sums over some billions of cents would be its own fault.
      const debits = file.debits.map((debit) => ({ ...debit, amountMinor: (debit.amountMinor % 99_999n) + 1n }))
      const ours = valuesOf(writePain008({ ...file, debits }), file.version)
      expect(ours['//x:EndToEndId']).toHaveLength(debits.length)
      expect(ours['//x:FinInstnId/*']).toHaveLength(debits.length + 1)
      expect(valuesOf(writtenBySepa({ ...file, debits }), file.version)).toEqual(ours)
    }),
  )
})
