import { createHmac } from 'node:crypto'
import type Stripe from 'stripe'
import type { Book } from './stripe-book.ts'

interface Delivery {
  endpoint: Stripe.WebhookEndpoint
  event: Stripe.EventBase
}

/** Webhooks of a book. They wait until they are delivered, so that a test decides which come, in which order and how often. */
export class Webhooks {
  /** Those that wait, oldest first. */
  waiting: Delivery[] = []
  /** Delivers at once, as Stripe does. */
  isAutomatic = false
  /** Returns where an endpoint is reached: at its own address, if nothing else is given. */
  addressOf: (url: string) => string = (url) => url

  constructor(book: Book) {
    book.onEvent = (event) => {
      const wanted = [...book.endpoints.values()].filter(
        ({ enabled_events: types, status }) =>
          status === 'enabled' && (types.includes('*') || types.includes(event.type)),
      )
      this.waiting.push(...wanted.map((endpoint) => ({ endpoint, event })))
      if (this.isAutomatic) void this.deliver().catch(() => undefined)
    }
  }

  /** Delivers what waits, and returns the statuses that came back. @param how shuffled: the newest first; twice: each of them twice */
  async deliver(how: { isShuffled?: boolean; isTwice?: boolean } = {}): Promise<number[]> {
    const due = this.waiting.splice(0)
    const ordered = how.isShuffled ? due.toReversed() : due
    const statuses: number[] = []
    for (const delivery of how.isTwice ? ordered.flatMap((one) => [one, one]) : ordered)
      statuses.push(await this.send(delivery))
    return statuses
  }

  /** Loses what waits. */
  lose(): void {
    this.waiting = []
  }

  /** Sends one webhook, signed. @param age seconds between the signature and now */
  async send({ endpoint, event }: Delivery, age = 0): Promise<number> {
    const body = JSON.stringify({ ...event, api_version: endpoint.api_version ?? event.api_version })
    const second = Math.floor(Date.now() / 1000) - age
    const response = await fetch(this.addressOf(endpoint.url), {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'stripe-signature': signatureOf(body, endpoint.secret ?? '', second),
      },
      body,
      signal: AbortSignal.timeout(30_000),
    })
    await response.arrayBuffer()
    return response.status
  }
}

/** Signs a body as Stripe does: HMAC-SHA256 over the second and the bytes. */
export const signatureOf = (body: string, secret: string, second: number) =>
  `t=${second},v1=${createHmac('sha256', secret).update(`${second}.${body}`).digest('hex')}`
