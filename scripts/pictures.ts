/**
 * Takes the pictures of docs/images/ anew, from a service of its own, which ends with it: `npm run pictures` after a page or a mail has changed.
 * Needs Debian's chromium, or another by CHROMIUM.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Browser, chromium, type Page } from 'playwright-core'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = join(root, 'docs', 'images')
const data = mkdtempSync(join(tmpdir(), 'perennial-pictures-'))

/** A telephone, small enough for four of them in a row. */
const PHONE = { viewport: { width: 320, height: 600 }, deviceScaleFactor: 1.25, locale: 'en-US' }

/** Returns a port that nobody listens on: mails link the address of the service, which it has to know before it starts. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

const PORT = String(await freePort())
const settings = {
  HOST: '127.0.0.1',
  PORT,
  PUBLIC_URL: `http://127.0.0.1:${PORT}`,
  DATA_DIR: data,
  LOG_LEVEL: 'silent',
}
const program = spawn(process.execPath, [join(root, 'bin', 'perennial.js'), 'serve', '--json'], {
  env: { PATH: process.env['PATH'], ...settings },
  stdio: ['ignore', 'pipe', 'inherit'],
})

/** Calls the service as the account that its first start has made. */
type Api = (method: string, path: string, body?: object) => Promise<any>

async function startService(): Promise<Api> {
  const [line] = (await once(program.stdout, 'data')) as [Buffer]
  const { Address, AccountID, ApiKey } = JSON.parse(line.toString()) as Record<string, string>
  const authorization = `Basic ${Buffer.from(`${AccountID}:${ApiKey}`).toString('base64')}`
  return async (method, path, body) => {
    const headers = { authorization, 'content-type': 'application/json' }
    const answer = await fetch(`${Address}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return text === '' ? undefined : JSON.parse(text)
  }
}

/** Takes one picture of what stands at an address, or of markup. */
async function take(browser: Browser, name: string, show: (page: Page) => Promise<unknown>): Promise<void> {
  const context = await browser.newContext(PHONE)
  const page = await context.newPage()
  await show(page)
  writeFileSync(join(folder, `${name}.png`), await page.screenshot())
  await context.close()
}

/** Makes a firm with an invoice that a customer can pay by card, and returns where its page is and what its mail looks like. */
async function invoiceOf(api: Api): Promise<{ url: string; mail: string }> {
  await api('PUT', '/v1/account', { Name: 'Brightquay Studio', Colour: '#7a1f5c' })
  await api('POST', '/v1/tax', { Name: 'VAT', rules: [{ isDefault: true, Perc: 0.15 }] })
  const ada = { Name: 'Ada', LastName: 'Lovelace', Email: 'ada@example.com', PaymentMethod: 'credit_card' }
  const { customerID } = await api('POST', '/v1/customers', { ...ada, PaymentTermDays: 14 })
  const CreditCard = { CardType: 'Visa', Number: '4242424242424242', ExpiryMonth: 12, ExpiryYear: 2040 }
  const names = { NameOnCard: 'Ada', LastNameOnCard: 'Lovelace' }
  await api('POST', '/v1/paymentmethods/creditcard', {
    customerID,
    isPrimary: true,
    CreditCard: { ...CreditCard, ...names },
  })
  const Charges = [
    { Line: 'Hosting', Descrip: 'Two servers', Qty: 2, UnitCostEx: 50 },
    { Line: 'Support', Descrip: 'By the hour', Qty: 1.5, UnitCostEx: 80 },
  ]
  const { invoiceID } = await api('POST', '/v1/invoices', { customerID, Charges })
  const { Url } = await api('GET', `/v1/invoices/${invoiceID}/link`)
  const mails = (await api('GET', '/v1/outbox')) as { Template: string; Html: string }[]
  return { url: Url, mail: mails.find(({ Template }) => Template === 'invoice')?.Html ?? '' }
}

/** Begins a capture session for a page of a shop on this machine, and returns where that page is. */
async function captureOf(api: Api): Promise<{ url: string; close(): void }> {
  let widget = ''
  const shop = createServer((_, response) =>
    response
      .setHeader('content-type', 'text/html; charset=utf-8')
      .end(`<!doctype html><body style="font-family:sans-serif"><h1>A page of yours</h1>${widget}`),
  )
  await once(shop.listen(0, '127.0.0.1'), 'listening')
  const url = `http://localhost:${(shop.address() as AddressInfo).port}`
  const [{ GatewayToken }] = await api('GET', '/v1/gateways')
  const kind = { VaultingType: 'VaultGateway', SaleType: 'VaultOnly', isVaultOnlyOnSuccess: false, CurrencyCode: 'USD' }
  const wish = { ...kind, ExpiresIn: '00:30:00', GatewayToken, AuthDomain: url }
  widget = (await api('POST', '/v1/widgets/capturepaymethod/create', wish)).Html
  return { url, close: () => void shop.close() }
}

/** Asks for a SEPA mandate, and returns where it is signed. */
async function mandateOf(api: Api): Promise<string> {
  const Address1 = 'Hafenstraße 12'
  const signee = { Name: 'Ada', Lastname: 'Lovelace', Email: 'ada@example.com', Address1, City: 'Hamburg' }
  const bank = { bank_DebitMethod: 'sepa', bank_Name: 'Commerzbank', bank_BranchCode: 'COBADEFFXXX' }
  const account = {
    bank_AccHolder: 'Ada Lovelace',
    bank_AccNumber: 'DE89370400440532013000',
    bank_AccountType: 'savings',
  }
  const debit = { debit_Frequency: 'Monthly', debit_ActionDay: 1, debit_StartDate: '2040-01-01', debit_Amt: 199.5 }
  const names = { debit_NameOnStmt: 'BRIGHTQUAY', debit_ContractRef: 'C-17', debit_MaxAmt: 400 }
  const back = { CountryISOCode: 'DEU', RedirectUrl: 'http://localhost/' }
  return (await api('POST', '/widget/emandate', { ...signee, ...bank, ...account, ...debit, ...names, ...back })).Url
}

try {
  mkdirSync(folder, { recursive: true })
  const api = await startService()
  const [invoice, shop, mandate] = [await invoiceOf(api), await captureOf(api), await mandateOf(api)]
  const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium'
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  await take(browser, 'mail', (page) => page.setContent(invoice.mail))
  await take(browser, 'invoice-page', (page) => page.goto(invoice.url))
  await take(browser, 'capture-frame', async (page) => {
    await page.goto(shop.url)
    await page.frameLocator('iframe').getByLabel('Card number').fill('4242 4242 4242 4242')
  })
  await take(browser, 'signing-page', async (page) => {
    await page.goto(mandate)
    await page.getByLabel('Type your full name').fill('Ada Lovelace')
    await page.getByRole('button', { name: 'Sign', exact: true }).scrollIntoViewIfNeeded()
  })
  await browser.close()
  shop.close()
} finally {
  program.kill('SIGTERM')
  await once(program, 'close')
  rmSync(data, { recursive: true, force: true })
}
