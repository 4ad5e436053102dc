import { CAMT_UNITS, CamtReader } from './camt.ts'
import { readElements, type XmlElement } from './elements.ts'
import type { ResultLine } from './result-lines.ts'
import { STATUS_UNITS, StatusReader } from './status-report.ts'
import { UnreadableFile } from './unreadable.ts'

/** Reads result files of banks: pain.002, camt.053 and camt.054, recognised by their namespace. */

/** Lines of a file; a month of a large firm has a quarter of it. */
const LINES_MAX = 200_000

const NAMESPACE = /^urn:iso:std:iso:20022:tech:xsd:((?:pain|camt)\.\d{3}\.001)\.(\d\d)$/

interface Message {
  versions: readonly [from: number, until: number]
  units: ReadonlySet<string>
  reader(emit: (line: ResultLine) => void): { take(unit: XmlElement): void }
  /** Name of the element right below the root. */
  body: string
}

const camt = (body: string): Message => ({
  versions: [2, 8],
  units: CAMT_UNITS,
  reader: (emit) => new CamtReader(emit),
  body,
})

const MESSAGES: ReadonlyMap<string, Message> = new Map([
  [
    'pain.002.001',
    { versions: [3, 13], units: STATUS_UNITS, reader: (emit) => new StatusReader(emit), body: 'CstmrPmtStsRpt' },
  ],
  ['camt.053.001', camt('BkToCstmrStmt')],
  ['camt.054.001', camt('BkToCstmrDbtCdtNtfctn')],
])

/** File as far as it has been read. */
export interface ResultFileReading {
  /** As 'camt.053.001.08'; empty until the root has been read. */
  format: string
  /** Yields some lines at a time; between two yields it computes for a few milliseconds. */
  lines: Generator<readonly ResultLine[], void, undefined>
}

/** Reads a file, as it is iterated over. Throws UnreadableFile, and nothing else, whatever the bytes are. */
export function readResultFile(bytes: Buffer): ResultFileReading {
  const reading: ResultFileReading = { format: '', lines: linesOf() }
  function* linesOf(): ResultFileReading['lines'] {
    let found: ResultLine[] = []
    let count = 0
    let message: Message | undefined
    let hasBody = false
    let reader: ReturnType<Message['reader']> | undefined
    const emit = (line: ResultLine) => {
      count += 1
      if (count > LINES_MAX) throw new UnreadableFile(`The file has more than ${LINES_MAX} lines.`)
      found.push(line)
    }
    const slices = readElements(bytes, {
      begin: (namespace, name) => {
        ;({ message, format: reading.format } = messageOf(namespace, name))
        reader = message.reader(emit)
      },
      isUnit: (name) => message?.units.has(name) === true || name === message?.body,
      take: (unit) => {
        if (unit.name === message?.body) hasBody = true
        reader?.take(unit)
      },
    })
    for (const _ of slices) {
      if (found.length > 0) yield found
      found = []
    }
    if (!hasBody) throw new UnreadableFile(`The file holds no ${message?.body}, which its namespace promises.`)
  }
  return reading
}

function messageOf(namespace: string, root: string): { message: Message; format: string } {
  const [, name = '', version = ''] = NAMESPACE.exec(namespace) ?? []
  const message = MESSAGES.get(name)
  const [from = 0, until = 0] = message?.versions ?? []
  if (!message || root !== 'Document' || Number(version) < from || Number(version) > until)
    throw new UnreadableFile(
      'The file is none of pain.002.001.03 to .13, camt.053.001.02 to .08 and camt.054.001.02 to .08 by its namespace.',
    )
  return { message, format: `${name}.${version}` }
}
