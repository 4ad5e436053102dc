import { expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { invoicesOf, moveTo, subscribe } from '../../../test/support/shop.ts'
import { momentOf } from '../../kernel/context.ts'
import { getAccount } from '../accounts/queries.ts'
import { addComponent, modify, use } from '../subscriptions/components.testing.ts'
import { loadInvoiceDocument } from './load.ts'

const service = await startTestService()

/** Returns the lines of the newest invoice as its papers write them: name, quantity and description. */
async function linesOf(client: TestClient): Promise<string[]> {
  const db = service.db.reader(client.id)
  const account = await getAccount(db, client.id)
  const caller = { account, keyId: 1n, permission: 'read', isStrict: false } as const
  const context = { account, moment: momentOf(account, Date.now), caller, actor: 'test' }
  const { invoiceID } = (await invoicesOf(client)).at(-1)
  const { lines } = await loadInvoiceDocument(db, context, BigInt(invoiceID))
  return lines.map(({ name, quantity, description }) => `${name} ${quantity.coefficient} – ${description}`)
}

/** Returns how the explanation of the newest invoice ends the sentences of its lines: with what they are priced by. */
async function pricedOf(client: TestClient): Promise<(string | undefined)[]> {
  const { invoiceID } = (await invoicesOf(client)).at(-1)
  const { body } = await client.get(`/v1/invoices/${invoiceID}/explanation`)
  return body.Lines.map(({ Sentence }: { Sentence: string }) => /; (.*)\.$/.exec(Sentence)?.[1])
}

const addNumbers = (client: TestClient, scheme: 'stairstep' | 'volume') =>
  addComponent(client, {
    scheme,
    name: scheme,
    brackets: [
      [15, 5],
      [40, 20],
      [100, null],
    ],
  })

test('lines name their step or bracket, and a rise that of before and of now', async () => {
  const client = await service.newAccount({ clockAt: '2027-01-01T08:00:00.000Z' })
  const [stairs, volume] = [await addNumbers(client, 'stairstep'), await addNumbers(client, 'volume')]
  const usage = (numbers: number, seats: number) => [
    { componentID: stairs.componentID, NumUnits: numbers },
    { componentID: volume.componentID, NumUnits: seats },
  ]
  const wish = { componentUsage: usage(3, 21) }
  const { subscriptionID } = await subscribe(client, { price: 31 }, wish, { Locale: 'en-GB' })
  expect((await linesOf(client)).slice(1)).toEqual([
    'stairstep 1 – 1 Jan 2027 to 31 Jan 2027, 3 units · step up to 5',
    'volume 21 – 1 Jan 2027 to 31 Jan 2027 · bracket from 21',
  ])
  expect(await pricedOf(client)).toEqual([undefined, 'step up to 5', 'bracket from 21'])
  await moveTo(client, '2027-01-11')
  expect((await modify(client, subscriptionID, usage(8, 22))).status).toBeLessThan(300)
  await moveTo(client, '2027-02-01')
  expect((await linesOf(client)).slice(1)).toEqual([
    'stairstep 1 – 1 Feb 2027 to 28 Feb 2027, 8 units · step 6 to 20',
    'volume 22 – 1 Feb 2027 to 28 Feb 2027 · bracket from 21',
    'stairstep 1 – 11 Jan 2027 to 31 Jan 2027, 21 of 31 days, 3 → 8 units · step up to 5 → 6 to 20',
    'volume 1 – 11 Jan 2027 to 31 Jan 2027, 21 of 31 days, 21 → 22 units · bracket from 21',
  ])
})

test('lines by the unit name the units of their bracket and those that are free', async () => {
  const client = await service.newAccount({ clockAt: '2027-01-01T08:00:00.000Z' })
  const brackets: [number, number | null][] = [
    [0, 500],
    [0.02, 1500],
    [0.01, null],
  ]
  const { componentID } = await addComponent(client, { type: 'metered', scheme: 'tiered', brackets, name: 'SMS' })
  const { subscriptionID } = await subscribe(
    client,
    { price: 31 },
    { componentUsage: [{ componentID }] },
    { Locale: 'de' },
  )
  await use(client, subscriptionID, { componentID, NumUnits: 1720 })
  await moveTo(client, '2027-02-01')
  expect((await linesOf(client)).slice(1)).toEqual([
    'SMS 1000 – 01.01.2027 bis 31.01.2027 · Einheiten über 500 bis 1.500; die ersten 500 sind frei',
    'SMS 220 – 01.01.2027 bis 31.01.2027 · Einheiten über 1.500 bis 1.720; die ersten 500 sind frei',
  ])
  await use(client, subscriptionID, { componentID, NumUnits: 100, Date: '2027-01-20' })
  await moveTo(client, '2027-03-01')
  expect((await linesOf(client)).at(-1)).toBe(
    'SMS 1 – 01.01.2027 bis 31.01.2027, nachgemeldet: 1.720 → 1.820 Einheiten · die ersten 500 sind frei',
  )
})

test('a single price has no bracket to name', async () => {
  const client = await service.newAccount({ clockAt: '2027-01-01T08:00:00.000Z' })
  const { componentID } = await addComponent(client, { scheme: 'stairstep' })
  await subscribe(client, { price: 31 }, { componentUsage: [{ componentID, NumUnits: 4 }] }, { Locale: 'en-GB' })
  expect((await linesOf(client)).at(-1)).toBe('Seats 1 – 1 Jan 2027 to 31 Jan 2027, 4 units')
})
