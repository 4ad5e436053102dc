import { expect } from 'vitest'
import type { TestClient, TestService } from '../../../test/support/app.ts'

/** Opens the page of an invoice as a browser does, by its link. */

export const ORIGIN = 'https://pay.example'

/** Returns the path of an invoice's page, from its link. */
export async function pathOf(client: TestClient, invoiceID: number): Promise<string> {
  const { status, body, text } = await client.get(`/v1/invoices/${invoiceID}/link`)
  expect(status, text).toBe(200)
  return new URL(body.Url).pathname
}

/** Returns what a reader sees of a page: its text without markup, in one line. */
export const seenOf = (markup: string): string =>
  markup
    .replace(/<style[\s\S]*?<\/style>/g, '')
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ')

/** Returns the hidden fields of the form that a page has: what its reader has seen. */
export const fieldsOf = (markup: string): Record<string, string> =>
  Object.fromEntries(
    [...markup.matchAll(/type="hidden" name="(\w+)" value="(\d+)"/g)].map(([, name = '', value = '']) => [name, value]),
  )

export async function open(service: TestService, path: string, headers: Record<string, string> = {}) {
  const { status, text } = await service.anonymous.get(path, undefined, headers)
  return { status, text, seen: seenOf(text) }
}

/** Sends a form of a page as a browser does, and opens the page that it is sent on to. */
export async function press(service: TestService, path: string, fields: Record<string, string> = {}) {
  const sent = await service.anonymous.post(path, new URLSearchParams(fields).toString(), {
    origin: ORIGIN,
    'content-type': 'application/x-www-form-urlencoded',
  })
  if (sent.status !== 303) return { status: sent.status, text: sent.text, seen: seenOf(sent.text), at: path }
  const at = sent.headers['location'] ?? ''
  return { ...(await open(service, at)), at }
}
