import pg from 'pg'
import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { clientConfig } from '../../platform/database/open-database.ts'
import { sql } from '../../platform/database/sql.ts'
import { shop } from '../../../test/support/shop.ts'
import { verifyNightly } from '../../checks.ts'
import { nightOf, type NightlyDeps } from './nightly.ts'
import { listVerificationFigures } from './nightly-queries.ts'

const service = await startTestService()
const at = (text: string) => Date.parse(text)

/** Lets a worker look once at a moment; returns the accounts verified, with the number of their differences, and those that failed. */
async function look(now: string, more: Partial<NightlyDeps> = {}, goOn = () => {}) {
  const verified: [bigint, number][] = []
  const differing: string[] = []
  const failed: bigint[] = []
  const sealed: [bigint, bigint][] = []
  await verifyNightly(
    {
      db: service.db,
      realClock: () => at(now),
      onDifference: ({ account, what }) => differing.push(`${account} ${what}`),
      onVerified: ({ account, differences }) => verified.push([account, differences]),
      onSealed: (account, { heads }) => sealed.push([account, heads]),
      onFailed: (account) => failed.push(account),
      ...more,
    },
    goOn,
  )
  return { verified, differing, failed, sealed }
}

const figures = async () =>
  Object.fromEntries((await listVerificationFigures(service.db.unscoped)).map(({ name, value }) => [name, value]))

async function asSuperuser(text: string): Promise<void> {
  const superuser = new pg.Client(clientConfig(service.connection, undefined))
  await superuser.connect()
  await superuser.query(text)
  await superuser.end()
}

test('a night is the hours from two to six of UTC', () => {
  expect(nightOf(at('2027-03-01T01:59:59Z'))).toBeUndefined()
  expect(nightOf(at('2027-03-01T02:00:00Z'))).toBe(at('2027-03-01T02:00:00Z'))
  expect(nightOf(at('2027-03-01T05:59:59Z'))).toBe(at('2027-03-01T02:00:00Z'))
  expect(nightOf(at('2027-03-01T06:00:00Z'))).toBeUndefined()
})

test('each account is verified once a night, by whichever worker comes first, and the figure for monitors is of its last verification', async () => {
  const { client, add } = await shop(service)
  await add()
  const other = await service.newAccount()
  expect(await figures()).toEqual({})
  expect((await look('2027-03-01T12:00:00Z')).verified).toEqual([])
  const [one, two] = await Promise.all([look('2027-03-01T02:10:00Z'), look('2027-03-01T02:10:00Z')])
  const both = [...one.verified, ...two.verified].toSorted(([a], [b]) => (a < b ? -1 : 1))
  expect(both).toEqual([
    [client.id, 0],
    [other.id, 0],
  ])
  expect((await look('2027-03-01T03:00:00Z')).verified).toEqual([])
  expect(await figures()).toEqual({ verify_differences: 0, verify_finished_at: at('2027-03-01T02:10:00Z') / 1000 })

  await asSuperuser(`update invoices set total_minor = total_minor + 1 where account_id = ${client.id}`)
  const next = await look('2027-03-02T02:10:00Z')
  expect(next.verified).toContainEqual([client.id, 3])
  expect(next.differing).toEqual([`${client.id} total`, `${client.id} receivable`, `${client.id} entry invoice_issued`])
  expect(await figures()).toEqual({ verify_differences: 3, verify_finished_at: at('2027-03-02T02:10:00Z') / 1000 })
  await asSuperuser(`update invoices set total_minor = total_minor - 1 where account_id = ${client.id}`)
  expect((await look('2027-03-03T02:10:00Z')).differing).toEqual([])
  expect(await figures()).toMatchObject({ verify_differences: 0 })
  expect((await service.anonymous.get('/metrics')).text).toContain('perennial_verify_differences 0\n')
})

test('chains that hold are sealed each night; those that do not keep the seal that shows it', async () => {
  const { client, customerID } = await shop(service)
  const invoice = () => client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 10 }] })
  const sealOf = async () =>
    (
      await service.db.reader(client.id).rows(sql`
      select sealed_links as "links", sealed_head = head as "isNewest", (select count(*) from ledger_seals s where s.account_id = t.account_id) as "seals"
        from customer_totals t where account_id = ${client.id}`)
    )[0]
  await invoice()
  expect((await look('2027-03-04T02:10:00Z')).sealed).toContainEqual([client.id, 1n])
  expect(await sealOf()).toEqual({ links: 1, isNewest: true, seals: 1n })
  await invoice()
  expect(await sealOf()).toEqual({ links: 1, isNewest: false, seals: 1n })
  expect((await look('2027-03-05T02:10:00Z')).differing).toEqual([])
  expect(await sealOf()).toEqual({ links: 2, isNewest: true, seals: 2n })
  // Cut off with their head, and money moved on over it: the seal is what tells, so none is put over it.
  await asSuperuser(`delete from ledger_rows where account_id = ${client.id} and link = 2`)
  await asSuperuser(`update customer_totals set links = 1 where account_id = ${client.id}`)
  await invoice()
  const { differing, sealed } = await look('2027-03-06T02:10:00Z')
  expect(differing).toContain(`${client.id} sealed hash of the ledger in USD`)
  expect(sealed.map(([account]) => account)).not.toContain(client.id)
  expect(await sealOf()).toEqual({ links: 2, isNewest: false, seals: 2n })
  await asSuperuser(`delete from ledger_rows where account_id = ${client.id}; delete from ledger_seals where account_id = ${client.id};
    delete from customer_totals where account_id = ${client.id}; delete from charge_rows where account_id = ${client.id};
    delete from invoice_tax_rows where account_id = ${client.id}; delete from invoices where account_id = ${client.id};
    update account_counters set next_invoice_number = 1 where account_id = ${client.id}`)
})

test('a worker that stops leaves its account to the next; one that was killed leaves it when its lease has passed', async () => {
  let pages = 0
  const stop = () => {
    pages += 1
    if (pages > 3) throw new Error('stopped')
  }
  await expect(look('2027-03-14T02:10:00Z', {}, stop)).rejects.toThrow('stopped')
  expect((await look('2027-03-14T02:11:00Z')).verified).toHaveLength(3)
  const lease = (until: string) =>
    asSuperuser(`
      insert into leases (account_id, name, holder, leased_until) select account_id, 'verification', gen_random_uuid(), ${until} from accounts
      on conflict (account_id, name) do update set leased_until = excluded.leased_until`)
  await lease(`clock_timestamp() + interval '29 seconds'`)
  expect((await look('2027-03-15T02:10:00Z')).verified).toEqual([])
  // The database's clock decides, whatever that of a worker shows; one that ends later than any can was taken before that clock stepped back.
  expect((await look('2027-03-15T05:10:00Z')).verified).toEqual([])
  await lease(`clock_timestamp() - interval '1 second'`)
  expect((await look('2027-03-15T02:10:00Z')).verified).toHaveLength(3)
  await lease(`clock_timestamp() + interval '4 hours'`)
  expect((await look('2027-03-16T02:10:00Z')).verified).toHaveLength(3)
})

test('an account that cannot be verified does not keep the others waiting', async () => {
  const broken = (await service.newAccount()).id
  await asSuperuser(`delete from account_counters where account_id = ${broken}`)
  const onDifference = ({ account }: { account: bigint }) => {
    if (account === broken) throw new TypeError('the disk of the log is full')
  }
  const { verified, failed } = await look('2027-03-17T02:10:00Z', { onDifference })
  expect(failed).toEqual([broken])
  expect(verified).toHaveLength(3)
  const again = await look('2027-03-17T02:20:00Z')
  expect([again.verified, again.failed]).toEqual([[[broken, again.differing.length]], []])
  expect(again.differing).toContain(`${broken} what is stored`)
})
