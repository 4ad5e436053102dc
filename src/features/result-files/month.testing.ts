import fc from 'fast-check'
import { minorText } from '../../kernel/money.ts'

/** Random months of a bank: what it booked on an account, and the files in which it says so, some of it several times. */

const PAYMENT = 11_500n

/** Course of a payment at its bank. */
export type Story = 'untouched' | 'settled' | 'returned' | 'rejected' | 'rejected and returned'

interface Part {
  minor: bigint
  isCredit: boolean
  /** The payment that it books, by its place. */
  payment: number | null
  text: string
  bankReference: string | null
}

export interface Booking {
  day: number
  isCredit: boolean
  minor: bigint
  parts: readonly Part[]
  /** Of the parts' amounts: each has its own, none has one, each has the amount that was instructed, each alone in its entry with a fee. */
  amounts: 'own' | 'none' | 'instructed'
  bankReference: string | null
  kind: 'debits' | 'transfer' | 'fee'
  /** Kinds of files that have it, and those of them that have its sum alone. */
  in: readonly Message[]
  asSum: readonly Message[]
}

export const MESSAGES = ['camt.052', 'camt.053', 'camt.054'] as const
export type Message = (typeof MESSAGES)[number]

export interface Month {
  stories: readonly Story[]
  bookings: readonly Booking[]
}

const story = fc.constantFrom<Story>(
  'settled',
  'settled',
  'returned',
  'returned',
  'rejected',
  'rejected and returned',
  'untouched',
)
const reference = fc.constantFrom('real', 'real', 'real', 'NONREF', '0', 'n/a', null)
const shown = fc.subarray([...MESSAGES], { minLength: 1 })

const chance = fc.record({
  reference,
  partReference: reference,
  in: shown,
  asSum: fc.subarray([...MESSAGES]),
  amounts: fc.constantFrom('own' as const, 'own' as const, 'none' as const, 'instructed' as const),
  fee: fc.constantFrom(0n, 0n, 350n),
  contrary: fc.constantFrom(0n, 0n, 125n),
  isGrouped: fc.boolean(),
})
type Chance = typeof chance extends fc.Arbitrary<infer Value> ? Value : never

/** Days after the first of the month; money comes in before it goes back. */
const CREDIT_DAYS = [25, 26]
const RETURN_DAYS = [27, 28]

export const month: fc.Arbitrary<Month> = fc
  .record({
    stories: fc.array(fc.tuple(story, fc.constantFrom(...CREDIT_DAYS), fc.constantFrom(...RETURN_DAYS)), {
      minLength: 2,
      maxLength: 5,
    }),
    chances: fc.array(chance, { minLength: 24, maxLength: 24 }),
    transfers: fc.array(fc.tuple(fc.constantFrom(...CREDIT_DAYS, ...RETURN_DAYS), fc.boolean()), { maxLength: 4 }),
  })
  .map(({ stories, chances, transfers }) => {
    const next = turning(chances)
    const credited = (one: Story) => one !== 'untouched' && one !== 'rejected'
    const returned = (one: Story) => one === 'returned' || one === 'rejected and returned'
    const bookings = [
      ...CREDIT_DAYS.flatMap((day) =>
        ofDay(
          stories.flatMap(([one, on], n) => (credited(one) && on === day ? [n] : [])),
          day,
          true,
          next,
        ),
      ),
      ...RETURN_DAYS.flatMap((day) =>
        ofDay(
          stories.flatMap(([one, , on], n) => (returned(one) && on === day ? [n] : [])),
          day,
          false,
          next,
        ),
      ),
      ...transfers.flatMap(([day, isTwin], n) => transfer(n, day, isTwin, next())),
    ]
    const rejected = new Set(stories.flatMap(([one], n) => (one.startsWith('rejected') ? [n] : [])))
    return {
      stories: stories.map(([one]) => one),
      bookings: bookings.map((one, n) => numbered(guarded(one, rejected), n)),
    }
  })

function turning(chances: readonly Chance[]): () => Chance {
  let at = 0
  return () => chances[at++ % chances.length] as Chance
}

/** Books payments of a day: in one entry, or each in its own. */
function ofDay(payments: readonly number[], day: number, isCredit: boolean, next: () => Chance): Booking[] {
  const common = next()
  const groups = common.isGrouped && payments.length > 1 ? [payments] : payments.map((payment) => [payment])
  return groups.map((group) => {
    const { fee, contrary, partReference, amounts, ...rest } = next()
    const parts: Part[] = group.map((payment, n) => ({
      minor: PAYMENT,
      isCredit,
      payment,
      text: `debit ${payment}`,
      bankReference: partReference === 'real' ? `part ${n}` : partReference,
    }))
    const isKnown = amounts !== 'none'
    if (isKnown && contrary > 0n)
      parts.push({ minor: contrary, isCredit: !isCredit, payment: null, text: 'contrary', bankReference: null })
    const sum = parts.reduce((total, part) => total + (part.isCredit === isCredit ? part.minor : -part.minor), 0n)
    // A bank keeps its fee of what it credits, and adds it to what it takes back.
    const minor = amounts === 'own' ? sum + (isCredit ? -fee : fee) : sum
    return {
      day,
      isCredit,
      minor,
      parts,
      amounts: isKnown ? amounts : 'none',
      bankReference: rest.reference,
      kind: 'debits',
      in: rest.in,
      asSum: rest.asSum,
    }
  })
}

/** Books money of somebody, and perhaps the same amount of the same day and person once more. */
function transfer(
  n: number,
  day: number,
  isTwin: boolean,
  { reference: own, in: messages, isGrouped, asSum, fee }: Chance,
): Booking[] {
  const minor = BigInt(1_000 + 7 * n)
  const isFee = fee > 0n
  const whole = {
    minor,
    isCredit: !isFee,
    payment: null,
    text: `${isFee ? 'fee' : 'transfer'} ${n}`,
    bankReference: null,
  }
  const halves = [400n, minor - 400n].map((half) => ({ ...whole, minor: half, text: `${whole.text} of ${half}` }))
  const booking: Booking = {
    day,
    isCredit: !isFee,
    minor,
    parts: isGrouped ? halves : [whole],
    amounts: 'own',
    bankReference: own,
    kind: isFee ? 'fee' : 'transfer',
    in: messages,
    asSum: isGrouped ? asSum : [],
  }
  return isTwin ? [booking, booking] : [booking]
}

/** Rule: an entry that is shown as a sum too is recognised by its reference alone; what names a rejected payment needs its amount. */
function guarded(booking: Booking, rejected: ReadonlySet<number>): Booking {
  const hasReference = booking.bankReference === 'real'
  const isListed = booking.parts.some(({ payment }) => payment !== null && rejected.has(payment))
  return {
    ...booking,
    asSum: hasReference && booking.parts.length > 1 && !isListed ? booking.asSum : [],
    amounts: booking.amounts === 'none' && isListed ? 'own' : booking.amounts,
  }
}

/** Gives real references a number of their own. */
function numbered(booking: Booking, n: number): Booking {
  const own = (reference: string | null) => (reference === 'real' ? `E${n}` : reference)
  const ofPart = (reference: string | null) => (reference?.startsWith('part') ? `E${n} ${reference}` : reference)
  const parts = booking.parts.map((part) => ({ ...part, bankReference: ofPart(part.bankReference) }))
  return { ...booking, bankReference: own(booking.bankReference), parts }
}

const amountXml = (minor: bigint) => `<Amt Ccy="EUR">${minorText(minor, 2)}</Amt>`
const tag = (name: string, inside: string | null) => (inside ? `<${name}>${inside}</${name}>` : '')
const direction = (isCredit: boolean) => tag('CdtDbtInd', isCredit ? 'CRDT' : 'DBIT')

/** Writes a booking as one kind of file shows it. */
export function bookingXml(booking: Booking, message: Message, nameOf: (payment: number) => string): string {
  const { parts, amounts, bankReference, isCredit } = booking
  const family = booking.kind === 'debits' ? 'IDDT' : booking.kind === 'transfer' ? 'RCDT' : 'CCRD'
  const kind = `<BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>${family}</Cd><SubFmlyCd>OTHR</SubFmlyCd></Fmly></Domn></BkTxCd>`
  const details = parts.map((part) => {
    const refs =
      tag('AcctSvcrRef', part.bankReference) + tag('EndToEndId', part.payment === null ? null : nameOf(part.payment))
    const isReturn = part.payment !== null && !part.isCredit
    const amount = amounts === 'own' ? amountXml(part.minor) : ''
    const instructed =
      amounts === 'none' || part.payment === null ? (amounts === 'instructed' ? part.minor : null) : part.minor
    return tag(
      'TxDtls',
      tag('Refs', refs) +
        amount +
        (part.isCredit === isCredit ? '' : direction(part.isCredit)) +
        (instructed === null ? '' : `<AmtDtls><InstdAmt>${amountXml(instructed)}</InstdAmt></AmtDtls>`) +
        `<RmtInf><Ustrd>${part.text}</Ustrd></RmtInf>` +
        (isReturn ? '<RtrInf><Rsn><Cd>AM04</Cd></Rsn></RtrInf>' : ''),
    )
  })
  const inside = booking.asSum.includes(message)
    ? '<AddtlNtryInf>Sum</AddtlNtryInf>'
    : tag('NtryDtls', details.join(''))
  return `<Ntry>${amountXml(booking.minor)}${direction(isCredit)}<Sts>BOOK</Sts>
    <BookgDt><Dt>2027-01-${booking.day}</Dt></BookgDt>${tag('AcctSvcrRef', bankReference)}${kind}${inside}</Ntry>`
}

const BODIES: Readonly<Record<Message, readonly [body: string, record: string]>> = {
  'camt.052': ['BkToCstmrAcctRpt', 'Rpt'],
  'camt.053': ['BkToCstmrStmt', 'Stmt'],
  'camt.054': ['BkToCstmrDbtCdtNtfctn', 'Ntfctn'],
}

/** Writes a file of statements, each with its account and entries. */
export function fileXml(
  message: Message,
  statements: readonly (readonly [iban: string, entries: readonly string[]])[],
): string {
  const [body, record] = BODIES[message]
  const records = statements.map(
    ([iban, entries]) =>
      `<${record}><CreDtTm>2027-02-01T18:00:00</CreDtTm><Acct><Id><IBAN>${iban}</IBAN></Id></Acct>${entries.join('')}</${record}>`,
  )
  return `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:${message}.001.08"><${body}>${records.join('')}</${body}></Document>`
}

/** Returns a booked amount with its sign. */
export const signed = ({ isCredit, minor }: Pick<Booking, 'isCredit' | 'minor'>): bigint => (isCredit ? minor : -minor)

export const statusOf: Readonly<Record<Story, string>> = {
  untouched: 'Pending',
  settled: 'Allocated',
  returned: 'Failed',
  rejected: 'Failed',
  'rejected and returned': 'Failed',
}
