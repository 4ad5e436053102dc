import { clientFromEnvironment } from './client.ts'

/**
 * Carries customers over from another system, so that it may be stopped and started again without making anybody twice, and then
 * walks through all customers page by page: npx tsx examples/import-customers.ts
 */

const api = clientFromEnvironment()
const run = process.env['EXAMPLE_RUN'] ?? String(Date.now())

const theirs = Array.from({ length: 25 }, (_, index) => ({
  number: `${run}-${index + 1}`,
  first: 'Customer',
  last: `Number ${index + 1}`,
}))

async function carryOver(): Promise<number> {
  let replayed = 0
  for (const { number, first, last } of theirs) {
    // The key names the work, not the attempt: sent again within a day, the first answer comes back and nothing is made.
    const reply = await api.post(
      '/v1/customers',
      { Name: first, LastName: last, Reference: number },
      { 'idempotency-key': `import ${number}` },
    )
    if (reply.headers.get('idempotency-replayed') === 'true') replayed += 1
  }
  return replayed
}

console.log(`First time: ${theirs.length - (await carryOver())} customers made.`)
console.log(`Second time: ${theirs.length - (await carryOver())} customers made.`)

/** Follows the Link header instead of counting: it names a next page only when there is one. */
async function* pages(first: string): AsyncGenerator<any[]> {
  for (let next: string | undefined = first; next !== undefined;) {
    const { body, headers } = await api.get(next)
    yield body
    next = /<([^>]+)>;\s*rel="?next"?/.exec(headers.get('link') ?? '')?.[1]
  }
}

let seen = 0
let pageCount = 0
for await (const customers of pages('/v1/customers?page_size=10')) {
  seen += customers.filter((customer) => customer.Reference?.startsWith(`${run}-`)).length
  pageCount += 1
}
console.log(`Found ${seen} of them on ${pageCount} pages.`)
