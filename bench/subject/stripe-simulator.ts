import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { keep } from '../../test/simulators/stripe-declaration.ts'
import { StripeJudge } from '../../test/simulators/stripe-judge.ts'
import { operationOf } from '../../test/simulators/stripe-operations.ts'
import { StripeSimulator } from '../../test/simulators/stripe.ts'

/** A simulator of Stripe in a process of its own, so that its CPU is nobody's who is measured, and what its judge costs. Ends with the one that started it. */

const { cards, latency } = JSON.parse(process.argv[2] ?? '{}') as { cards: number; latency: number }

const BODIES = 1_000

const cpuSeconds = (before: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1e6
}

async function judged() {
  const folder = mkdtempSync(join(tmpdir(), 'perennial-schema-'))
  const making = process.cpuUsage()
  await keep(join(folder, 'schema.json'))
  const schema = cpuSeconds(making)
  rmSync(folder, { recursive: true })
  const judge = await StripeJudge.read()
  const { operation } = operationOf('POST', '/v1/payment_intents')!
  const form = (n: number) =>
    `amount=${n + 100}&currency=usd&customer=cus_1&payment_method=pm_1&allowed_payment_method_types[0]=card&description=Invoice&metadata[perennial]=a`
  judge.judgeRequest(operation, form(0))
  const judging = process.cpuUsage()
  for (let n = 0; n < BODIES; n += 1)
    if (judge.judgeRequest(operation, form(n)).problems.length > 0) throw new Error('a right body is refused')
  return { schema, bodies: cpuSeconds(judging) }
}

const judge = await judged()
const simulator = await StripeSimulator.start()
const { test: side } = simulator.openAccount()
const tokens = Array.from({ length: cards }, () => side.console.addCard('4242424242424242').token)
simulator.latency = latency
const { address } = simulator
process.send!({ address, secretKey: side.secretKey, publishableKey: side.publishableKey, tokens, judge })
process.on('disconnect', () => process.exit(0))
process.on('message', () => {
  const paid = [...side.book.charges.values()].filter((charge) => charge.paid).length
  process.send!({ paid, problems: simulator.problems })
})
