import assert from 'node:assert/strict'
import type { Reply, TestClient } from '../support/app.ts'

/**
 * Eight writers, and a reader who follows Perennial-Until over all lists: they end with the same records as somebody who reads everything. Deleted records
 * they learn of from events. Shared by a journey and a benchmark that does it for a minute.
 */

type Client = Pick<TestClient, 'get' | 'post' | 'put' | 'delete'>

const LISTS = {
  customers: 'customerID',
  subscriptions: 'subscriptionID',
  invoices: 'invoiceID',
  'recurring-invoices': 'recurInvoiceID',
  packages: 'packageID',
  components: 'componentID',
  payments: 'paymentID',
  credits: 'creditNoteID',
} as const
type List = keyof typeof LISTS
const NAMES = Object.keys(LISTS) as List[]

/** Fields of a record that show another one, or that billing moves: no update of it. */
const OF_OTHERS: Partial<Record<List, readonly string[]>> = {
  customers: ['Balance', 'ActiveSubs', 'StatementLastSentDate'],
  subscriptions: [
    'lastInvDate',
    'lastRenewDate',
    'nextRenewDate',
    'comp_nextInvDate',
    'PackageName',
    'packageCode',
    'CustomerName',
  ],
  invoices: ['Customer', 'Name', 'LastName', 'NextTryDate'],
  'recurring-invoices': ['lastInvDate', 'lastRenewDate', 'nextRenewDate', 'comp_nextInvDate', 'SuspendedDate'],
  packages: ['SubscriptionCount'],
}

type Row = Record<string, any>

const rowOf = (list: List, record: Row): string =>
  JSON.stringify(record, (name, value) => (OF_OTHERS[list]?.includes(name) ? undefined : value))

const nextOf = ({ headers }: Reply): string | undefined => /<([^>]+)>; rel="next"/.exec(headers['link'] ?? '')?.[1]

async function* pagesOf(client: Client, path: string): AsyncGenerator<Reply> {
  for (let next: string | undefined = path; next !== undefined;) {
    const reply: Reply = await client.get(next)
    assert.equal(reply.status, 200, reply.text)
    yield reply
    next = nextOf(reply)
  }
}

/** A copy of all lists that is kept up to date by what was updated. */
class Reader {
  readonly rows = new Map(NAMES.map((list) => [list, new Map<number, string>()]))
  readonly #client: Client
  readonly #until = new Map<List, string>()
  #events = 1

  constructor(client: Client) {
    this.#client = client
  }

  /** Reads what was updated since the last round, a few records a page. */
  async round(): Promise<void> {
    for (const list of NAMES) {
      const since = this.#until.get(list) ?? '1970-01-01'
      let first: string | undefined
      const seen = new Set<number>()
      for await (const reply of pagesOf(this.#client, `/v1/${list}?updatedSince=${since}&page_size=7`)) {
        first ??= reply.headers['perennial-until']
        for (const record of reply.body) {
          const id: number = record[LISTS[list]]
          assert(!seen.has(id), `${list} ${id} comes once`)
          seen.add(id)
          this.rows.get(list)?.set(id, rowOf(list, record))
        }
      }
      this.#until.set(list, first as string)
    }
  }

  /** Takes out what was deleted. */
  async forgetDeleted(): Promise<void> {
    for await (const { body } of pagesOf(this.#client, `/v1/events?page_size=200&page=${this.#events}`))
      for (const { Type, RecordID } of body) {
        const [record, change] = Type.split('.')
        const list =
          { credit_note: 'credits', recurring_invoice: 'recurring-invoices' }[record as string] ?? `${record}s`
        if (change === 'deleted') this.rows.get(list as List)?.delete(RecordID)
      }
  }
}

const randomOf = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

interface Wish {
  /** The day that everything is dated. */
  day: string
  goesOn: (step: number) => boolean
}

interface Catalogue {
  packageID: number
  componentID: number
}

/** Does one thing after the other, as its random numbers want it; what a rule forbids is left. */
async function write(client: Client, { packageID, componentID }: Catalogue, seed: number, { day, goesOn }: Wish) {
  const random = randomOf(seed * 7919 + 1)
  const pick = <T>(of: readonly T[]): T => of[random(of.length)] as T
  const own = { customers: [] as number[], invoices: [] as number[], payments: [] as number[], credits: [] as number[] }
  const tally = { done: 0, refused: 0 }
  const noted = (reply: Reply): Reply => {
    assert(reply.status < 500, reply.text)
    tally[reply.status < 300 ? 'done' : 'refused'] += 1
    return reply
  }
  const addCustomer = async () => {
    const { body } = noted(await client.post('/v1/customers', { Name: `Of ${seed}`, isCompany: true }))
    own.customers.push(body.customerID)
  }
  const addInvoice = async (customerID: number) => {
    const { body } = noted(
      await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 10 + random(90) }] }),
    )
    own.invoices.push(body.invoiceID)
  }
  await addCustomer()
  await addInvoice(own.customers[0] as number)
  const [customerID] = own.customers as [number]
  const parts = () => {
    const invoiceID = pick(own.invoices)
    return random(3) === 0 ? [] : [{ invoiceID, amountApplied: 1 + random(3) }]
  }
  const payment = () => ({
    customerID,
    Amount: 5 + random(20),
    CurrencyCode: 'USD',
    Date: day,
    Method: 'eft',
    Allocations: parts(),
  })
  const note = () => ({
    customerID,
    Amount: 4 + random(9),
    CurrencyCode: 'USD',
    Date: day,
    CreditNumber: `K${seed}-${random(1_000_000)}`,
    Allocations: parts(),
  })
  const recurring = {
    customerID,
    Term: 1,
    TermType: 'months',
    RecurInvoiceCharges: [{ Line: 'Rent', UnitCostEx: 20 }],
  }
  const acts: (() => Promise<unknown>)[] = [
    addCustomer,
    () => addInvoice(customerID),
    async () =>
      noted(await client.put(`/v1/customers/${pick(own.customers)}`, { Name: `N${random(99)}`, isCompany: true })),
    async () => {
      const { body, status } = noted(await client.post('/v1/payments', payment()))
      if (status === 201) own.payments.push(body.paymentID)
    },
    async () => {
      if (own.payments.length > 0) noted(await client.put(`/v1/payments/${pick(own.payments)}`, payment()))
    },
    async () => {
      if (own.payments.length > 0) noted(await client.delete(`/v1/payments/${pick(own.payments)}`))
    },
    async () => {
      const { body, status } = noted(await client.post('/v1/credits', note()))
      if (status === 201) own.credits.push(body.creditNoteID)
    },
    async () => {
      if (own.credits.length > 0) noted(await client.put(`/v1/credits/${pick(own.credits)}`, note()))
    },
    async () => {
      if (own.credits.length > 0) noted(await client.delete(`/v1/credits/${pick(own.credits)}`))
    },
    async () =>
      noted(
        await client.post('/v1/adjustment/add', {
          customerID,
          Type: 'negative',
          AdjustmentType: 'bad_debt',
          Ref: 'lost',
          Date: day,
          Amount: 1,
          LinkedAllocations: [{ objectID: pick(own.invoices), AmtAllocated: 1, isAdjustment: false }],
        }),
      ),
    async () => noted(await client.post('/v1/subscriptions', { customerID, packageID, StartDate: day })),
    async () => noted(await client.post('/v1/recurring-invoices', recurring)),
    async () => noted(await client.put(`/v1/invoices/${pick(own.invoices)}/cancel/fullcredit`)),
    async () => noted(await client.post(`/v1/components/${componentID}/versions`, versionOf(`V${random(9)}`))),
    async () => noted(await client.post(`/v1/customers/${pick(own.customers)}/anonymise`)),
  ]
  for (let step = 0; goesOn(step); step += 1) await pick(acts)()
  return tally
}

const versionOf = (VersionName: string) => ({
  VersionName,
  isActive: true,
  isDefault: false,
  ComponentVersionCurrencies: [
    { CurrencyCode: 'USD', ComponentBracketPrices: [{ Price: 5, QtyFrom: 1, QtyTill: null }] },
  ],
})

/** Adds what is sold: a package and a component. */
async function addCatalogue(client: Client): Promise<Catalogue> {
  const added = async (path: string, body: object): Promise<any> => {
    const reply = await client.post(path, body)
    assert.equal(reply.status, 201, reply.text)
    return reply.body
  }
  const { packageGroupID } = await added('/v1/packagegroups', { GroupName: 'All' })
  const { packageID } = await added('/v1/packages', {
    packageGroupID,
    packageCode: 'P',
    Name: 'Plan',
    Descrip: 'A plan',
    isActive: true,
    PackageVersion: {
      VersionName: 'first',
      isActive: true,
      isDefault: true,
      packageVersionRates: [
        {
          CurrencyCode: 'USD',
          SetupFee: 0,
          TrialFee: 0,
          TrialPeriod: 0,
          TrialPeriodType: 'days',
          PackageRateTerms: [{ ChargePrice: 31, ChargeTerm: 1, ChargeTermType: 'months' }],
        },
      ],
    },
  })
  const { isDefault: _default, isActive: _active, ...first } = versionOf('first')
  const { componentID } = await added('/v1/components', {
    packageGroupID,
    ComponentCode: 'SEAT',
    Name: 'Seats',
    Type: 'quantity',
    Scheme: 'tiered',
    UnitName: 'per seat',
    Term: 1,
    TermType: 'months',
    isActive: true,
    ComponentVersion: first,
  })
  return { packageID, componentID }
}

/**
 * Lets the reader follow while the writers write, as long as they are to go on, and compares their copy with all records. Throws where they differ; returns how
 * much was done.
 */
export async function followUpdates(
  client: Client,
  wish: Wish,
): Promise<{ rounds: number; writes: number; records: number }> {
  const catalogue = await addCatalogue(client)
  const reader = new Reader(client)
  let isWriting = true
  const writers = Promise.all(Array.from({ length: 8 }, (_, seed) => write(client, catalogue, seed, wish))).finally(
    () => {
      isWriting = false
    },
  )
  let rounds = 0
  for (; isWriting; rounds += 1) await reader.round()
  const tallies = await writers
  await reader.round()
  await reader.forgetDeleted()
  let records = 0
  for (const list of NAMES) {
    const full = new Map<number, string>()
    for await (const { body } of pagesOf(client, `/v1/${list}?page_size=200`))
      for (const record of body) full.set(record[LISTS[list]], rowOf(list, record))
    const followed = reader.rows.get(list) as Map<number, string>
    assert(full.size > 0, `${list} has records`)
    assert.deepEqual(
      [...followed.keys()].toSorted((a, b) => a - b),
      [...full.keys()],
      list,
    )
    for (const [id, row] of full) assert.equal(followed.get(id), row, `${list} ${id}`)
    records += full.size
  }
  return { rounds, writes: tallies.reduce((sum, { done }) => sum + done, 0), records }
}
