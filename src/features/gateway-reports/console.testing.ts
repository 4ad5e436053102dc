import { expect } from 'vitest'
import type { TestService } from '../../../test/support/app.ts'
import { addTax } from '../../../test/support/shop.ts'
import { cardShop } from '../collection/shop.testing.ts'
import type { ChargeChange } from '../gateways/contract.ts'
import { report, workAt } from './reports.testing.ts'

type Shop = Awaited<ReturnType<typeof cardShop>>

/**
 * A charge of 115.00 of a card, on 5 January 2027, whose gateway can be made to report what its console did. `invoiced` makes the invoice of 1 January that it
 * pays.
 */
export async function chargedCard(
  service: TestService,
  number: string,
  invoiced: (shop: Shop) => Promise<number> = ({ invoice }) => invoice(100),
) {
  const shop = await cardShop(service, number)
  const { client, customerID, move } = shop
  await addTax(client, 'VAT', { Perc: 0.15 })
  const invoiceID = await invoiced(shop)
  await move('2027-01-05')
  const [{ gatewayID, GatewayToken }] = (await client.get('/v1/gateways')).body
  const [{ paymentID }] = (await client.get('/v1/payments')).body
  const path = `/v1/payments/${paymentID}`
  const sandbox = service.calling.adapters.get('sandbox')!
  const changes: ChargeChange[] = []
  const askCharge: typeof sandbox.askCharge = async (call, asked) => {
    const state = await sandbox.askCharge!(call, asked)
    return 'outcome' in state ? { ...state, changes: [...state.changes, ...changes] } : state
  }
  const adapters = new Map([['sandbox' as const, { ...sandbox, askCharge }]])
  let reports = 0
  /** Has the gateway report that there are more changes of the charge, with all that it has told before. */
  const console = async (...more: (Pick<ChargeChange, 'kind' | 'on' | 'amountMinor'> & Partial<ChargeChange>)[]) => {
    for (const one of more)
      changes.push({
        reference: `re_${changes.length + 1}`,
        class: 'refunded_late',
        code: one.kind,
        message: 'There.',
        ...one,
      })
    const sent = { id: `console-${(reports += 1)}`, about: 'charge' as const, reference: String(paymentID) }
    expect((await report(service, { client, gatewayID, GatewayToken }, sent)).status).toBe(200)
    await workAt(service, client, { adapters })
  }
  const refunds = async () => (await client.get(`${path}/refunds`)).body as any[]
  const adjustment = async (id: number) =>
    (await client.get(`/v1/adjustment/get?type=positive&adjustmentID=${id}&customerID=${customerID}`)).body.adjustment
  const lines = async () => {
    const files = (await client.get('/v1/resultfiles?page_size=100')).body as any[]
    const all = await Promise.all(
      files.map(async (file) => (await client.get(`/v1/resultfiles/${file.resultFileID}`)).body),
    )
    return all.flatMap((file) => file.Lines.map((line: any) => ({ ...line, ...file })))
  }
  return { ...shop, invoiceID, paymentID, path, changes, console, refunds, adjustment, lines }
}
