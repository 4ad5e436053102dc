import fc from 'fast-check'
import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { differencesOf } from '../../../test/support/shop.ts'
import { minorText } from '../../kernel/money.ts'
import { sql } from '../../platform/database/sql.ts'
import { CREDITOR } from '../gateways/creditor.testing.ts'
import {
  type CamtName,
  type CaseShop,
  entry,
  fileOf,
  type PartFacts,
  report,
  shopOf,
  statementOf,
} from './cases.testing.ts'

/**
 * The law of bank files, over random ones: what the bank booked in its entries is what is kept of them as bookings of payments plus what was listed, a
 * debit negative, to the cent. Entries come in several messages, in any order, and once more; some have no reference, some a placeholder.
 */

const service = await startTestService()

const PAYMENTS = 5
const RUNS = Number(process.env['LAW_RUNS'] ?? 4)
const DAYS = ['2027-01-13', '2027-01-14', '2027-01-18', '2027-01-20', '2027-01-21'] as const

/** A part of an entry: of a payment by its place in the shop, or of a stranger. */
interface PartWish {
  payment: number
  cents: number
  fee: number
  isContrary: boolean
}

const partWish: fc.Arbitrary<PartWish> = fc.record({
  payment: fc.integer({ min: 0, max: PAYMENTS }),
  cents: fc.integer({ min: 1, max: 50_000 }),
  fee: fc.constantFrom(0, 0, 0, 30, -20),
  isContrary: fc.constantFrom(false, false, true),
})

const entryWish = fc.record({
  isCredit: fc.boolean(),
  parts: fc.array(partWish, { minLength: 0, maxLength: 3 }),
  cents: fc.integer({ min: 1, max: 90_000 }),
  over: fc.constantFrom(0, 0, 0, 250, -150),
  reference: fc.constantFrom('real', 'real', 'NONREF', 'none'),
  day: fc.constantFrom(...DAYS),
  family: fc.constantFrom(undefined, undefined, 'IDDT', 'RCDT'),
  files: fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 3 }),
  isForeign: fc.constantFrom(false, false, false, true),
})
type EntryWish = typeof entryWish extends fc.Arbitrary<infer Wish> ? Wish : never

const MESSAGES: readonly CamtName[] = ['camt.054', 'camt.053', 'camt.052', 'camt.053']

/** An entry as its bank writes it, and what it books of the account. */
interface Made {
  xml: string
  minor: number
  isForeign: boolean
  files: readonly number[]
}

/** Makes entries; each payment is booked once a day in each direction, as no bank books it twice. */
function make(shop: CaseShop, wishes: readonly EntryWish[]): Made[] {
  const booked = new Set<string>()
  return wishes.map((wish, place): Made => {
    const { isCredit, day: on, family, over, isForeign, files } = wish
    let minor = 0
    const parts = wish.parts.map(({ payment, cents, fee, isContrary: wanted }, index): PartFacts => {
      const isContrary = wanted && wish.parts.length > 1
      const direction = isCredit !== isContrary
      const key = `${payment} ${on} ${direction}`
      const isNamed = payment > 0 && !booked.has(key)
      if (isNamed) booked.add(key)
      const own = isNamed ? 11_500 + (direction ? -fee : fee) : cents
      minor += isContrary ? -own : own
      return {
        amount: minorText(BigInt(own), 2),
        isCredit: direction,
        ...(isNamed && { e2e: shop.E(payment), instructed: '115.00' }),
        ...(isNamed && !direction && { returned: 'AM04' }),
        text: `entry ${place} part ${index}`,
      }
    })
    const amount = Math.abs(parts.length === 0 ? wish.cents : minor + over)
    const isAgainst = parts.length > 0 && minor + over < 0
    const signed = isCredit !== isAgainst ? amount : -amount
    const ref = wish.reference === 'real' ? `REF${place}` : wish.reference === 'none' ? undefined : wish.reference
    const xml = entry({
      amount: minorText(BigInt(amount), 2),
      isCredit: isCredit !== isAgainst,
      on,
      parts,
      ...(ref && { ref }),
      ...(family && { family }),
    })
    return { xml, minor: signed, isForeign, files: [...new Set(files)] }
  })
}

const FOREIGN = 'DE02120300000000202051'

/** Returns what is kept of payments and listed, in cents. */
async function explained(shop: CaseShop): Promise<{ kept: number; listed: number }> {
  const { id } = shop.client
  const [row] = await service.db.transaction(id, (tx) =>
    tx.rows<{ kept: bigint; listed: bigint }>(sql`
      select (select coalesce(sum(case when b.is_credit then p.amount_minor else -p.amount_minor end), 0)::bigint
                from payment_bookings b join payments p on p.account_id = ${id} and p.payment_id = b.payment_id where b.account_id = ${id}) as "kept",
             (select coalesce(sum(case when l.is_credit then l.amount_minor else -l.amount_minor end), 0)::bigint
                from result_lines l where l.account_id = ${id} and l.same_as is null and not l.is_status) as "listed"`),
  )
  return { kept: Number(row?.kept), listed: Number(row?.listed) }
}

test('what the bank booked is kept of payments or listed, to the cent, however often and in whatever order it comes', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(entryWish, { minLength: 4, maxLength: 14 }),
      fc.shuffledSubarray([0, 1, 2, 3], { minLength: 4 }),
      fc.subarray([1, 2, 3, 4, 5], { maxLength: 2 }),
      fc.boolean(),
      async (wishes, order, rejected, isSettled) => {
        const shop = await shopOf(service, PAYMENTS, { day: isSettled ? '2027-01-22' : '2027-01-14' })
        const payments = rejected.map((n) => ({ e2e: shop.E(n), status: 'RJCT', code: 'AC04' }))
        const made = make(shop, wishes)
        for (const [step, file] of [...order, order[0] as number].entries()) {
          if (step === 1 && payments.length > 0) await shop.send(report({ block: shop.block, payments }))
          const message = MESSAGES[file] as CamtName
          const own = made.filter(({ files, isForeign }) => files.includes(file) && !isForeign).map(({ xml }) => xml)
          const foreign = made.filter(({ files, isForeign }) => files.includes(file) && isForeign).map(({ xml }) => xml)
          const statements = [statementOf(CREDITOR.CreditorIBAN, own, message), statementOf(FOREIGN, foreign, message)]
          // The last is the first once more, with other bytes.
          await shop.send(fileOf(statements, message).replace('<MsgId>M<', `<MsgId>M${step}-${file}<`))
        }
        const minor = made.reduce((sum, one) => sum + (one.isForeign ? 0 : one.minor), 0)
        const { kept, listed } = await explained(shop)
        expect(kept + listed).toBe(minor)
        expect(await differencesOf(service, shop.client)).toEqual([])
      },
    ),
    { numRuns: RUNS, endOnFailure: true },
  )
})
