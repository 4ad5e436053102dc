import { existsSync } from 'node:fs'
import { chromium } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { serve, testFolder } from './program.ts'

const BROWSER = process.env['CHROMIUM'] ?? '/usr/bin/chromium'
const isThere = existsSync(BROWSER) || process.env['CI'] !== undefined

const QUIET = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

describe.skipIf(!isThere)('the reference page in a browser (needs chromium)', () => {
  test('shows the operations without asking any other host for anything, and its script breaks no rule of its policy', async () => {
    const service = await serve({ DATA_DIR: testFolder() })
    const browser = await chromium.launch({ executablePath: BROWSER, args: QUIET })
    try {
      const page = await browser.newPage()
      const asked: string[] = []
      const complaints: string[] = []
      page.on('request', (request) => asked.push(request.url()))
      page.on('console', (message) => {
        if (message.type() === 'error') complaints.push(message.text())
      })
      page.on('pageerror', (error) => complaints.push(String(error)))
      await page.goto(`${service.address}/docs`)
      await page.getByRole('heading', { name: 'List the currencies of the account' }).waitFor()
      await page.getByRole('menuitem').getByText('Currencies').first().click()
      await page.getByPlaceholder('Search...').fill('customer')
      // Searching needs the worker that the page's policy has to let in.
      await page.locator('[data-role="search:results"]').getByText('customer').first().waitFor()
      await page.waitForLoadState('networkidle')
      const isOwn = (url: string) => url.startsWith(service.address) || /^(data|blob):/.test(url)
      expect(asked.filter((url) => !isOwn(url))).toEqual([])
      expect(complaints).toEqual([])
      expect(asked).toContain(`${service.address}/openapi.json`)
    } finally {
      await browser.close()
    }
  })
})
