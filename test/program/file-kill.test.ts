import { crc32 } from 'node:zlib'
import { expect, test } from 'vitest'
import { addBankDays } from '../../src/kernel/bank-days.ts'
import { serveForeignShop } from './foreign-shop.ts'
import { runProgram, serve, type Serving } from './program.ts'

/**
 * Bank files and archives whose reader is killed again and again, each sent once more: counts and books are those of one reading. A lock of the test holds
 * the service at the place at which it is killed.
 */

const KILLS = Number(process.env['FILE_KILLS'] ?? 6)
/** Debits, and credits of strangers, in each statement. A portion has at most 500 lines. */
const [DEBITS, STRANGERS] = [3, 1100]
const STATEMENTS = 16
const AMOUNT = 115
/** Tables that each portion writes at some point. */
const HELD = ['result_lines', 'payment_bookings', 'result_files', 'bank_references', 'payments']

const entry = (amount: string, reference: string, day: string, inside: string) =>
  `<Ntry><Amt Ccy="EUR">${amount}</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>${day}</Dt></BookgDt>` +
  `<AcctSvcrRef>${reference}</AcctSvcrRef><NtryDtls><TxDtls>${inside}</TxDtls></NtryDtls></Ntry>`

/** Returns statement number `n` of the bank: its debits stand among the credits of strangers. */
function statement(n: number, endToEnds: readonly string[], day: string): string {
  const entries = Array.from({ length: STRANGERS }, (_, k) =>
    entry('1.00', `S${n}-${k}`, day, `<RmtInf><Ustrd>Thanks ${n} ${k}</Ustrd></RmtInf>`),
  )
  for (const [k, endToEnd] of endToEnds.entries())
    entries.splice(
      Math.floor((STRANGERS * (k + 1)) / (DEBITS + 1)),
      0,
      entry(`${AMOUNT}.00`, `D${n}-${k}`, day, `<Refs><EndToEndId>${endToEnd}</EndToEndId></Refs>`),
    )
  return `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><Stmt>${entries.join('')}</Stmt></BkToCstmrStmt></Document>`
}

/** Returns a ZIP archive of stored files. */
function archive(files: readonly string[]): Buffer {
  const local: Buffer[] = []
  const directory: Buffer[] = []
  for (const [number, file] of files.entries()) {
    const [name, content] = [Buffer.from(`${number}.xml`), Buffer.from(file)]
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

type Shop = Awaited<ReturnType<typeof serveForeignShop>>

function sender({ authorization }: Shop, to: Serving) {
  return async (method: string, path: string, body?: object) => {
    const headers = { authorization, 'content-type': 'application/json' }
    const response = await fetch(to.address + path, { method, headers, body: body ? JSON.stringify(body) : null })
    const text = await response.text()
    expect(response.status, `${method} ${path} ${text}`).toBeLessThan(300)
    return text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text
  }
}

/** Submits a batch of a debit each of as many customers, and returns its gateway, its day and the references of its debits. */
async function collected(shop: Shop) {
  const send = sender(shop, shop.first)
  const currencies: { CurrencyCode: string }[] = await send('GET', '/v1/currencies')
  if (!currencies.some(({ CurrencyCode }) => CurrencyCode === 'EUR'))
    await send('POST', '/v1/currencies', { CurrencyCode: 'EUR' })
  const { gatewayID, GatewayToken } = await send('POST', '/v1/gateways', { GatewayType: 'manual', isActive: true })
  const ActionDate = addBankDays('weekdays', new Date().toISOString().slice(0, 10), 4)
  const { BatchToken } = await send('POST', '/v1/batches', { CurrencyCode: 'EUR', GatewayToken, ActionDate })
  const endToEnds: string[] = []
  for (let n = 0; n < DEBITS * STATEMENTS; n += 1) {
    const wish = { Name: `Acme ${n}`, isCompany: true, PaymentTermDays: 0, CurrencyCode: 'EUR' }
    const { customerID } = await send('POST', '/v1/customers', wish)
    const BankAccount = {
      ...{ Method: 'debit_order', AccountType: 'Current', AccountHolder: `Acme ${n}`, Bank: 'First Bank' },
      ...{ AccountNumber: `6200123${n + 1000}`, BranchCode: '250655' },
    }
    const method = await send('POST', '/v1/paymentmethods/bankaccount', { customerID, isPrimary: true, BankAccount })
    const invoice = { customerID, CurrencyCode: 'EUR', CollectionMethod: 'cash', Charges: [{ UnitCostEx: AMOUNT }] }
    await send('POST', '/v1/invoices', invoice)
    const { paymentMethodID } = method
    const line = { BatchToken, customerID, Amount: AMOUNT, paymentMethodID, isAutoApply: true }
    const { paymentID } = await send('POST', '/v1/batches/payments', line)
    endToEnds.push(`P${shop.account}-${paymentID}`)
  }
  await send('PUT', '/v1/batches/submit', { BatchToken, ActionDate })
  return { gatewayID: gatewayID as number, day: ActionDate, endToEnds }
}

test(`kill -9 of serve within files and archives, ${KILLS} times: sent again, each entry counts once`, async () => {
  const shop = await serveForeignShop()
  const { env, rows, until, connect } = shop
  const { gatewayID, day, endToEnds } = await collected(shop)
  shop.first.child.kill('SIGKILL')
  await shop.first.ended
  let service = await serve(env)
  await until(`select count(*) from payment_batches where state = 'submitted'`, 1)

  const statements = Array.from({ length: STATEMENTS }, (_, n) =>
    statement(n, endToEnds.slice(n * DEBITS, (n + 1) * DEBITS), day),
  )
  const uploads: { type: string; body: string | Buffer; files: number }[] = []
  while (statements.length > 0)
    uploads.push(
      uploads.length % 2 === 0
        ? { type: 'application/xml', body: statements.pop() as string, files: 1 }
        : { type: 'application/zip', body: archive(statements.splice(-2)), files: 2 },
    )
  const upload = async ({ type, body }: { type: string; body: string | Buffer }) => {
    const headers = { authorization: shop.authorization, 'content-type': type }
    const response = await fetch(`${service.address}/v1/resultfiles?gatewayID=${gatewayID}`, {
      method: 'POST',
      headers,
      body: body as never,
    })
    return { status: response.status, body: JSON.parse(await response.text()) }
  }
  const holder = await connect()
  let kills = 0

  /** Sends it, holds the service at a table, kills it there and starts it again; returns whether it was killed before it had answered. */
  async function killWithin(one: (typeof uploads)[number], round: number): Promise<boolean> {
    // Every other time it has come through some lines first.
    const [{ done } = { done: 0 }] = await rows('select coalesce(sum(lines_done), 0)::int as done from result_files')
    let hasAnswered = false
    const answer = upload(one).then(
      () => (hasAnswered = true),
      () => false,
    )
    if (round % 2 === 1)
      while (
        !hasAnswered &&
        (await rows('select coalesce(sum(lines_done), 0)::int as done from result_files'))[0]?.['done'] === done
      );
    await holder.query(`begin; lock table ${HELD[round % HELD.length]} in exclusive mode`)
    while (!hasAnswered && (await rows('select 1 from pg_locks where not granted')).length === 0);
    service.child.kill('SIGKILL')
    await Promise.all([service.ended, answer])
    await holder.query('rollback')
    // Leases of what was killed lapse after half a minute; the test does not wait for that.
    await rows(`update leases set leased_until = now() - interval '1 second'`)
    service = await serve(env)
    return !hasAnswered
  }

  for (const [index, one] of uploads.entries()) {
    const wanted = Math.ceil((KILLS * (index + 1)) / uploads.length)
    for (let round = index; kills < wanted; round += 1) {
      if (!(await killWithin(one, round))) break
      kills += 1
    }
    const { status, body } = await upload(one)
    expect([200, 201], JSON.stringify(body)).toContain(status)
    const debits = DEBITS * one.files
    const counts = one.files === 1 ? [body] : body.Files
    const sum = (name: string) =>
      counts.reduce((total: number, file: Record<string, number>) => total + (file[name] ?? 0), 0)
    expect([sum('Matched'), sum('Applied'), sum('Unmatched'), sum('AlreadyKnown')]).toEqual([
      ...[debits, debits, STRANGERS * one.files, 0],
    ])
  }
  expect(kills).toBe(KILLS)

  const books = await rows(`
    select (select count(*)::int from result_lines) as lines, (select count(*)::int from payment_bookings) as bookings,
           (select count(*)::int from payments where settled_on is not null and failed_on is null) as settled,
           (select sum(case when debit = 'cash' then amount_minor else -amount_minor end)::int from ledger
             where currency = 'EUR' and 'cash' in (debit, credit)) as cash`)
  const debits = DEBITS * STATEMENTS
  expect(books).toEqual([
    { lines: STRANGERS * STATEMENTS, bookings: debits, settled: debits, cash: debits * AMOUNT * 100 },
  ])
  service.child.kill('SIGTERM')
  await service.ended
  expect((await runProgram(['verify'], env)).out).toContain('0 differences')
})
