import type { IsoDate } from '../../kernel/calendar.ts'
import { elementAt, elementsIn, textAt, type XmlElement } from './elements.ts'
import type { ResultLine, StatusLine } from './result-lines.ts'
import { amountAt, codeAt, dayAt, nameAt, needed } from './values.ts'

/** Statuses of pain.002, versions .03 to .13. Those of single payments come before that of the block or message that they are in. */

export const STATUS_UNITS: ReadonlySet<string> = new Set(['TxInfAndSts', 'OrgnlPmtInfAndSts', 'CstmrPmtStsRpt'])

export class StatusReader {
  readonly #emit: (line: ResultLine) => void

  constructor(emit: (line: ResultLine) => void) {
    this.#emit = emit
  }

  take(unit: XmlElement): void {
    if (unit.name === 'TxInfAndSts') this.#payment(unit)
    if (unit.name === 'OrgnlPmtInfAndSts') this.#payments(unit)
    if (unit.name === 'CstmrPmtStsRpt') this.#message(unit)
  }

  #payment(payment: XmlElement): void {
    const block = payment.parent
    const status = textAt(payment, 'TxSts')
    if (status === null) return
    const original = elementAt(payment, 'OrgnlTxRef')
    this.#emit({
      ...statusLine('payment', status, payment, block?.parent),
      original: amountAt(original, 'Amt/InstdAmt') ?? amountAt(original, 'IntrBkSttlmAmt'),
      references: {
        endToEnd: textAt(payment, 'OrgnlEndToEndId'),
        instruction: textAt(payment, 'OrgnlInstrId'),
        paymentInformation: textAt(block, 'OrgnlPmtInfId'),
        message: messageOf(block?.parent),
        mandate: textAt(original, 'MndtRltdInf/MndtId') ?? textAt(original, 'MndtRltdInf/DrctDbtMndt/MndtId'),
      },
      name: nameAt(original, 'Dbtr'),
    })
  }

  #payments(block: XmlElement): void {
    const status = textAt(block, 'PmtInfSts')
    if (status === null) return
    const line = statusLine('payments', status, block, block.parent)
    const paymentInformation = textAt(block, 'OrgnlPmtInfId')
    this.#emit({ ...line, references: { ...line.references, paymentInformation, message: messageOf(block.parent) } })
  }

  #message(report: XmlElement): void {
    const group = elementAt(report, 'OrgnlGrpInfAndSts')
    const status = textAt(group, 'GrpSts')
    if (status === null) return
    const line = statusLine('message', status, group, report)
    this.#emit({ ...line, references: { ...line.references, message: messageOf(report) } })
  }
}

const messageOf = (report: XmlElement | undefined) => textAt(report, 'OrgnlGrpInfAndSts/OrgnlMsgId')

const createdOn = (report: XmlElement | undefined): IsoDate =>
  needed(dayAt(report, 'GrpHdr/CreDtTm'), 'the day of the report (CreDtTm)')

const statusLine = (
  scope: StatusLine['scope'],
  status: string,
  about: XmlElement | undefined,
  report: XmlElement | undefined,
): StatusLine => ({
  kind: 'status',
  scope,
  status,
  code: elementsIn(about, 'StsRsnInf').reduce<string | null>((found, one) => found ?? codeAt(one, 'Rsn'), null),
  on: createdOn(report),
  original: null,
  references: { endToEnd: null, instruction: null, paymentInformation: null, message: null, mandate: null },
  name: null,
})
