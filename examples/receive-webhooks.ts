import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { clientFromEnvironment } from './client.ts'

/**
 * Receives events: adds a webhook that leads to this program, asks for a test event, verifies it, and takes the webhook away. The service must
 * allow this machine's own address, so start it with OUTBOUND_ALLOW=127.0.0.0/8 npm start; then: npx tsx examples/receive-webhooks.ts
 */

const OFF_SECONDS_MAX = 300

/** Returns whether a request was signed with the secret a moment ago. A library of standardwebhooks.com does the same in your language. */
function isGenuine(secret: string, headers: IncomingHttpHeaders, body: string): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': signatures } = headers
  if (Math.abs(Date.now() / 1000 - Number(seconds)) > OFF_SECONDS_MAX) return false
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const right = createHmac('sha256', key)
    .update(`${String(id)}.${String(seconds)}.${body}`)
    .digest()
  // After a rotation there are two.
  return String(signatures)
    .split(' ')
    .map((signature) => Buffer.from(signature.replace(/^v1,/, ''), 'base64'))
    .some((sent) => sent.length === right.length && timingSafeEqual(sent, right))
}

const api = clientFromEnvironment()
let secret = ''
const seen = new Set<string>()

const received = new Promise<string>((resolve) => {
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk))
    request.on('end', () => {
      if (!isGenuine(secret, request.headers, body)) return response.writeHead(401).end()
      response.writeHead(204).end()
      // An event can come twice; work on it once, and after the answer.
      const id = String(request.headers['webhook-id'])
      if (seen.has(id)) return undefined
      seen.add(id)
      server.close()
      return resolve(JSON.parse(body).Type)
    })
  })
  server.listen(0, '127.0.0.1', () => void subscribe((server.address() as AddressInfo).port))
})

async function subscribe(port: number): Promise<void> {
  const { body } = await api.post('/v1/webhooks', { Url: `http://127.0.0.1:${port}/`, Types: ['invoice.*'] })
  secret = body.Secret
  await api.post(`/v1/webhooks/${body.webhookID}/test`, undefined)
  console.log(`Received and verified: ${await received}.`)
  await api.remove(`/v1/webhooks/${body.webhookID}`)
  // A connection that the service keeps for the next event would keep this program, too.
  process.exit(0)
}
