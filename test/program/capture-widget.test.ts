import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import axe from 'axe-core'
import { type BrowserContext, chromium, type Page } from 'playwright-core'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ROOT, serve, startProcess, testFolder } from './program.ts'

/** The capture widget in a real browser: on its own page, on a stranger's, by keyboard, and for people who hear it. */

const BROWSER = process.env['CHROMIUM'] ?? '/usr/bin/chromium'
const isThere = existsSync(BROWSER) || process.env['CI'] !== undefined
const QUIET = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking']
const NUMBER = '4242424242424242'

async function browse(): Promise<(options?: Parameters<typeof context>[1]) => Promise<BrowserContext>> {
  const browser = await chromium.launch({ executablePath: BROWSER, args: QUIET })
  onTestFinished(() => browser.close())
  return (options) => context(browser, options)
}

const context = (
  browser: Awaited<ReturnType<typeof chromium.launch>>,
  options: Parameters<typeof browser.newContext>[0] = {},
) => browser.newContext(options)

/** A page of somebody on this machine, at an origin of its own. */
async function hostPage(markup: () => string): Promise<string> {
  const server = createServer((_, response) =>
    response.setHeader('content-type', 'text/html; charset=utf-8').end(markup()),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `http://localhost:${(server.address() as AddressInfo).port}`
}

const shell = (widget: string) => `<!doctype html><html lang="en"><title>Host</title><main><h1>Host</h1>${widget}</main>
<script>window.told = []
for (const type of ['ready', 'result', 'error'])
  document.addEventListener('perennial:' + type, (event) => told.push(type + ' ' + JSON.stringify(event.detail)))</script></html>`

const toldOf = (page: Page): Promise<string[]> => page.evaluate('told')

async function serviceWithSession() {
  const service = await serve({ DATA_DIR: testFolder() })
  const api = async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${service.address}${path}`, {
      method,
      headers: {
        authorization: `Basic ${Buffer.from(`${service.account}:${service.key}`).toString('base64')}`,
        'content-type': 'application/json',
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    return (await answer.json()) as any
  }
  const [{ GatewayToken }] = await api('GET', '/v1/gateways')
  const { CurrencyCode } = await api('GET', '/v1/account')
  const begin = (AuthDomain: string) =>
    api('POST', '/v1/widgets/capturepaymethod/create', {
      VaultingType: 'VaultGateway',
      SaleType: 'VaultOnly',
      ExpiresIn: '00:30:00',
      isVaultOnlyOnSuccess: false,
      CurrencyCode,
      GatewayToken,
      AuthDomain,
    })
  return { service, api, begin }
}

/** Enters a card by keyboard alone, from the first field to the button. */
async function typeCard(page: Page, number = NUMBER): Promise<void> {
  const frame = page.frameLocator('iframe')
  await frame.getByLabel('Card number').focus()
  for (const text of [number, '12/30', 'Ada', 'Lovelace']) {
    await page.keyboard.type(text)
    await page.keyboard.press('Tab')
  }
  await page.keyboard.press('Enter')
}

describe.skipIf(!isThere)('the capture widget in a browser (needs chromium)', () => {
  test('takes a card on the page that may show it; the number reaches the service alone, in one form', async () => {
    const { service, api, begin } = await serviceWithSession()
    let markup = ''
    const host = await hostPage(() => shell(markup))
    const session = await begin(host)
    markup = session.Html
    const page = await (await (await browse())()).newPage()
    const sent: { url: string; holds: boolean }[] = []
    page.on('request', (request) =>
      sent.push({
        url: request.url(),
        holds: (request.postData() ?? '').includes(NUMBER) || request.url().includes(NUMBER),
      }),
    )
    await page.goto(host)
    await page.frameLocator('iframe').getByLabel('Card number').waitFor()
    await typeCard(page, '4242424242424241')
    await page.frameLocator('iframe').getByText('This is mistyped.').waitFor()
    expect(await page.frameLocator('iframe').locator('#number:focus').count()).toBe(1)
    await typeCard(page)
    await page.frameLocator('iframe').getByText('Visa ending in 4242').waitFor()
    await page.waitForFunction("told.some((one) => one.startsWith('result'))")
    expect(await toldOf(page)).toEqual(['ready {}', 'error {"code":"validation_error"}', 'result {"state":"captured"}'])
    expect(sent.filter(({ holds }) => holds).map(({ url }) => url)).toEqual([
      `${service.address}/w/${session.HashToken}`,
    ])
    expect(
      sent
        .map(({ url }) => new URL(url))
        .filter(({ protocol, origin }) => protocol !== 'data:' && ![host, service.address].includes(origin)),
    ).toEqual([])
    const kept = await page.evaluate(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, document.documentElement.outerHTML])',
    )
    expect(String(kept)).not.toContain(NUMBER)
    await expect(page.evaluate('frames[0].document.body.innerHTML')).rejects.toThrow('cross-origin frame')
    const height = await page.evaluate("document.querySelector('iframe').style.height")
    expect(height).toMatch(/^\d+px$/)
    expect((await api('GET', `/v1/widgets/capturepaymethod/get/${session.SessionToken}`)).State).toBe('captured')
    expect(service.said.out + service.said.err).not.toContain(NUMBER)
  })

  test('is shown by no other page, and hears nothing that a page says', async () => {
    const { api, begin } = await serviceWithSession()
    let markup = ''
    const stranger = await hostPage(() => shell(markup))
    const session = await begin('http://localhost:9')
    // Twice the frame, and a page that says it is the frame.
    markup = `${session.Html}${session.Html}<script>setTimeout(() => postMessage({ source: 'perennial-capture', type: 'result', state: 'captured' }, '*'))</script>`
    const page = await (await (await browse())()).newPage()
    await page.goto(stranger)
    await page.waitForFunction("told.some((one) => one.startsWith('error'))")
    expect(await toldOf(page)).toEqual(['error {"code":"invalid_domain"}'])
    expect(await page.locator('iframe').count()).toBe(1)
    expect(await page.frameLocator('iframe').getByLabel('Card number').count()).toBe(0)
    expect((await api('GET', `/v1/widgets/capturepaymethod/get/${session.SessionToken}`)).State).toBe('open')
  })

  test('works by itself without script, and breaks no rule of WCAG 2.2 AA in light and dark, wide and narrow, English and German', async () => {
    const { service, begin } = await serviceWithSession()
    const newContext = await browse()
    const found: string[] = []
    for (const colorScheme of ['light', 'dark'] as const)
      for (const width of [1280, 320])
        for (const locale of ['en', 'de']) {
          const session = await begin('https://shop.example')
          const page = await (
            await newContext({ colorScheme, viewport: { width, height: 800 }, locale, bypassCSP: true })
          ).newPage()
          for (const below of ['', '/account']) {
            await page.goto(`${service.address}/w/${session.HashToken}${below}`)
            found.push(...(await violations(page)))
            await page.getByRole('button').click()
            await page.locator('[role=alert]').waitFor()
            found.push(...(await violations(page)))
            expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
          }
        }
    expect(found).toEqual([])
    const bare = await (await newContext({ javaScriptEnabled: false })).newPage()
    await bare.goto(`${service.address}/w/${(await begin('https://shop.example')).HashToken}`)
    await bare.getByLabel('Card number').fill('4242 4242 4242 4242')
    await bare.getByLabel('Valid until').fill('12 / 30')
    await bare.getByLabel('First name').fill('Ada')
    await bare.getByLabel('Last name').fill('Lovelace')
    await bare.getByRole('button', { name: 'Save' }).click()
    await bare.getByRole('heading', { name: 'Saved' }).waitFor()
  })

  test('the example captures a card for a new customer', async () => {
    const service = await serve({ DATA_DIR: testFolder() })
    const example = startProcess(process.execPath, ['--import', 'tsx', join(ROOT, 'examples', 'capture-card.ts')], {
      PERENNIAL_URL: service.address,
      PERENNIAL_ACCOUNT: String(service.account),
      PERENNIAL_KEY: service.key,
    })
    const [, address = ''] = await example.says(/Open (http:\/\/localhost:\d+)\//)
    const page = await (await (await browse())()).newPage()
    await page.goto(address)
    await page.frameLocator('iframe').getByLabel('Card number').waitFor()
    await typeCard(page)
    await page.getByText('Thank you.').waitFor()
    const { code, out, err } = await example.ended
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toMatch(/^Customer \d+ pays by Visa ending in 4242\.$/m)
  })
})

/** Lists what axe finds in a page against WCAG 2.2 AA, as rule and place. */
async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  const result = (await page.evaluate(
    "axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] })",
  )) as { violations: { id: string; nodes: { html: string }[] }[] }
  return result.violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))
}
