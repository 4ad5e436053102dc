import { type Entry, notification, rejections, type Sent, statement } from './bank-files.ts'
import { type Ask, type BankAccount, collection, type SentFile } from './firm.ts'

/** Stories of the firms of the dump: a collection whose bank has no references of its own, one whose bank has, and many customers who are alike. */

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any

const WITHOUT_REFERENCES: BankAccount = { account: 0, iban: 'DE89370400440532013000', bic: 'COBADEFFXXX' }
const WITH_REFERENCES: BankAccount = { account: 0, iban: 'DE02120300000000202051', bic: 'BYLADEM1001' }

const clock = (ask: Ask, day: string) => ask('PUT', '/v1/clock', { Now: `${day}T12:00:00Z` })

function senderOf(ask: Ask, files: SentFile[], account: number, gatewayID: number) {
  return async (name: string, body: string): Promise<Json> => {
    const headers = { 'content-type': 'application/xml' }
    const answer = await ask('POST', `/v1/resultfiles?gatewayID=${gatewayID}`, body, headers)
    files.push({ name, account, gatewayID, body, answer })
    const { Matched, Applied, AlreadyKnown, Unmatched } = answer
    console.log(`${name}: matched ${Matched}, applied ${Applied}, known ${AlreadyKnown}, listed ${Unmatched}`)
    return answer
  }
}

const linesOf = async (ask: Ask, { resultFileID }: Json): Promise<Json[]> =>
  (await ask('GET', `/v1/resultfiles/${resultFileID}`)).Lines

const answerLine = (ask: Ask, { resultFileID }: Json, lineID: number, body: object) =>
  ask('PUT', `/v1/resultfiles/${resultFileID}/lines/${lineID}`, body)

const placeholder = (sent: Sent, on: string, more: Partial<Entry> = {}): Entry => ({
  amount: '115.00',
  on,
  reference: 'NONREF',
  sent,
  code: 'AC04',
  ...more,
})

/**
 * Twelve debits by a bank that writes placeholders, numbers each day from 1 and gives a return the reference of its booking: the program of the time took
 * the second one of each for known.
 */
export async function placeholders(ask: Ask, account: number): Promise<SentFile[]> {
  const own = { ...WITHOUT_REFERENCES, account }
  const { gateway, bank, owed, BatchToken } = await collection(ask, own, 12)
  const files: SentFile[] = []
  const send = senderOf(ask, files, account, gateway.gatewayID)
  const [one, two, three, four, five, six, seven, eight, nine, ten] = bank.sent as Sent[] as [
    Sent,
    Sent,
    Sent,
    Sent,
    Sent,
    Sent,
    Sent,
    Sent,
    Sent,
    Sent,
  ]
  const stmt = (id: string, ...entries: Entry[]) => statement(own.iban, id, entries)
  const note = (id: string, ...entries: Entry[]) => notification(own.iban, id, entries)

  await clock(ask, '2027-01-06')
  await send(
    'a rejection before the day',
    rejections(
      bank,
      [
        { sent: seven, code: 'AM04' },
        { sent: eight, code: 'AC04' },
      ],
      '2027-01-06',
    ),
  )
  await clock(ask, '2027-01-14')
  const settled = { amount: '115.00', isCredit: true, on: '2027-01-13', reference: '2027013000001' }
  await send('a settlement', stmt('S1', { ...settled, sent: five }))
  await clock(ask, '2027-01-20')
  await send(
    'a return with the reference of its settlement',
    stmt('S2', { ...settled, isCredit: false, on: '2027-01-19', sent: five, code: 'AC04' }),
  )
  await send('a credit after a rejection', stmt('S3', { ...settled, reference: 'C-7', sent: seven }))

  await clock(ask, '2027-01-22')
  await send('the first return, NONREF', stmt('S5', placeholder(one, '2027-01-21')))
  await send('the second return, NONREF', stmt('S6', placeholder(two, '2027-01-22')))
  const credit = { isCredit: true, on: '2027-01-21', reference: 'NONREF' }
  await send(
    'two credits, NONREF',
    stmt('S7', { ...credit, amount: '10.00', text: 'a' }, { ...credit, amount: '11.00', text: 'b' }),
  )
  const detail = { detailReference: 'NOTPROVIDED', code: 'AM04', amount: '115.00' }
  await send('a detail, NOTPROVIDED', note('N1', { ...detail, on: '2027-01-19', reference: '01542001', sent: three }))
  await send(
    'another detail, NOTPROVIDED',
    note('N2', { ...detail, on: '2027-01-20', reference: '01542002', sent: four }),
  )
  await send('a day numbered from 1', stmt('S8', { ...credit, amount: '40.00', on: '2027-01-20', reference: '0001' }))
  await send('the next day numbered from 1', stmt('S9', { ...credit, amount: '41.00', reference: '0001' }))
  const alike = { ...credit, amount: '12.00', text: 'same' }
  await send('a credit at noon, NONREF', note('N3', alike))
  await send('the same credit at night, NONREF', stmt('S10', alike))
  const real = { ...credit, amount: '13.00', text: 'same', reference: 'R77' }
  await send('a credit at noon', note('N4', real))
  await send('the same credit at night', stmt('S11', real))
  await send(
    'all of a day again',
    stmt('S12', placeholder(one, '2027-01-21'), { ...credit, amount: '10.00', text: 'a' }, real),
  )
  const zero = (sent: Sent, reference: string) => placeholder(sent, '2027-01-22', { reference })
  await send('a return, 0', stmt('S13', zero(six, '0')))
  await send('another return, 0', stmt('S14', zero(nine, '0'), zero(ten, 'N/A')))
  // Returned by hand meanwhile: what the bank booked was swallowed, and the book-keeper saw it on the account.
  const Results = [{ paymentID: owed[8]?.paymentID, Success: false, Reason: 'AC04', Date: '2027-01-22' }]
  await ask('PUT', `/v1/batches/${BatchToken}/results`, { Results })
  await send(
    'a credit after a rejection, NONREF',
    stmt('S4', placeholder(eight, '2027-01-13', { isCredit: true, code: '' })),
  )
  return files
}

/** Eight debits by a bank with references: rejected, settled together, returned with a fee, returned twice, by the mandate alone, and credits that are worked on. */
export async function references(ask: Ask, account: number): Promise<SentFile[]> {
  const own = { ...WITH_REFERENCES, account }
  const { gateway, bank, owed } = await collection(ask, own, 8)
  const files: SentFile[] = []
  const send = senderOf(ask, files, account, gateway.gatewayID)
  const [rejected, poor, late, repeated] = bank.sent as [Sent, Sent, Sent, Sent]
  await clock(ask, '2027-01-13')
  await send('a rejection', rejections(bank, [{ sent: rejected, code: 'MS03' }], '2027-01-13'))
  await clock(ask, '2027-01-15')
  const all: Entry = { amount: '805.00', isCredit: true, on: '2027-01-14', reference: 'COLL-1', block: bank.block }
  await send('the collection', notification(own.iban, 'N1', [all]))
  await clock(ask, '2027-01-18')
  const withFee: Entry = {
    amount: '118.00',
    original: '115.00',
    on: '2027-01-18',
    reference: 'RET-2',
    sent: poor,
    code: 'AM04',
  }
  await send('a return with a fee', notification(own.iban, 'N2', [withFee]))
  await send('the statement of both', statement(own.iban, 'S1', [all, withFee]))
  const twice: Entry = { amount: '115.00', on: '2027-01-19', reference: 'RET-4', sent: repeated, code: 'AC06' }
  await clock(ask, '2027-01-20')
  await send('a return at noon', notification(own.iban, 'N3', [twice]))
  await send('the same return at night', statement(own.iban, 'S2', [twice]))
  const credits = (['a', 'b', 'c', 'd'] as const).map((text, n): Entry => ({
    amount: `${20 + n}.00`,
    isCredit: true,
    on: '2027-01-19',
    reference: `CR-${text}`,
    text: n === 3 ? 'Invoice 1' : text,
    name: 'Payer 5',
  }))
  const received = await send('credits', statement(own.iban, 'S3', credits))
  const [first, second] = await linesOf(ask, received)
  const { customerID } = owed[4] as { customerID: number }
  await answerLine(ask, received, first.lineID, { customerID, AutoApply: true })
  await answerLine(ask, received, second.lineID, { isClosed: true })
  await clock(ask, '2027-03-01')
  const claimed: Entry = {
    amount: '115.00',
    on: '2027-03-01',
    reference: 'RET-3',
    sent: late,
    hasMandateOnly: true,
    code: 'MD06',
  }
  const byMandate = await send('a return by its mandate', statement(own.iban, 'S4', [claimed]))
  const [line] = await linesOf(ask, byMandate)
  await answerLine(ask, byMandate, line.lineID, { paymentID: line.paymentID })
  await send(
    'one that waits',
    statement(own.iban, 'S5', [
      { ...claimed, reference: 'RET-9', on: '2027-02-26', text: 'Fee', hasMandateOnly: true },
    ]),
  )
  return files
}

/** A live account, whose days are those on which the dump was made. */
export async function living(ask: Ask, account: number): Promise<SentFile[]> {
  const { customerID } = await ask('POST', '/v1/customers', {
    Name: 'Ada',
    LastName: 'Lovelace',
    CurrencyCode: 'EUR',
    Email: 'ada@example.org',
  })
  const work = { customerID, CurrencyCode: 'EUR', Charges: [{ Line: 'Work', UnitCostEx: 90 }] }
  const { invoiceID } = await ask('POST', '/v1/invoices', work, { 'idempotency-key': 'work-1' })
  await ask('PUT', `/v1/customers/${customerID}`, {
    ...(await ask('GET', `/v1/customers/${customerID}`)),
    LastName: 'King',
  })
  await ask('POST', '/v1/payments', {
    customerID,
    CurrencyCode: 'EUR',
    Date: new Date().toISOString().slice(0, 10),
    Amount: 50,
    Method: 'eft',
    Allocations: [{ invoiceID, amountApplied: 50 }],
  })
  const { gatewayID } = await ask('POST', '/v1/gateways', { GatewayType: 'manual', CurrencyCodes: ['EUR'] })
  await ask('POST', '/v1/webhooks', { Url: 'https://hooks.invalid/billing', Types: ['invoice.*', 'payment.*'] })
  await ask('POST', '/v1/customernotes', { customerID, Note: 'Pays in two parts.', NoteType: 'Meeting' })
  const files: SentFile[] = []
  const send = senderOf(ask, files, account, gatewayID)
  const credit = { isCredit: true, on: new Date().toISOString().slice(0, 10), reference: 'NONREF' }
  await send(
    'live: a credit',
    statement('DE75512108001245126199', 'L1', [
      { ...credit, amount: '40.00', text: 'Invoice 1', name: 'Ada Lovelace' },
    ]),
  )
  await send(
    'live: another credit',
    statement('DE75512108001245126199', 'L2', [{ ...credit, amount: '7.00', text: 'Thank you', name: 'Ada Lovelace' }]),
  )
  return files
}
