import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { StripeSimulator } from '../simulators/stripe.ts'
import { ROOT, serve, startedFolder, startProcess } from './program.ts'

/** Programs of examples/ are copied by people: each has to work as it stands, twice on one account. */

const environmentOf = async (settings: Record<string, string> = {}) => {
  const service = await serve({ DATA_DIR: startedFolder(), ...settings })
  return {
    PERENNIAL_URL: service.address,
    PERENNIAL_ACCOUNT: String(service.account),
    PERENNIAL_KEY: service.key,
  }
}

const example = (name: string, env: Record<string, string | undefined>) =>
  name.endsWith('.sh')
    ? startProcess(join(ROOT, 'examples', name), [], env).ended
    : startProcess(process.execPath, ['--import', 'tsx', join(ROOT, 'examples', name)], env).ended

test('first-invoice: a year on a monthly package is thirteen invoices, each explained', async () => {
  const env = await environmentOf()
  const { code, out, err } = await example('first-invoice.ts', env)
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(out).toMatch(/12 more invoices, 0 failed/)
  expect(out).toMatch(/^1 {2}\d{4}-\d\d-\d\d {2}47\.15 USD {2}\(Set-up fee 10, Basic 31\)$/m)
  expect(out).toMatch(/13 invoices\.$/m)
  const again = await example('first-invoice.ts', env)
  expect(again.code).toBe(0)
  expect(again.out, 'nothing of the first run counts in the second').toMatch(
    /47\.15 USD {2}\(Set-up fee 10, Basic 31\)$/m,
  )
})

test.each([
  'first-invoice.ts',
  'import-customers.ts',
  'receive-webhooks.ts',
  'capture-card.ts',
  'sign-mandate.ts',
  'bank-month.ts',
  'bring-cards.ts',
  'first-invoice.sh',
  'card.sh',
  'debit.sh',
])('%s: where nothing answers, one sentence says so', async (name) => {
  // The discard port: nobody listens on it.
  const env = { PERENNIAL_URL: 'http://127.0.0.1:9', PERENNIAL_ACCOUNT: '1', PERENNIAL_KEY: 'test_none' }
  const { code, out, err } = await example(name, env)
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(err).toBe(
    'Nothing answers at http://127.0.0.1:9: start the service with npm start, or set PERENNIAL_URL to where it runs.\n',
  )
})

test('import-customers: the second time makes nobody, and the pages show everybody', async () => {
  const { code, out, err } = await example('import-customers.ts', await environmentOf())
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(out).toBe('First time: 25 customers made.\nSecond time: 0 customers made.\nFound 25 of them on 3 pages.\n')
})

test('receive-webhooks: an event that is sent to this machine is verified', async () => {
  const { code, out, err } = await example(
    'receive-webhooks.ts',
    await environmentOf({ OUTBOUND_ALLOW: '127.0.0.0/8' }),
  )
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(out).toBe('Received and verified: webhook.tested.\n')
})

test('first-invoice.sh: curl alone gets to an invoice', async () => {
  const { code, out, err } = await example('first-invoice.sh', await environmentOf())
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(JSON.parse(out)).toMatchObject([{ Total: 31, invoiceNum: 1 }])
})

test('card.sh: a card is declined, replaced and charged, and what was given back is not charged again', async () => {
  const env = await environmentOf()
  for (const _ of ['first', 'second']) {
    const { code, out, err } = await example('card.sh', env)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const [issued, declined, paid, attempts = '', refunds = '', tries] = out.trim().split('\n')
    expect([issued, declined, paid]).toEqual([
      'issued: Due',
      'declined on its due date: Past Due',
      'with another card: Paid',
    ])
    expect(JSON.parse(attempts).map(({ Outcome }: { Outcome: string }) => Outcome)).toEqual(['declined', 'succeeded'])
    expect(JSON.parse(refunds)).toMatchObject([{ Amount: 40, State: 'succeeded' }])
    expect(Number(tries)).toBe(2)
  }
})

test('debit.sh: a SEPA debit is filed, booked and returned, and paid by the transfer that a file of the bank proposes', async () => {
  const env = await environmentOf()
  for (const run of [1, 2]) {
    const { code, out, err } = await example('debit.sh', env)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const lines = out.trim().split('\n')
    const [attempts = '', proposed = ''] = lines.filter((line) => /^[[{]/.test(line))
    expect(lines.filter((line) => !/^[[{]/.test(line))).toEqual([
      'issued: Due',
      'in a batch: Pending',
      '<InstdAmt Ccy="EUR">115.00<',
      `<MndtId>M-${run}`,
      'booked by the bank: Paid',
      'returned: Past Due',
      'paid by transfer: Paid',
    ])
    expect(JSON.parse(attempts)).toMatchObject([{ Outcome: 'returned', Class: 'insufficient_funds', Code: 'AM04' }])
    expect(JSON.parse(proposed)).toMatchObject({ Kind: 'credit', Amount: 115, invoiceID: run })
  }
})

test('bank-month.ts: what a bank sends in any order, twice, is in the ledger or waits, to the cent', async () => {
  const env = await environmentOf()
  for (const _ of ['first', 'second']) {
    const { code, out, err } = await example('bank-month.ts', env)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const lines = out.trim().split('\n')
    expect(lines.filter((line) => !line.startsWith('Waits'))).toEqual([
      'Sent 5 files, and once more: nothing was new.',
      'A debit: Allocated',
      'A debit: Allocated',
      'A debit: Failed',
      'A debit: Failed',
      'The bank booked 269.50: 230.00 in the ledger, 39.50 wait.',
    ])
    expect(lines.filter((line) => line.startsWith('Waits')).sort()).toEqual([
      'Waits: credit 50.00',
      'Waits: credit 50.00, a repeat',
      'Waits: other -3.00 CHRG',
      'Waits: other -7.50',
    ])
  }
})

test('bring-cards.ts: a card that is stored at Stripe is brought and charged, and brought again it is the same', async () => {
  const simulator = await StripeSimulator.start()
  onTestFinished(() => simulator.stop())
  const { test: stripe } = simulator.openAccount()
  const env = await environmentOf({ OUTBOUND_ALLOW: '127.0.0.0/8', GATEWAY_ENDPOINTS: `stripe=${simulator.address}` })
  const keys = {
    STRIPE_SECRET_KEY: stripe.secretKey,
    STRIPE_PUBLISHABLE_KEY: stripe.publishableKey,
    STRIPE_TOKEN: stripe.console.addCard('4242424242424242').token,
  }
  for (const _ of ['first', 'second']) {
    const { code, out, err } = await example('bring-cards.ts', { ...env, ...keys })
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out.trim().split('\n')).toEqual([
      `The gateway keeps cards under a key that ends in ${stripe.secretKey.slice(-4)}.`,
      'OLD-1 pays by Visa …4242.',
      'An invoice of 115.00 is Paid, as pi_… at Stripe.',
    ])
  }
  expect(simulator.problems).toEqual([])
})

test('the tours of the README work as they stand there: a year of invoices, and a page on which one is paid', async () => {
  const env = await environmentOf()
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8')
  const tourOf = (title: string) =>
    new RegExp(`^## ${title}\\n[^]*?\`\`\`sh\\n([^]*?)\`\`\``, 'm').exec(readme)?.[1] ?? ''
  const tours = [tourOf('A year in six lines'), tourOf('What your customers see')]
  expect(tours[0]).toContain('http://127.0.0.1:3000')
  const script = tours
    .join('')
    .replaceAll('http://127.0.0.1:3000', env.PERENNIAL_URL)
    .replaceAll('YOUR_KEY', env.PERENNIAL_KEY ?? '')
  const { code, out } = await startProcess('sh', ['-euc', script.replaceAll('\n', '\necho\n')], {}).ended
  expect(code).toBe(0)
  const answers = out.split('\n').filter((line) => line !== '')
  for (const answer of answers) expect(answer).not.toContain('Errors')
  expect(JSON.parse(answers.at(-3) ?? '')).toHaveLength(13)
  const page = await fetch(JSON.parse(answers.at(-1) ?? '').Url)
  // The first month and the set-up fee.
  expect(await page.text()).toMatch(/<a class="button" href="[^"]+\/pay">Pay \$36\.00<\/a>/)
})
