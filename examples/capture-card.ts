import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { clientFromEnvironment } from './client.ts'

/**
 * A page of yours with the capture widget on it: begins a session, serves the page on this machine, and makes the card that somebody enters there
 * the payment method of a new customer. No card number ever comes to this program or its page; with a gateway of type stripe none comes to the service
 * either, because the frame shows Stripe's own fields. Start the service, then: npx tsx examples/capture-card.ts, and open the address that it prints. In a
 * test account the card 4242 4242 4242 4242 is taken.
 */

const api = clientFromEnvironment()
const { body: gateways } = await api.get('/v1/gateways')
const { body: account } = await api.get('/v1/account')
const gateway = gateways.find(({ GatewayType }: { GatewayType: string }) => GatewayType === 'stripe') ?? gateways[0]

/** The page of a shop. The widget tells by events of its container what came of it; the page then asks its own server to go on. */
const page = (widget: string) => `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>A shop</title></head>
<body>
<main>
<h1>Add your card</h1>
${widget}
<p id="outcome" role="status"></p>
</main>
<script>
const outcome = document.getElementById('outcome')
document.addEventListener('perennial:error', (event) => { outcome.textContent = 'Not yet: ' + event.detail.code })
document.addEventListener('perennial:result', async () => {
  const answer = await fetch('/done', { method: 'POST' })
  outcome.textContent = answer.ok ? 'Thank you.' : 'That did not work.'
})
</script>
</body>
</html>`

let session: { SessionToken: string; Html: string; iframeCapturePayID: number } | undefined

const server = createServer((request, response) => {
  if (request.method === 'POST' && request.url === '/done')
    return void complete().then((ok) => response.writeHead(ok ? 204 : 502).end(leave))
  response.setHeader('content-type', 'text/html; charset=utf-8').end(page(session?.Html ?? ''))
})

server.listen(0, '127.0.0.1', () => void begin((server.address() as AddressInfo).port))

async function begin(port: number): Promise<void> {
  const { body } = await api.post('/v1/widgets/capturepaymethod/create', {
    VaultingType: 'VaultGateway',
    SaleType: 'VaultOnly',
    ExpiresIn: '00:30:00',
    isVaultOnlyOnSuccess: false,
    CurrencyCode: account.CurrencyCode,
    GatewayToken: gateway.GatewayToken,
    AuthDomain: `http://localhost:${port}`,
  })
  session = body
  console.log(`Open http://localhost:${port}/ in a browser.`)
}

/** The page says that something was captured; whether it was, the service knows. */
async function complete(): Promise<boolean> {
  const { body: customer } = await api.post('/v1/customers', { Name: 'Ada', LastName: 'Lovelace' })
  const SessionToken = session?.SessionToken ?? ''
  await api.put('/v1/widgets/capturepaymethod/complete', { customerID: customer.customerID, SessionToken })
  const { body } = await api.get(`/v1/widgets/capturepaymethod/get/${SessionToken}`)
  const { body: method } = await api.get(`/v1/paymentmethods/${body.paymentMethodID}`)
  const { CardType, LastFourDigits } = method.CreditCard
  console.log(`Customer ${customer.customerID} pays by ${CardType} ending in ${LastFourDigits}.`)
  return true
}

/** Ends the program once the page has its answer. */
function leave(): void {
  server.close()
  server.closeIdleConnections()
  setTimeout(() => process.exit(0), 200)
}
