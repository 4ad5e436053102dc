import type { TestClient, TestService } from '../support/app.ts'
import type { DocumentedOperation } from './document.ts'
import { hashOf, randomOf } from './samples.ts'

/** An account with some of everything, and what is known of its records and of another account's: identifiers by the names that fields have. */

export interface World {
  client: TestClient
  ids: Map<string, number[]>
  /** Identifiers of records of another account, by the same names. */
  foreignIds: Map<string, number[]>
  /** Any identifier of this account, whatever it is of. */
  anyId: number[]
  random: (below: number) => number
}

/** The smallest PNG there is. */
export const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg==',
  'base64',
)

export const authorization = ({ id, secret }: TestClient): string =>
  `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`

async function mustPost(client: TestClient, path: string, body: unknown): Promise<any> {
  const reply = await client.post(path, body)
  if (reply.status >= 300) throw new Error(`${path} ${reply.status} ${reply.text}`)
  return reply.body
}

const rates = (price: number) =>
  ['USD', 'EUR'].map((CurrencyCode) => ({
    CurrencyCode,
    SetupFee: 10,
    TrialFee: 0,
    TrialPeriod: 0,
    TrialPeriodType: 'days',
    PackageRateTerms: [
      { ChargePrice: price, ChargeTerm: 1, ChargeTermType: 'months' },
      { ChargePrice: price * 10, ChargeTerm: 12, ChargeTermType: 'months' },
    ],
  }))

export const putLogo = (service: TestService, client: TestClient) =>
  service.app.server.inject({
    method: 'PUT',
    url: '/v1/account/logo',
    payload: PNG,
    headers: { authorization: authorization(client), 'content-type': 'image/png' },
  })

async function seed(service: TestService, client: TestClient): Promise<void> {
  await putLogo(service, client)
  for (const CurrencyCode of ['EUR', 'JPY']) await mustPost(client, '/v1/currencies', { CurrencyCode })
  for (const [n, countryID] of [710, 276, 840].entries())
    await mustPost(client, '/v1/tax', { Name: `Tax ${n}`, rules: [{ Perc: 0.15, countryID }] })
  const packages: number[] = []
  for (let n = 0; n < 4; n += 1) {
    const { packageGroupID } = await mustPost(client, '/v1/packagegroups', { GroupName: `Group ${n}` })
    await mustPost(client, '/v1/packagegroups', { GroupName: `Empty group ${n}` })
    const PackageVersion = { VersionName: 'First', isActive: true, isDefault: true, packageVersionRates: rates(31 + n) }
    const added = await mustPost(client, '/v1/packages', {
      packageGroupID,
      packageCode: `P${n}`,
      Name: `Plan ${n}`,
      Descrip: 'A plan',
      isActive: true,
      PackageVersion,
    })
    packages.push(added.packageID)
    await mustPost(client, `/v1/packages/${added.packageID}/versions`, {
      ...PackageVersion,
      VersionName: 'Second',
      isDefault: false,
    })
  }
  // The first is sold, the others stay free to be changed and deleted.
  const [plan] = packages
  for (let n = 0; n < 14; n += 1) {
    const { customerID } = await mustPost(client, '/v1/customers', {
      Name: `Customer ${n}`,
      isCompany: true,
      Reference: `R${n}`,
      Email: `c${n}@example.org`,
      countryID: 710,
    })
    if (n < 5) await mustPost(client, '/v1/subscriptions', { customerID, packageID: plan, Term: 1, TermType: 'months' })
    if (n === 5)
      await mustPost(client, '/v1/subscriptions', {
        customerID,
        packageID: plan,
        Term: 1,
        TermType: 'months',
        StartDate: '2027-06-01',
      })
    if (n === 6) await client.put(`/v1/customers/${customerID}/suspend`)
    if (n === 7) await client.put(`/v1/customers/${customerID}/archive`)
  }
  await mustPost(client, '/v1/billingruns', {})
}

const LIST_EXCEPTIONS = new Set(['listCountries'])

/** Every identifier that the lists of the account show, by field name. */
async function harvest(client: TestClient, operations: readonly DocumentedOperation[]): Promise<Map<string, number[]>> {
  const found = new Map<string, Set<number>>()
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(visit)
    if (typeof value !== 'object' || value === null) return
    for (const [name, inner] of Object.entries(value)) {
      if (typeof inner === 'number' && Number.isInteger(inner) && inner > 0 && /(ID|Num)$/.test(name))
        found.set(name, (found.get(name) ?? new Set()).add(inner))
      visit(inner)
    }
  }
  for (const operation of operations)
    if (operation.method === 'GET' && operation.pathParams.length === 0 && !LIST_EXCEPTIONS.has(operation.id))
      visit((await client.get(operation.path)).body)
  return new Map([...found].map(([name, values]) => [name, [...values]]))
}

export async function makeWorld(
  service: TestService,
  operations: readonly DocumentedOperation[],
  name: string,
): Promise<World> {
  const client = await service.newAccount()
  await seed(service, client)
  const ids = await harvest(client, operations)
  return {
    client,
    ids,
    foreignIds: new Map(),
    anyId: [...new Set([...ids.values()].flat())],
    random: randomOf(hashOf(name)),
  }
}

/** Values of path parameters that are no identifiers of records. */
const PATH_VALUES: Record<string, readonly string[]> = {
  versionno: ['1', '2'],
  kind: ['renewal'],
  countryID: ['840', '124'],
}

/** A path of the operation with records of one of the two accounts; undefined where the account has no record of the kind. */
export function pathOf(
  operation: DocumentedOperation,
  world: World,
  whose: 'own' | 'foreign' = 'own',
): string | undefined {
  let path = operation.path
  for (const name of operation.pathParams) {
    const ids = (whose === 'own' ? world.ids : world.foreignIds).get(name)
    const values = PATH_VALUES[name] ?? ids?.map(String)
    if (!values?.length) return undefined
    path = path.replace(`{${name}}`, values[world.random(values.length)] as string)
  }
  return path
}
