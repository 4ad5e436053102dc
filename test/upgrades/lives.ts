import { type Ask, untilThere } from './firm.ts'

/** Lives of other firms of the dump: many customers who are alike, and a mandate that is signed. */

const clock = (ask: Ask, day: string) => ask('PUT', '/v1/clock', { Now: `${day}T12:00:00Z` })

const ALIKE = 40

/** Adds a component whose units cost 5.00 up to the tenth and 4.00 from then on. */
const addComponent = (ask: Ask, packageGroupID: number, Code: string, Type: string, Scheme: string) =>
  ask('POST', '/v1/components', {
    ComponentCode: Code,
    Name: Code,
    Descrip: 'A component',
    Type,
    Scheme,
    UnitName: 'each',
    packageGroupID,
    Term: 1,
    TermType: 'months',
    isActive: true,
    ComponentVersion: {
      VersionName: 'First',
      ComponentVersionCurrencies: [
        {
          CurrencyCode: 'USD',
          ComponentBracketPrices: [
            { Price: 5, QtyFrom: 1, QtyTill: 10 },
            { Price: 4, QtyFrom: 11, QtyTill: null },
          ],
        },
      ],
    },
  })

/** Customers who are alike, for months: their invoices are stamped, their postings and events share rows. */
export async function many(ask: Ask): Promise<void> {
  const { packageGroupID } = await ask('POST', '/v1/packagegroups', { GroupName: 'Plans' })
  const { packageID } = await ask('POST', '/v1/packages', {
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
  const seats = await addComponent(ask, packageGroupID, 'SEATS', 'quantity', 'volume')
  const calls = await addComponent(ask, packageGroupID, 'CALLS', 'metered', 'tiered')
  const subscriptions: number[] = []
  for (let n = 0; n < ALIKE; n += 1) {
    const { customerID } = await ask('POST', '/v1/customers', {
      Name: `Alike ${n}`,
      isCompany: true,
      Email: `alike${n}@example.org`,
      InvoiceDeliveryMethod: 'email',
    })
    const componentUsage =
      n % 2 === 0
        ? []
        : [
            { componentID: seats.componentID, NumUnits: 3 },
            { componentID: calls.componentID, NumUnits: 0 },
          ]
    const added = await ask('POST', '/v1/subscriptions', {
      customerID,
      packageID,
      Term: 1,
      TermType: 'months',
      StartDate: '2027-01-01',
      componentUsage,
    })
    if (n % 2 === 1) subscriptions.push(added.subscriptionID)
  }
  for (const month of ['01', '02', '03']) {
    await clock(ask, `2027-${month}-20`)
    const Usage = subscriptions.map((subscriptionID) => ({
      subscriptionID,
      componentID: calls.componentID,
      NumUnits: 12,
      Date: `2027-${month}-19`,
      UsageKey: `meter-${subscriptionID}-${month}`,
    }))
    await ask('POST', '/v1/usage', { Usage })
  }
  await clock(ask, '2027-04-02')
}

/** A mandate that its payer signs on the page, and the document that is made of it. */
export async function mandates(ask: Ask, address: string): Promise<void> {
  const body = {
    Name: 'Ada',
    Lastname: 'Lovelace',
    Email: 'ada@example.org',
    Address1: '12 Long Street',
    City: 'Cape Town',
    PostalCode: '8001',
    CountryISOCode: 'ZAF',
    bank_DebitMethod: 'sepa',
    bank_Name: 'Commerzbank',
    bank_AccHolder: 'Ada Lovelace',
    bank_AccNumber: 'DE89370400440532013000',
    bank_BranchCode: 'COBADEFFXXX',
    bank_AccountType: 'savings',
    debit_ActionDay: 31,
    debit_StartDate: '2027-06-01',
    debit_Frequency: 'monthly',
    debit_Amt: 199.5,
    debit_NameOnStmt: 'ENGINES',
    debit_ContractRef: 'C-17',
  }
  const { Url, Token } = await ask('POST', '/v1/emandate', body)
  const path = new URL(Url, address).pathname
  const page = await (await fetch(address + path)).text()
  const shown = /name="shown" value="([0-9a-f]{64})"/.exec(page)?.[1] ?? ''
  const fields = { decision: 'sign', consent: 'yes', signature: 'Ada Lovelace', drawing: '', shown }
  const headers = { origin: address, 'content-type': 'application/x-www-form-urlencoded' }
  const sent = await fetch(address + path, {
    method: 'POST',
    redirect: 'manual',
    headers,
    body: new URLSearchParams(fields).toString(),
  })
  if (sent.status !== 303) throw new Error(`The mandate was not signed: ${sent.status}`)
  await untilThere(() => ask('GET', `/widget/emandate/download?token=${Token}`))
}
