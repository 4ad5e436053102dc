import type {
  ConfirmSetupData,
  StripeElementsOptionsClientSecret,
  StripePaymentElementOptions,
} from '@stripe/stripe-js'
import type { Browser, BrowserContext, Frame, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { hasBrowser, hostPage, launchBrowser } from '../support/browser.ts'
import { confirmPaymentIntent, createPaymentIntent } from './stripe-intents.ts'
import { StripeJudge } from './stripe-judge.ts'
import { StripeSimulator, type Side } from './stripe.ts'

describe('a call of a page to the script', () => {
  // These are judged twice: by the compiler, and by the schema that is made of the same types.
  const METHOD: ConfirmSetupData = {
    ...{ payment_method_data: { billing_details: { name: 'Ada Lovelace' } }, return_url: 'https://example.com' },
  }
  const ELEMENTS: StripeElementsOptionsClientSecret = {
    ...{ clientSecret: 'seti_1_secret_1', locale: 'de' },
    appearance: { theme: 'night', variables: { colorPrimary: '#123' } },
  }
  const FIELDS: StripePaymentElementOptions = {
    ...{
      fields: { billingDetails: { name: 'never' } },
      wallets: { applePay: 'never', googlePay: 'never', link: 'never' },
    },
  }

  test.each([
    ['Stripe', { key: 'pk_test_1', settings: { locale: 'de' } }, []],
    ['Stripe', { key: 'sk_test_1' }, ['Stripe: takes a publishable key']],
    ['elements', ELEMENTS, []],
    [
      'elements',
      { client_secret: 'seti_1_secret_1' },
      ['elements client_secret: Received unknown parameter: client_secret'],
    ],
    [
      'elements',
      { appearance: { theme: 'dark' } },
      ['elements appearance[theme]: must be equal to one of the allowed values: flat,night,stripe'],
    ],
    ['paymentElement', FIELDS, []],
    [
      'paymentElement',
      { wallets: { paypal: 'never' } },
      ['paymentElement wallets[paypal]: Received unknown parameter: wallets[paypal]'],
    ],
    ['confirmSetup', { redirect: 'if_required', confirmParams: METHOD }, []],
    ['confirmSetup', { confirmParams: METHOD }, ['confirmSetup redirect: leaves the page']],
    [
      'confirmSetup',
      { redirect: 'if_required', confirmParams: { payment_method_data: {} } },
      ['confirmSetup return_url: Missing required param: return_url.'],
    ],
    ['handleNextAction', {}, ['handleNextAction clientSecret: is missing']],
  ])('%s(%j) is judged by the declarations of @stripe/stripe-js', async (call, given, problems) => {
    expect((await StripeJudge.read()).judgeCall(call, given)).toEqual(problems)
  })
})

describe.skipIf(!hasBrowser)('the script in a browser (needs chromium)', () => {
  let browser: Browser
  let context: BrowserContext
  let simulator: StripeSimulator
  let side: Side

  beforeAll(async () => {
    browser = await launchBrowser()
  })
  afterAll(() => browser.close())
  beforeEach(async () => {
    simulator = await StripeSimulator.start()
    side = simulator.openAccount().test
    context = await browser.newContext()
  })
  afterEach(async () => {
    await context.close()
    await simulator.stop()
    expect(simulator.problems).toEqual([])
  })

  /** Opens a page of another origin, under the policy that pages with card fields have, and mounts the fields for a new intent. */
  async function openFields(): Promise<{ page: Page; id: string; asked: string[] }> {
    const [customer, key] = [side.console.addCustomer().id, side.publishableKey]
    const answer = await fetch(`${simulator.address}/v1/setup_intents`, {
      method: 'POST',
      headers: {
        ...{ authorization: `Bearer ${side.secretKey}`, 'stripe-version': '2026-10-28.endive' },
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: `customer=${customer}&allowed_payment_method_types[0]=card`,
    })
    const { id, client_secret: clientSecret } = (await answer.json()) as { id: string; client_secret: string }
    const origin = simulator.address
    const policy = `default-src 'none'; script-src 'nonce-1' ${origin}; frame-src ${origin}; connect-src 'self' ${origin}`
    const markup = `<!doctype html><meta http-equiv="content-security-policy" content="${policy}"><div id="fields"></div>
      <script src="${origin}/endive/stripe.js"></script><script nonce="1">
      const stripe = Stripe('${key}'), clientSecret = '${clientSecret}'
      const elements = stripe.elements({ clientSecret, locale: 'de' })
      elements.create('payment', { fields: { billingDetails: { name: 'never' } } }).on('ready', () => { document.title = 'ready' }).mount('#fields')
      const name = 'Ada Lovelace', return_url = 'https://example.com'
      const confirmParams = { return_url, payment_method_data: { billing_details: { name } } }
      const submit = () => elements.submit()
      const confirm = () => stripe.confirmSetup({ elements, redirect: 'if_required', confirmParams })
      </script>`
    const url = await hostPage(() => markup)
    const page = await context.newPage()
    const asked: string[] = []
    page.on('request', (request) => asked.push(`${request.url()} ${request.postData() ?? ''}`))
    await page.goto(url)
    await expect.poll(() => page.title()).toBe('ready')
    return { page, id, asked }
  }

  const frameOf = (page: Page, path: string): Frame => {
    const frame = page.frames().find((one) => one.url().includes(`/browser/${path}`))
    if (frame === undefined) throw new Error(`no frame ${path}`)
    return frame
  }

  async function type(page: Page, number: string): Promise<void> {
    const frame = frameOf(page, 'frame')
    await frame.getByLabel('Card number').fill(number)
    await frame.getByLabel('Expiry').fill('12 / 31')
    await frame.getByLabel('Security code').fill('123')
  }

  test('takes a number into a frame of its own, refuses one, and stores a good one', async () => {
    const { page, id, asked } = await openFields()
    expect(await page.evaluate('submit()')).toMatchObject({ error: { code: 'incomplete_number' } })
    await type(page, '4000000000000002')
    expect(await page.evaluate('submit()')).toEqual({ selectedPaymentMethod: 'card' })
    expect(await page.evaluate('confirm()')).toMatchObject({
      error: { code: 'card_declined', decline_code: 'generic_decline' },
    })
    await type(page, '4242424242424243')
    expect(await page.evaluate('confirm()')).toMatchObject({ error: { code: 'incorrect_number' } })
    await type(page, '4242 4242 4242 4242')
    expect(await page.evaluate('confirm()')).toMatchObject({ setupIntent: { id, status: 'succeeded' } })
    const { payment_method: method } = side.book.setups.get(id)!
    expect(side.book.methods.get(method as string)).toMatchObject({
      ...{ billing_details: { name: 'Ada Lovelace' }, card: { last4: '4242', exp_month: 12, exp_year: 2031 } },
    })
    expect(asked.filter((one) => one.includes('4242424242424242') && !one.startsWith(simulator.address))).toEqual([])
  })

  test('shows the bank, which the customer confirms to or refuses, or leaves', async () => {
    const { page, id } = await openFields()
    const answer = async (button: string) => {
      await type(page, '4000002760003184')
      const result = page.evaluate('confirm()')
      await expect.poll(() => page.frames().some((one) => one.url().includes('/browser/bank'))).toBe(true)
      await frameOf(page, 'bank').getByRole('button', { name: button }).click()
      return result
    }
    expect(await answer('Refuse')).toMatchObject({ error: { code: 'setup_intent_authentication_failure' } })
    expect(await answer('Close')).toMatchObject({ setupIntent: { status: 'requires_action' } })
    expect(await answer('Confirm')).toMatchObject({ setupIntent: { id, status: 'succeeded' } })
  })

  test('shows the bank for a charge that waits for it', async () => {
    const { page } = await openFields()
    const { customer, method } = side.console.addCard('4000002760003184')
    const facts = { amount: 900, currency: 'eur', customer, payment_method: method }
    const { id, client_secret: secret } = createPaymentIntent(side.book, facts)
    confirmPaymentIntent(side.book, id, { use_stripe_sdk: true })
    const result = page.evaluate(`stripe.handleNextAction({ clientSecret: '${secret}' })`)
    await expect.poll(() => page.frames().some((one) => one.url().includes('/browser/bank'))).toBe(true)
    await frameOf(page, 'bank').getByRole('button', { name: 'Confirm' }).click()
    expect(await result).toMatchObject({ paymentIntent: { id, status: 'succeeded' } })
    expect(await page.evaluate("stripe.handleNextAction({ clientSecret: 'pi_1_secret_1' })")).toMatchObject({
      error: { code: 'resource_missing' },
    })
  })
})
