import type { AddressInfo } from 'node:net'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { MANDATE, SEPA } from '../../src/features/emandates/emandates.testing.ts'
import { startTestService, type TestClient } from '../support/app.ts'
import { barriersOf, hasBrowser, hostPage, launchBrowser, SHAPES } from '../support/browser.ts'
import { hasPoppler, inkOfPdf, textOfPdf } from '../support/poppler.ts'

/** The signing page of eMandates in a real browser: by mouse, finger, keyboard and ear, on its own and in a frame of somebody's page. */

const START = Date.parse('2027-01-01T00:00:00Z')
const DAY_MS = 86_400_000
let now = START
const service = await startTestService({ now: () => now })

describe.skipIf(!hasBrowser)('the signing page in a browser (needs chromium)', () => {
  let browser: Browser
  let address = ''

  beforeAll(async () => {
    await service.app.server.listen({ host: '127.0.0.1', port: 0 })
    address = `http://127.0.0.1:${(service.app.server.server.address() as AddressInfo).port}`
    browser = await launchBrowser()
  })
  afterAll(() => browser.close())

  async function open(options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext({ locale: 'en', ...options })
    onTestFinished(() => context.close())
    return context.newPage()
  }

  async function ask(body: object = {}, path = '/widget/emandate', client?: TestClient) {
    const owner = client ?? (await service.newAccount({ name: 'Engines Ltd', currency: 'ZAR' }))
    const asked = await owner.post(path, { ...MANDATE, ...body })
    expect(asked.status, asked.text).toBe(201)
    const { Token, Url } = asked.body as { Token: string; Url: string }
    const state = async () => (await owner.get(`/v1/emandate?Token=${Token}`)).body.MandateState as string
    return { client: owner, token: Token, url: address + new URL(Url).pathname, state }
  }

  async function pdfOf({ client, token }: { client: TestClient; token: string }): Promise<Buffer> {
    const { rawPayload, statusCode } = await service.app.server.inject({
      url: `/widget/emandate/download?token=${token}`,
      headers: { authorization: `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}` },
    })
    expect(statusCode).toBe(200)
    return rawPayload
  }

  /** Draws a Z over the middle of the pad by mouse. */
  async function draw(page: Page): Promise<void> {
    await page.locator('#pad').scrollIntoViewIfNeeded()
    const { x, y, width, height } = (await page.locator('#pad').boundingBox())!
    const at = (across: number, down: number) => [x + across * width, y + down * height] as const
    await page.mouse.move(...at(0.3, 0.2))
    await page.mouse.down()
    for (const point of [at(0.7, 0.2), at(0.3, 0.8), at(0.7, 0.8)]) await page.mouse.move(...point, { steps: 8 })
    await page.mouse.up()
  }

  describe('of the redirect flow', () => {
    test.skipIf(!hasPoppler)(
      'a name that is typed and strokes of a mouse come back signed, and stand in the PDF',
      async () => {
        const back = await hostPage(() => '<!doctype html><title>Shop</title><h1>Back</h1>')
        const mandate = await ask({ RedirectUrl: `${back}/done?cart=7` })
        const page = await open()
        await page.goto(mandate.url)
        await page.getByLabel('Type your full name').fill('Ada Lovelace')
        await draw(page)
        await page.getByRole('checkbox').check()
        await page.getByRole('button', { name: 'Sign', exact: true }).click()
        await page.getByRole('heading', { name: 'Back' }).waitFor()
        expect(page.url()).toBe(`${back}/done?cart=7&token=${mandate.token}&result=signed`)
        const pdf = await pdfOf(mandate)
        expect(textOfPdf(pdf)).toContain('Ada Lovelace')
        const typed = await ask()
        await page.goto(typed.url)
        await page.getByLabel('Type your full name').fill('Ada Lovelace')
        await page.getByRole('checkbox').check()
        await page.getByRole('button', { name: 'Sign', exact: true }).click()
        await page.getByRole('heading', { name: 'This is signed' }).waitFor()
        // The strokes are ink on the paper, beside words that are the same.
        expect(inkOfPdf(pdf)).toBeGreaterThan(inkOfPdf(await pdfOf(typed)) + 150)
      },
    )

    test('a finger draws too; clearing it takes all of it away, and a double click signs once', async () => {
      const mandate = await ask()
      const page = await open({ hasTouch: true, viewport: { width: 390, height: 800 }, isMobile: true })
      await page.goto(mandate.url)
      const drawing = () => page.locator('#drawing').inputValue()
      const swipe = async () => {
        await page.locator('#pad').scrollIntoViewIfNeeded()
        const { x, y, width, height } = (await page.locator('#pad').boundingBox())!
        const session = await page.context().newCDPSession(page)
        const touch = (type: string, across: number, down: number) =>
          session.send('Input.dispatchTouchEvent', {
            type: type as 'touchStart',
            touchPoints: type === 'touchEnd' ? [] : [{ x: x + across * width, y: y + down * height }],
          })
        await touch('touchStart', 0.2, 0.3)
        for (const step of [0.3, 0.4, 0.5, 0.6]) await touch('touchMove', step, 1 - step)
        await touch('touchEnd', 0, 0)
      }
      const before = await page.evaluate('scrollY')
      await swipe()
      expect(await drawing()).toMatch(/^M\d+ \d+(L\d+ \d+)+$/)
      await page.getByRole('button', { name: 'Clear the drawing' }).click()
      expect(await drawing()).toBe('')
      await swipe()
      expect(await drawing()).not.toBe('')
      expect(await page.evaluate('scrollY')).toBeGreaterThanOrEqual(Number(before))
      await page.getByRole('checkbox').check()
      await page.getByRole('button', { name: 'Sign', exact: true }).dblclick()
      await page.getByRole('heading', { name: 'This is signed' }).waitFor()
      expect(await mandate.state()).toBe('signed')
    })

    test('declining comes back too and leaves it open, and one that is over leads back as expired', async () => {
      const back = await hostPage(() => '<!doctype html><title>Shop</title><h1>Back</h1>')
      const mandate = await ask({ RedirectUrl: `${back}/` })
      const page = await open()
      const comesBack = async (result: string) => {
        await page.getByRole('heading', { name: 'Back' }).waitFor()
        expect(page.url()).toBe(`${back}/?token=${mandate.token}&result=${result}`)
      }
      await page.goto(mandate.url)
      await page.getByRole('button', { name: 'I will not sign' }).click()
      await comesBack('declined')
      expect(await mandate.state()).toBe('open')
      now += DAY_MS
      expect((await page.goto(mandate.url))?.status()).toBe(410)
      await page.getByRole('link', { name: /Go on to localhost/ }).click()
      await comesBack('expired')
    })

    test('the keyboard alone reads, corrects, and signs; what is wrong has the focus', async () => {
      const mandate = await ask({ isCustomerEditable: true })
      const page = await open()
      await page.goto(mandate.url)
      const tabTo = async (name: string) => {
        for (let tab = 0; tab < 30; tab += 1) {
          await page.keyboard.press('Tab')
          const focused = String(
            await page.evaluate('(e => e.labels?.[0]?.textContent ?? e.textContent)(document.activeElement)'),
          )
          if (focused.trim().startsWith(name)) return
        }
        throw new Error(`nothing that begins with ${name} has the focus`)
      }
      await tabTo('Sign')
      await page.keyboard.press('Enter')
      await page.getByRole('alert').waitFor()
      expect(await page.evaluate('document.activeElement.getAttribute("role")')).toBe('alert')
      await tabTo('Please type your name')
      await page.keyboard.press('Enter')
      expect(await page.evaluate('document.activeElement.id')).toBe('signature')
      await page.keyboard.type('Ada Lovelace')
      await tabTo('I have read')
      await page.keyboard.press('Space')
      await tabTo('Sign')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'This is signed' }).waitFor()
    })

    test('works without script by typing, and has no field to draw in there', async () => {
      const mandate = await ask()
      const page = await open({ javaScriptEnabled: false })
      await page.goto(mandate.url)
      expect(await page.locator('#pad').isVisible()).toBe(false)
      await page.getByLabel('Type your full name').fill('Ada Lovelace')
      await page.getByRole('button', { name: 'Sign', exact: true }).click()
      await page.getByText('Please tick that you agree.').waitFor()
      expect(await page.getByLabel('Type your full name').inputValue()).toBe('Ada Lovelace')
      await page.getByRole('checkbox').check()
      await page.getByRole('button', { name: 'Sign', exact: true }).click()
      await page.getByRole('heading', { name: 'This is signed' }).waitFor()
    })

    test('everything has a name for those who hear it', async () => {
      const mandate = await ask({ isCustomerEditable: true, isCompanySignee: true })
      const page = await open()
      await page.goto(mandate.url)
      const tree = await page.locator('main').ariaSnapshot()
      for (const named of [
        'heading "Authority and mandate for debit orders" [level=1]',
        'group "Your details"',
        'textbox "First name"',
        'textbox "Trading as"',
        'group "Your signature"',
        'textbox "Type your full name"',
        /img "Or draw your signature/,
        'button "Clear the drawing"',
        /checkbox "I have read the terms above/,
        'button "Sign"',
        'button "I will not sign"',
      ])
        expect(tree).toMatch(typeof named === 'string' ? new RegExp(named.replace(/[[\]]/g, String.raw`\$&`)) : named)
    })
  })

  test.each(SHAPES)(
    'has no barrier in $locale, $colorScheme, $width wide: open, to be corrected, refused, declined, signed and over',
    async ({ locale, colorScheme, width }) => {
      const page = await open({ locale, colorScheme, viewport: { width, height: 800 }, bypassCSP: true })
      const complaints: string[] = []
      const foreign: string[] = []
      page.on('request', (request) => {
        if (!request.url().startsWith('data:') && !request.url().startsWith(address)) foreign.push(request.url())
      })
      const look = async (name: string) => {
        complaints.push(...(await barriersOf(page)).map((barrier) => `${name} ${barrier}`))
        expect(await page.evaluate('document.documentElement.scrollWidth'), name).toBeLessThanOrEqual(width)
        const folder = process.env['PAGE_PICTURES']
        if (folder)
          await page.screenshot({
            path: `${folder}/mandate-${name}-${locale}-${colorScheme}-${width}.png`,
            fullPage: true,
          })
      }
      await page.goto((await ask(SEPA)).url)
      await look('open')
      const mandate = await ask({
        isCustomerEditable: true,
        isCompanySignee: true,
        Company: 'Gebrüder Weißenfels Maschinenbau GmbH & Co. KG',
        Name: '<script>alert(1)</script>',
        Lastname: 'x'.repeat(70),
        debit_ContractRef: '\u202eC-17 '.padEnd(60, 'y'),
      })
      await page.goto(mandate.url)
      await look('editable')
      await draw(page)
      await page.locator('#Email').fill('nobody')
      await page.locator('button[value=sign]').click()
      await page.getByRole('alert').waitFor()
      expect(await page.locator('#Email').inputValue()).toBe('nobody')
      await look('refused')
      await page.goto(mandate.url)
      await page.locator('button[value=decline]').click()
      await page.locator('[data-state=declined]').waitFor()
      await look('declined')
      await page.goto(mandate.url)
      await draw(page)
      await page.locator('#consent').check()
      await page.locator('button[value=sign]').click()
      await page.locator('[data-state=signed]').waitFor()
      await look('signed')
      const late = await ask({ RedirectUrl: 'https://shop.example/' })
      now += DAY_MS
      await page.goto(late.url)
      await look('expired')
      expect(complaints).toEqual([])
      expect(foreign).toEqual([])
    },
  )

  test('letters four times as large need no scrolling aside', async () => {
    // 1280 pixels at 400 % are 320 of the page.
    const page = await open({ viewport: { width: 320, height: 256 }, deviceScaleFactor: 4 })
    await page.goto((await ask({ isCustomerEditable: true })).url)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(320)
    await page.getByRole('button', { name: 'Sign', exact: true }).click()
    expect(await page.getByRole('alert').isVisible()).toBe(true)
  })

  describe('in a frame of a page of the account', () => {
    const shell = (calls: string, boxes = '<div id="box" aria-label="Debit mandate"></div>') => `<!doctype html>
      <html lang="en"><title>Host</title><main><h1>Host</h1>${boxes}</main>
      <script src="${address}/widget/emandate.js"></script>
      <script>window.heard = []
        const hear = (name) => (detail) => heard.push(name + ' ' + detail.result)
        const start = (token, containerID = 'box') =>
          EMandate.init({ containerID, token, onComplete: hear('complete'), onError: hear('error') })
        ${calls}</script></html>`
    const start = (token: string, box = 'box') => `start('${token}', '${box}');`
    const heard = (page: Page): Promise<string[]> => page.evaluate('heard')
    const hears = (page: Page, words: string) => page.waitForFunction(`heard.includes('${words}')`)

    test('is signed there; the page hears that and nothing else, and cannot read it', async () => {
      let markup = ''
      const host = await hostPage(() => markup)
      const mandate = await ask({ AuthDomain: host }, '/v1/emandate')
      markup = shell(
        `${start(mandate.token)}
        // Somebody who claims to be the frame.
        postMessage({ source: 'perennial-emandate', channel: document.querySelector('iframe').name.split(' ')[0], type: 'result', result: 'signed' }, '*')
        window.all = []
        addEventListener('message', (event) => { if (event.origin !== location.origin) all.push(JSON.stringify(event.data)) })`,
      )
      const page = await open()
      await page.goto(host)
      const frame = page.frameLocator('iframe[title="Debit mandate"]')
      await frame.getByText('62001871490').waitFor()
      await expect(page.evaluate('frames[0].document.body.innerHTML')).rejects.toThrow('cross-origin frame')
      await page.waitForFunction("parseInt(document.querySelector('iframe').style.height) > 700")
      await frame.getByRole('button', { name: 'I will not sign' }).click()
      await frame.getByRole('link', { name: 'Read it again' }).click()
      await frame.getByLabel('Type your full name').fill('Ada')
      await frame.getByRole('button', { name: 'Sign', exact: true }).click()
      await frame.getByRole('alert').waitFor()
      await frame.getByRole('checkbox').check()
      await frame.getByRole('button', { name: 'Sign', exact: true }).click()
      await hears(page, 'complete signed')
      expect(await heard(page)).toEqual(['error declined', 'complete signed'])
      const all = String(await page.evaluate('all.join()'))
      expect(all).toContain('"result":"signed"')
      expect(all).not.toMatch(/62001871490|Ada/)
    })

    test('tells what is wrong: cut, unknown, used and expired tokens, and no such place', async () => {
      const [open_, used, late] = [
        await ask({}, '/v1/emandate'),
        await ask({}, '/v1/emandate'),
        await ask({}, '/v1/emandate'),
      ]
      const page = await open()
      await page.goto(used.url)
      await page.getByLabel('Type your full name').fill('Ada')
      await page.getByRole('checkbox').check()
      await page.getByRole('button', { name: 'Sign', exact: true }).click()
      await page.getByRole('heading', { name: 'This is signed' }).waitFor()
      now += DAY_MS
      const unknown = `${open_.token.slice(0, -1)}${open_.token.endsWith('a') ? 'b' : 'a'}`
      for (const [call, words] of [
        [start(open_.token.slice(0, -1)), 'error error'],
        [start(open_.token.toUpperCase()), 'error error'],
        [start(open_.token, 'nowhere'), 'error error'],
        [start(unknown), 'error error'],
        [start(used.token), 'error used'],
        [start(late.token), 'error expired'],
      ] as const) {
        const host = await hostPage(() => shell(call))
        await page.goto(host)
        await hears(page, words)
        expect(await heard(page), call).toEqual([words])
      }
    })

    test('is shown by no other page than the named one, and by none within another', async () => {
      let markup = ''
      const named = await hostPage(() => markup)
      const mandate = await ask({ AuthDomain: named }, '/v1/emandate')
      const stranger = await hostPage(() => shell(start(mandate.token)))
      markup = shell(start(mandate.token))
      const page = await open()
      await page.goto(stranger)
      await hears(page, 'error error')
      expect(await page.frameLocator('iframe').getByText('62001871490').count()).toBe(0)
      const around = await hostPage(() => `<!doctype html><title>Around</title><iframe src="${named}"></iframe>`)
      await page.goto(around)
      await expect.poll(() => page.frames().some((frame) => frame.url().startsWith('chrome-error:'))).toBe(true)
      expect(await page.frameLocator('iframe').frameLocator('iframe').getByText('62001871490').count()).toBe(0)
      const redirect = await ask()
      const other = await hostPage(() => shell(start(redirect.token)))
      await page.goto(other)
      await hears(page, 'error error')
    })

    test('tells the page that started it alone, by its origin, and one that frames it without the script nothing', async () => {
      const mandate = await ask({}, '/v1/emandate')
      const frames = ['alone', 'x *', 'x https://shop.example', 'x null'].map(
        (name) => `<iframe name="${name}" title="${name}" src="${mandate.url}"></iframe>`,
      )
      const listen = `window.all = []; addEventListener('message', ({ data }) => all.push(data.channel))`
      const host = await hostPage(() =>
        shell(start(mandate.token), `<script>${listen}</script>${frames.join('')}<div id="box"></div>`),
      )
      const page = await open()
      const complaints: string[] = []
      page.on('pageerror', ({ message }) => complaints.push(message))
      await page.goto(host)
      await page.waitForFunction('all.length > 0')
      const [channel = '', origin] = String(await page.evaluate("document.querySelector('#box iframe').name")).split(
        ' ',
      )
      expect(origin).toBe(host)
      expect(new Set((await page.evaluate('all')) as string[])).toEqual(new Set([channel]))
      expect(complaints).toEqual([])
    })

    test('twice on one page each frame speaks for itself, and one that is started anew takes the place of the first', async () => {
      const [one, two] = [await ask({}, '/v1/emandate'), await ask({}, '/v1/emandate')]
      const calls = start(one.token, 'a') + start(two.token, 'b') + start(two.token, 'b')
      const host = await hostPage(() =>
        shell(calls, '<div id="a" aria-label="A"></div><div id="b" aria-label="B"></div>'),
      )
      const page = await open()
      await page.goto(host)
      expect(await page.locator('iframe').count()).toBe(2)
      const frame = page.frameLocator('iframe[title=B]')
      await frame.getByLabel('Type your full name').fill('Ada')
      await frame.getByRole('checkbox').check()
      await frame.getByRole('button', { name: 'Sign', exact: true }).click()
      await hears(page, 'complete signed')
      expect(await heard(page)).toEqual(['complete signed'])
      expect([await one.state(), await two.state()]).toEqual(['open', 'signed'])
      await page.frameLocator('iframe[title=A]').getByText('62001871490').waitFor()
    })
  })
})
