import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { clientFromEnvironment } from './client.ts'

/**
 * A page of yours on which a customer signs a debit mandate, and the bank account that is debited by it afterwards. The mandate can be read and
 * signed in the frame on this page alone (AuthDomain). Start the service, then: npx tsx examples/sign-mandate.ts, and open the address that it prints.
 */

const api = clientFromEnvironment()
const serviceUrl = process.env['PERENNIAL_URL'] || 'http://127.0.0.1:3000'

/** The bank account of this example, as your form may have asked for it. */
const BANK = { holder: 'Ada Lovelace', bank: 'FNB', number: '62001871490', branch: '250655', type: 'Savings' }

/** Makes the page of a shop. What its script hears is only a hint: the page asks its own server to go on, which asks the service. */
const page = (token: string) => `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>A shop</title></head>
<body>
<main>
<h1>Pay by debit order</h1>
<div id="mandate" aria-label="Debit mandate"></div>
<p id="outcome" role="status"></p>
</main>
<script src="${new URL('/widget/emandate.js', serviceUrl)}"></script>
<script>
const outcome = document.getElementById('outcome')
EMandate.init({
  containerID: 'mandate',
  token: '${token}',
  onComplete: async () => {
    const answer = await fetch('/done', { method: 'POST' })
    outcome.textContent = answer.ok ? 'Thank you.' : 'That did not work.'
  },
  onError: ({ message }) => { outcome.textContent = message },
})
</script>
</body>
</html>`

let token = ''

const server = createServer((request, response) => {
  if (request.method === 'POST' && request.url === '/done')
    return void complete().then((ok) => response.writeHead(ok ? 204 : 409).end(ok ? leave : undefined))
  response.setHeader('content-type', 'text/html; charset=utf-8').end(page(token))
})

server.listen(0, '127.0.0.1', () => void begin((server.address() as AddressInfo).port))

async function begin(port: number): Promise<void> {
  const { body: clock } = await api.get('/v1/clock')
  const { body } = await api.post('/v1/emandate', {
    AuthDomain: `http://localhost:${port}`,
    Name: 'Ada',
    Lastname: 'Lovelace',
    bank_DebitMethod: 'debit_order',
    bank_Name: BANK.bank,
    bank_BranchCode: BANK.branch,
    bank_AccHolder: BANK.holder,
    bank_AccNumber: BANK.number,
    bank_AccountType: BANK.type,
    debit_Frequency: 'Monthly',
    debit_ActionDay: 31,
    debit_StartDate: clock.Now.slice(0, 10),
    debit_Amt: 199.5,
    debit_NameOnStmt: 'A SHOP',
    debit_ContractRef: 'C-17',
  })
  token = body.Token
  console.log(`Open http://localhost:${port}/ in a browser.`)
}

/** Adds the account that the mandate is for, once the service knows of the signature. */
async function complete(): Promise<boolean> {
  const { body: mandate } = await api.get(`/v1/emandate?Token=${token}`)
  if (mandate.MandateState !== 'signed') return false
  const { body: customer } = await api.post('/v1/customers', { Name: 'Ada', LastName: 'Lovelace' })
  const { body: method } = await api.post('/v1/paymentmethods/bankaccount', {
    customerID: customer.customerID,
    isPrimary: true,
    BankAccount: {
      Method: 'debit_order',
      AccountType: BANK.type,
      AccountHolder: BANK.holder,
      Bank: BANK.bank,
      AccountNumber: BANK.number,
      BranchCode: BANK.branch,
      EMandateToken: token,
    },
  })
  const { LastFourDigits, MandateReference } = method.BankAccount
  console.log(
    `Customer ${customer.customerID} pays from the account ending in ${LastFourDigits}, by mandate ${MandateReference}.`,
  )
  return true
}

/** Ends the program once the page has its answer. */
function leave(): void {
  server.close()
  server.closeIdleConnections()
  setTimeout(() => process.exit(0), 200)
}
