import type { AddressInfo } from 'node:net'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestService } from '../support/app.ts'
import { barriersOf, hasBrowser, launchBrowser } from '../support/browser.ts'

/** The reference in a real browser: the first page, the largest and a small one. */

const service = await startTestService()

describe.skipIf(!hasBrowser)('the reference in a browser (needs chromium)', () => {
  let browser: Browser
  let address = ''

  beforeAll(async () => {
    await service.app.server.listen({ host: '127.0.0.1', port: 0 })
    address = `http://127.0.0.1:${(service.app.server.server.address() as AddressInfo).port}`
    browser = await launchBrowser()
  })
  afterAll(() => browser.close())

  test.each(['/docs', '/docs/subscriptions', '/docs/clock'])(
    '%s keeps nobody out, whatever the window',
    async (path) => {
      const page = await browser.newPage()
      // Axe takes seconds for a page of thousands of elements: each shape of the largest is looked at once.
      const isLargest = path === '/docs/subscriptions'
      for (const width of [1280, 320]) {
        await page.setViewportSize({ width, height: 800 })
        await page.goto(address + path)
        for (const colorScheme of ['light', 'dark'] as const) {
          if (isLargest && (width === 320) !== (colorScheme === 'dark')) continue
          await page.emulateMedia({ colorScheme })
          const way = `${colorScheme}, ${width} wide`
          expect(await barriersOf(page), way).toEqual([])
          expect(await page.evaluate('document.documentElement.scrollWidth'), way).toBeLessThanOrEqual(width)
          const folder = process.env['PAGE_PICTURES']
          if (folder)
            await page.screenshot({ path: `${folder}/${path.replaceAll('/', '-')}-${colorScheme}-${width}.png` })
        }
      }
      await page.close()
    },
  )

  test('asks nobody but the service, and its search leads to a field within the rules of its policy', async () => {
    const page = await browser.newPage()
    const asked: string[] = []
    const complaints: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(String(error)))
    await page.goto(`${address}/docs`)
    await page.getByRole('searchbox').fill('poNumber')
    await page.locator('#search li a').filter({ hasText: 'InvoiceInput' }).first().click()
    await page.waitForURL(/\/docs\/invoices#InvoiceInput\.poNumber$/)
    expect(await page.locator(':target').innerText()).toContain('poNumber')
    await page.getByRole('searchbox').fill('isWrittenOff')
    await page.locator('#search li a').filter({ hasText: 'GET /v1/invoices' }).first().click()
    await page.waitForURL(/\/docs\/invoices#listInvoices\.query\.isWrittenOff$/)
    expect(await page.locator(':target').innerText()).toContain('isWrittenOff')
    await page.getByRole('searchbox').fill('no such thing')
    await page.getByText('Nothing found').waitFor()
    expect(asked.filter((url) => !url.startsWith(`${address}/`) && !url.startsWith('data:'))).toEqual([])
    expect(complaints).toEqual([])
    await page.close()
  })

  test('is read without a script, and costs a browser little', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false })
    const plain = await context.newPage()
    await plain.goto(`${address}/docs/customers#addCustomer`)
    expect(await plain.locator('#addCustomer h2').innerText()).toContain('customer')
    expect(await plain.getByRole('search').isVisible()).toBe(false)
    await context.close()
    const page = await browser.newPage()
    await page.goto(`${address}/docs`)
    expect(await page.evaluate('document.querySelectorAll("*").length')).toBeLessThanOrEqual(3_000)
    await page.close()
  })
})
