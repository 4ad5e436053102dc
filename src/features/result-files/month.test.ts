import fc from 'fast-check'
import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { differencesOf } from '../../../test/support/shop.ts'
import { zipOf } from '../../platform/archive/archive.testing.ts'
import { bookingXml, fileXml, MESSAGES, month, type Month, signed, statusOf } from './month.testing.ts'
import { bank, IBAN, reportXml } from './result-files.testing.ts'

/**
 * The law of bank files: of each entry of the account, what was applied and what was listed come to what the bank booked, or it is known, or the
 * ledger had it already; whatever files say it, however often, in whatever order.
 */

const service = await startTestService()

type Bank = Awaited<ReturnType<typeof bank>>

const OTHER = 'DE02120300000000202051'

/** Writes the files of a month: by day and kind, with a statement of another account here and there, and a report of what was rejected. */
function filesOf({ stories, bookings }: Month, shop: Bank): string[] {
  const nameOf = (payment: number) => shop.reference(shop.sent[payment]!)
  const rejected = stories.flatMap((story, n) =>
    story.startsWith('rejected') ? [{ reference: nameOf(n), code: 'AC01' }] : [],
  )
  const reports = rejected.length === 0 ? [] : [reportXml({ message: 'X', rejected })]
  const days = [...new Set(bookings.map(({ day }) => day))]
  const statements = days.flatMap((day) =>
    MESSAGES.flatMap((message) => {
      const shown = bookings.filter((one) => one.day === day && one.in.includes(message))
      const entries = shown.map((one) => bookingXml(one, message, nameOf))
      return shown.length === 0
        ? []
        : [
            fileXml(message, [
              [OTHER, entries],
              [IBAN, entries],
            ]),
          ]
    }),
  )
  return [...reports, ...statements]
}

const minorOf = (amount: number) => BigInt(Math.round(amount * 100))

/** Everything that came of the files so far. */
async function stateOf({ client, sent }: Bank) {
  const balances = (await client.get('/v1/ledger/balances')).body
  const cash = balances.find(({ Account }: any) => Account === 'cash')?.Balance ?? 0
  const statuses = await Promise.all(
    sent.map(async ({ paymentId }) => (await client.get(`/v1/payments/${paymentId}`)).body.Status),
  )
  const files = (await client.get('/v1/resultfiles')).body
  const lines: any[] = []
  for (const { resultFileID } of files) lines.push(...(await client.get(`/v1/resultfiles/${resultFileID}`)).body.Lines)
  return { cash: minorOf(cash), statuses, files: files.length, lines }
}

/** Returns what waits for a person and is no repeat, with its sign. */
const listedIn = (lines: readonly any[]) =>
  lines
    .filter(({ State, sameAs, isCredit }) => State === 'open' && sameAs === null && isCredit !== null)
    .reduce((sum, { Amount, isCredit }) => sum + (isCredit ? minorOf(Amount) : -minorOf(Amount)), 0n)

const arrival = fc.record({ seed: fc.nat(), zips: fc.array(fc.boolean(), { minLength: 20, maxLength: 20 }) })

/** Puts files into an order of their own. */
function shuffled<Item>(items: readonly Item[], seed: number): Item[] {
  let state = seed
  const keyed = items.map((item) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return [state, item] as const
  })
  return keyed.sort(([a], [b]) => a - b).map(([, item]) => item)
}

async function sendAll(shop: Bank, files: readonly string[], zips: readonly boolean[]): Promise<void> {
  for (let at = 0; at < files.length;) {
    const together = zips[at % zips.length] ? files.slice(at, at + 3) : files.slice(at, at + 1)
    const [only] = together
    const reply =
      together.length > 1
        ? await shop.send(zipOf(...together.map((content, n) => ({ name: `${n}.xml`, content }))))
        : await shop.send(only!)
    expect([200, 201], reply.text).toContain(reply.status)
    at += together.length
  }
}

test('each entry is explained to the cent, and no payment is settled or failed twice', async () => {
  const property = fc.asyncProperty(month, arrival, arrival, async (booked, first, second) => {
    const shop = await bank(service, booked.stories.length, {
      settings: { SettleAfterDays: null },
      clockAt: '2027-02-24T12:00:00.000Z',
    })
    const files = filesOf(booked, shop)
    await sendAll(shop, shuffled(files, first.seed), first.zips)
    const state = await stateOf(shop)
    const distinct = booked.bookings.reduce((sum, one) => sum + signed(one), 0n)
    expect(state.statuses).toEqual(booked.stories.map((story) => statusOf[story]))
    expect({ cash: state.cash, listed: listedIn(state.lines) }).toEqual({
      cash: state.cash,
      listed: distinct - state.cash,
    })
    const settled = booked.stories.filter((story) => story === 'settled').length
    expect(state.cash).toBe(11_500n * BigInt(settled))
    await sendAll(shop, shuffled(files, second.seed), second.zips)
    expect(await stateOf(shop)).toEqual(state)
    expect(await differencesOf(service, shop.client)).toEqual([])
  })
  await fc.assert(property, { numRuns: Number(process.env['LAW_RUNS'] ?? 8), endOnFailure: true })
}, 120_000)
