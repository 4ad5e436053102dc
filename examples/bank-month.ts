import { crc32 } from 'node:zlib'
import { type Client, clientFromEnvironment } from './client.ts'

/**
 * A month of a firm at a German bank: debits go out in one file, and what the bank answers comes as ZIP archives, with statements of three accounts,
 * reports of the day, notifications and a rejection. All of it is sent in any order, and once more; afterwards every cent that the bank booked is
 * in the ledger or waits for a person: npx tsx examples/bank-month.ts
 */

const api = clientFromEnvironment()
const OURS = 'DE89370400440532013000'
const OTHERS = ['DE02120300000000202051', 'DE02500105170137075030']

const dayAfter = (day: string, days: number): string =>
  new Date(Date.parse(day) + days * 86_400_000).toISOString().slice(0, 10)

const moveTo = (day: string) => api.put('/v1/clock', { Now: `${day}T12:00:00Z` })

interface Debit {
  paymentID: number
  customerID: number
  endToEnd: string
}

/** 1. A gateway that makes files for the bank, and four customers who owe 115.00 each and have signed a mandate. */
async function openShop(): Promise<{ gatewayID: number; token: string; today: string }> {
  const currencies = (await api.get('/v1/currencies')).body
  if (!currencies.some((one: any) => one.CurrencyCode === 'EUR'))
    await api.post('/v1/currencies', { CurrencyCode: 'EUR' })
  const Settings = {
    CreditorName: 'Perennial GmbH',
    CreditorIBAN: OURS,
    CreditorBIC: 'COBADEFFXXX',
    CreditorIdentifier: 'DE98ZZZ09999999999',
  }
  const gateway = await api.post('/v1/gateways', { GatewayType: 'sepa-file', isPrimary: true, Settings })
  const today = (await api.get('/v1/clock')).body.Now.slice(0, 10)
  return { gatewayID: gateway.body.gatewayID, token: gateway.body.GatewayToken, today }
}

async function addDebit(BatchToken: string, number: number, MandateDate: string): Promise<Debit> {
  const customer = { Name: 'Customer', LastName: String(number), CurrencyCode: 'EUR' }
  const { customerID } = (await api.post('/v1/customers', customer)).body
  const BankAccount = {
    Method: 'sepa',
    AccountType: 'Current',
    AccountHolder: `Customer ${number}`,
    Bank: 'Bank',
    IBAN: 'DE02120300000000202051',
    BIC: 'BYLADEM1001',
    MandateReference: `M-${customerID}`,
    MandateDate,
  }
  const method = await api.post('/v1/paymentmethods/bankaccount', { customerID, isPrimary: true, BankAccount })
  const { paymentMethodID } = method.body
  // Cash: the service collects nothing of it automatically, the line below does.
  const invoice = { customerID, CurrencyCode: 'EUR', CollectionMethod: 'cash', Charges: [{ UnitCostEx: 115 }] }
  const { invoiceID } = (await api.post('/v1/invoices', invoice)).body
  const PaymentApplied = [{ invoiceID, amount: 115 }]
  const line = { BatchToken, customerID, paymentMethodID, Amount: 115, PaymentApplied }
  const { paymentID } = (await api.post('/v1/batches/payments', line)).body
  return { paymentID, customerID, endToEnd: `P${process.env['PERENNIAL_ACCOUNT']}-${paymentID}` }
}

/** 2. A batch for a day on which banks work; its file goes to the bank. */
async function collect(shop: { token: string; today: string }): Promise<{ debits: Debit[]; day: string }> {
  const { day, BatchToken } = await openBatch(shop.token, dayAfter(shop.today, 14))
  const debits: Debit[] = []
  for (let number = 1; number <= 4; number += 1) debits.push(await addDebit(BatchToken, number, shop.today))
  await api.put('/v1/batches/submit', { BatchToken, ActionDate: day })
  await moveTo(dayAfter(shop.today, 1))
  await api.download(`/v1/batches/${BatchToken}/file`)
  return { debits, day }
}

async function openBatch(GatewayToken: string, from: string): Promise<{ day: string; BatchToken: string }> {
  for (let day = from; ; day = dayAfter(day, 1)) {
    const opened = await api
      .post('/v1/batches', { CurrencyCode: 'EUR', GatewayToken, ActionDate: day })
      .catch(() => null)
    if (opened) return { day, BatchToken: opened.body.BatchToken }
    if (day > dayAfter(from, 10)) throw new Error(`No batch could be opened for ${from} to ${day}.`)
  }
}

/** 3. What the bank books: three debits in one entry, one of them taken back with a fee, a transfer of somebody, and what the account costs. */
function entriesOf([one, two, three]: readonly Debit[], day: string, later: string) {
  const { paymentID } = one as Debit
  const entry = (on: string, amount: string, direction: string, reference: string, inside: string) =>
    `<Ntry><Amt Ccy="EUR">${amount}</Amt><CdtDbtInd>${direction}</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>${on}</Dt></BookgDt>
     <AcctSvcrRef>${reference}</AcctSvcrRef><NtryDtls>${inside}</NtryDtls></Ntry>`
  const part = (debit: Debit | undefined, more = '') =>
    `<TxDtls><Refs><EndToEndId>${debit?.endToEnd}</EndToEndId></Refs><Amt Ccy="EUR">115.00</Amt>${more}</TxDtls>`
  const returned = `<TxDtls><Refs><EndToEndId>${three?.endToEnd}</EndToEndId></Refs><Amt Ccy="EUR">118.00</Amt>
    <AmtDtls><InstdAmt><Amt Ccy="EUR">115.00</Amt></InstdAmt></AmtDtls><RtrInf><Rsn><Cd>AM04</Cd></Rsn></RtrInf></TxDtls>`
  const transfer = `<TxDtls><RltdPties><Dbtr><Pty><Nm>Grace Hopper</Nm></Pty></Dbtr></RltdPties><RmtInf><Ustrd>Thanks, ${paymentID}</Ustrd></RmtInf></TxDtls>`
  return {
    collected: entry(day, '345.00', 'CRDT', `C${paymentID}`, part(one) + part(two) + part(three)),
    returned: entry(later, '118.00', 'DBIT', `R${paymentID}`, returned),
    transferred: entry(later, '50.00', 'CRDT', 'NONREF', transfer),
    charged: entry(
      later,
      '7.50',
      'DBIT',
      `F${paymentID}`,
      `<TxDtls><RmtInf><Ustrd>Account ${paymentID}</Ustrd></RmtInf></TxDtls>`,
    ),
    booked: 345 - 118 + 50 - 7.5,
  }
}

const BODIES = {
  'camt.052': ['BkToCstmrAcctRpt', 'Rpt'],
  'camt.053': ['BkToCstmrStmt', 'Stmt'],
  'camt.054': ['BkToCstmrDbtCdtNtfctn', 'Ntfctn'],
} as const

function bankFile(
  message: keyof typeof BODIES,
  accounts: readonly [iban: string, entries: readonly string[]][],
): string {
  const [body, record] = BODIES[message]
  const records = accounts.map(
    ([iban, entries]) => `<${record}><Acct><Id><IBAN>${iban}</IBAN></Id></Acct>${entries.join('')}</${record}>`,
  )
  return `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:${message}.001.08"><${body}>${records.join('')}</${body}></Document>`
}

const rejection = ({ endToEnd }: Debit, day: string): string =>
  `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.03"><CstmrPmtStsRpt><GrpHdr><MsgId>1</MsgId><CreDtTm>${day}T08:00:00</CreDtTm></GrpHdr>
   <OrgnlPmtInfAndSts><OrgnlPmtInfId>1</OrgnlPmtInfId><TxInfAndSts><OrgnlEndToEndId>${endToEnd}</OrgnlEndToEndId><TxSts>RJCT</TxSts>
   <StsRsnInf><Rsn><Cd>AC04</Cd></Rsn></StsRsnInf></TxInfAndSts></OrgnlPmtInfAndSts></CstmrPmtStsRpt></Document>`

/** Writes a ZIP archive without packing; what a bank gives is sent as it is. */
function zip(files: readonly string[]): Buffer {
  const local: Buffer[] = []
  const directory: Buffer[] = []
  for (const [number, file] of files.entries()) {
    const name = Buffer.from(`${number + 1}.xml`)
    const content = Buffer.from(file)
    const header = Buffer.alloc(26)
    header.writeUInt16LE(20, 0)
    header.writeUInt32LE(crc32(content), 10)
    header.writeUInt32LE(content.length, 14)
    header.writeUInt32LE(content.length, 18)
    header.writeUInt16LE(name.length, 22)
    const offset = Buffer.alloc(14)
    offset.writeUInt32LE(Buffer.concat(local).length, 10)
    local.push(Buffer.from('504b0304', 'hex'), header, name, content)
    directory.push(Buffer.from('504b01021400', 'hex'), header, offset, name)
  }
  const end = Buffer.alloc(22)
  end.write('504b0506', 'hex')
  end.writeUInt16LE(files.length, 8)
  end.writeUInt16LE(files.length, 10)
  end.writeUInt32LE(Buffer.concat(directory).length, 12)
  end.writeUInt32LE(Buffer.concat(local).length, 16)
  return Buffer.concat([...local, ...directory, end])
}

const cashOf = async (client: Client): Promise<number> =>
  (await client.get('/v1/ledger/balances')).body.find(
    (one: any) => one.Account === 'cash' && one.CurrencyCode === 'EUR',
  )?.Balance ?? 0

const anyOrder = <Item>(items: readonly Item[]): Item[] =>
  items
    .map((item) => [Math.random(), item] as const)
    .sort(([a], [b]) => a - b)
    .map(([, item]) => item)

const shop = await openShop()
const before = await cashOf(api)
const { debits, day } = await collect(shop)
const later = dayAfter(day, 8)
// Debits of which no file of the bank has been read count as received some days after theirs.
await moveTo(later)
const { collected, returned, transferred, charged, booked } = entriesOf(debits, day, later)

const files = [
  bankFile('camt.052', [[OURS, [collected]]]),
  bankFile('camt.053', [
    [OTHERS[0]!, [collected]],
    [OURS, [collected]],
    [OTHERS[1]!, []],
  ]),
  bankFile('camt.054', [[OURS, [returned, transferred]]]),
  bankFile('camt.053', [[OURS, [returned, transferred, charged]]]),
  rejection(debits[3]!, dayAfter(day, -1)),
]
const mixed = anyOrder(files)
const archives = [zip(mixed.slice(0, 3)), zip(mixed.slice(3))]

/** 4. Sends the archives, and returns the identifiers of the files in them. */
async function send(all: readonly Buffer[]): Promise<{ ids: number[]; areNew: boolean }> {
  const ids: number[] = []
  let areNew = false
  for (const archive of all) {
    const { status, body } = await api.send(`/v1/resultfiles?gatewayID=${shop.gatewayID}`, archive, 'application/zip')
    areNew ||= status === 201
    ids.push(...body.Files.map((file: any) => file.resultFileID))
  }
  return { ids, areNew }
}

const first = await send(archives)
const again = await send(anyOrder(archives))
console.log(`Sent ${first.ids.length} files, and once more: ${again.areNew ? 'something' : 'nothing'} was new.`)

// 5. What became of the debits, and the work of the day.
for (const { paymentID } of debits) console.log(`A debit: ${(await api.get(`/v1/payments/${paymentID}`)).body.Status}`)
const open = (await api.get('/v1/resultfiles?isOpen=true')).body.filter((file: any) =>
  first.ids.includes(file.resultFileID),
)
let listed = 0
for (const { resultFileID } of open)
  for (const line of (await api.get(`/v1/resultfiles/${resultFileID}`)).body.Lines) {
    const amount = line.isCredit ? line.Amount : -line.Amount
    if (line.sameAs === null) listed += amount
    console.log(
      `Waits: ${line.Kind} ${amount.toFixed(2)}${line.Code ? ` ${line.Code}` : ''}${line.sameAs === null ? '' : ', a repeat'}`,
    )
  }
const taken = (await cashOf(api)) - before
console.log(`The bank booked ${booked.toFixed(2)}: ${taken.toFixed(2)} in the ledger, ${listed.toFixed(2)} wait.`)
if (Math.round((taken + listed - booked) * 100) !== 0) throw new Error('Something of what the bank booked is missing.')
