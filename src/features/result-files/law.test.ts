import fc from 'fast-check'
import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { addCustomer, differencesOf } from '../../../test/support/shop.ts'
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
    const { isCredit, day: on, family, isForeign, files } = wish
    // Of each entry another amount: two that nothing tells apart would each be taken for a repeat of one in another file, which waits as such.
    const over = wish.over === 0 ? 0 : wish.over + place
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

/** An entry that one file has as a sum and another with its parts; a part is of a payment, or of a stranger (0). */
const collective = fc.record({
  isCredit: fc.boolean(),
  parts: fc.array(fc.integer({ min: 0, max: PAYMENTS }), { minLength: 1, maxLength: 3 }),
  day: fc.constantFrom(...DAYS),
  isSumFirst: fc.boolean(),
})
type Collective = typeof collective extends fc.Arbitrary<infer Wish> ? Wish : never

/** Entries in both of their forms. */
interface BothForms {
  /** Sum of the bank's bookings, in cents. */
  minor: number
  /** The entries of two files. */
  files: [string[], string[]]
  /** Of the sums of the first file in their order: the payments that they are of. */
  ofSums: number[][]
}

/** Makes the entries of two files: each is a sum in one and has its parts in the other. */
function bothForms(shop: CaseShop, wishes: readonly Collective[]): BothForms {
  const booked = new Set<string>()
  const files: [string[], string[]] = [[], []]
  const ofSums: number[][] = []
  let minor = 0
  for (const [place, { isCredit, day: on, isSumFirst, parts: wanted }] of wishes.entries()) {
    const named: number[] = []
    const parts = wanted.map((payment, index): PartFacts => {
      const isNamed = payment > 0 && !booked.has(`${payment} ${isCredit}`)
      if (isNamed) booked.add(`${payment} ${isCredit}`)
      if (isNamed) named.push(payment)
      return {
        ...{ ref: `D${place}-${index}`, amount: isNamed ? '115.00' : '7.00', text: `entry ${place} part ${index}` },
        ...(isNamed && { e2e: shop.E(payment) }),
        ...(isNamed && !isCredit && { returned: 'AM04' }),
      }
    })
    const cents = parts.reduce((sum, { amount }) => sum + Math.round(Number(amount) * 100), 0)
    minor += isCredit ? cents : -cents
    const facts = {
      ...{ amount: minorText(BigInt(cents), 2), isCredit, on, ref: `REF${place}` },
      ...(!isCredit && { family: 'IDDT' }),
    }
    if (isSumFirst) ofSums.push(named)
    files[isSumFirst ? 0 : 1].push(entry(facts))
    files[isSumFirst ? 1 : 0].push(entry({ ...facts, parts }))
  }
  return { minor, files, ofSums }
}

/** Answers some lines of a file as a person might: a credit is a customer's, the sum of returns is of one of its payments. What is refused stays as it is. */
async function answerSome(
  shop: CaseShop,
  file: Awaited<ReturnType<CaseShop['send']>>,
  ofSums: readonly number[][],
  answers: readonly { isGiven: boolean; which: number }[],
): Promise<void> {
  const customerID = await addCustomer(shop.client, { CurrencyCode: 'EUR' })
  let sums = 0
  for (const [index, { lineID, Kind, EntryAmount }] of file.Lines.entries()) {
    const payments = EntryAmount === null ? ofSums[sums++]! : []
    const { isGiven, which } = answers[index % answers.length]!
    const payment = payments[which % Math.max(payments.length, 1)]
    if (!isGiven || (Kind !== 'credit' && payment === undefined)) continue
    const answer = Kind === 'credit' ? { customerID } : { paymentID: Number(shop.E(payment!).split('-')[1]) }
    expect([204, 409]).toContain((await shop.answer(file, lineID, answer)).status)
  }
}

/** Returns what is kept of payments and listed, in cents, where sums and parts are lines: a return that was applied is kept with its payment. */
async function explainedOfSums(shop: CaseShop): Promise<number> {
  const { id } = shop.client
  const [row] = await service.db.transaction(id, (tx) =>
    tx.rows<{ listed: bigint }>(sql`
      select coalesce(sum(case when l.is_credit then l.amount_minor else -l.amount_minor end), 0)::bigint as "listed"
        from result_lines l left join result_lines same on same.account_id = ${id} and same.result_line_id = l.same_as
       where l.account_id = ${id} and not l.is_status and l.state <> 'closed' and not (l.kind = 'return' and l.state = 'applied')
         and (same.result_line_id is null or same.state = 'closed')`),
  )
  return (await explained(shop)).kept + Number(row?.listed)
}

test('so it is where a person answers sums, and parts, before the other form of their entry comes', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(collective, { minLength: 2, maxLength: 8 }),
      fc.array(fc.record({ isGiven: fc.boolean(), which: fc.nat({ max: 2 }) }), {
        minLength: 3,
        maxLength: 7,
      }),
      async (wishes, answers) => {
        const shop = await shopOf(service, PAYMENTS)
        const { minor, files, ofSums } = bothForms(shop, wishes)
        const first = await shop.send(fileOf([statementOf(CREDITOR.CreditorIBAN, files[0])]))
        await answerSome(shop, first, ofSums, answers)
        await shop.send(fileOf([statementOf(CREDITOR.CreditorIBAN, files[1], 'camt.054')], 'camt.054'))
        expect(await explainedOfSums(shop)).toBe(minor)
        expect(await differencesOf(service, shop.client)).toEqual([])
      },
    ),
    { numRuns: RUNS * 2, endOnFailure: true },
  )
})
