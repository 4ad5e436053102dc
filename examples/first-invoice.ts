import { clientFromEnvironment } from './client.ts'

/**
 * From nothing to a year of invoices: a tax, a package, a customer, a subscription, and a clock that is moved through the year.
 * The tax is taken away at the end, because it would stand on every later invoice of the account; the rest stays.
 * Needs a test account, whose clock can be moved: npx tsx examples/first-invoice.ts
 */

const api = clientFromEnvironment()
// A name of its own for each run, because codes are unique in an account.
const run = process.env['EXAMPLE_RUN'] ?? String(Date.now())

const { body: clock } = await api.get('/v1/clock')
console.log(`The account lives at ${clock.Now}.`)

const { body: tax } = await api.post('/v1/tax', { Name: `VAT ${run}`, rules: [{ Perc: 0.15 }] })
try {
  await liveAYear()
} finally {
  // Every tax of an account counts for all its invoices: one that was left behind would count with the next run's.
  await api.remove(`/v1/tax/${tax.taxSettingID}`)
}

async function liveAYear() {
  const { body: group } = await api.post('/v1/packagegroups', { GroupName: `Plans ${run}` })
  const { body: plan } = await api.post('/v1/packages', {
    packageGroupID: group.packageGroupID,
    packageCode: `basic-${run}`,
    Name: 'Basic',
    Descrip: 'The plan that everybody starts with',
    isActive: true,
    PackageVersion: {
      VersionName: 'first',
      isActive: true,
      isDefault: true,
      packageVersionRates: [
        {
          CurrencyCode: 'USD',
          SetupFee: 10,
          TrialFee: 0,
          TrialPeriod: 0,
          TrialPeriodType: 'days',
          PackageRateTerms: [{ ChargePrice: 31, ChargeTerm: 1, ChargeTermType: 'months' }],
        },
      ],
    },
  })
  const { body: customer } = await api.post('/v1/customers', { Name: 'Ada', LastName: 'Lovelace', CurrencyCode: 'USD' })

  // Everything due today is invoiced at once.
  const { body: subscription } = await api.post('/v1/subscriptions', {
    customerID: customer.customerID,
    packageID: plan.packageID,
  })

  const inAYear = new Date(clock.Now)
  inAYear.setUTCFullYear(inAYear.getUTCFullYear() + 1)
  const { body: moved } = await api.put('/v1/clock', { Now: inAYear.toISOString() })
  console.log(`Moved to ${moved.Now}: ${moved.Invoices} more invoices, ${moved.Failed.length} failed.`)

  const { body: invoices } = await api.get(`/v1/invoices?customerID=${customer.customerID}`)
  for (const invoice of invoices) {
    const lines = invoice.Charges.map((charge: any) => `${charge.Line} ${charge.AmountEx}`).join(', ')
    console.log(`${invoice.invoiceNum}  ${invoice.InvoiceDate.slice(0, 10)}  ${invoice.Total} USD  (${lines})`)
  }

  const { body: explanation } = await api.get(`/v1/invoices/${invoices[0].invoiceID}/explanation`)
  console.log('Why the first one is what it is:')
  for (const line of [...explanation.Lines, ...explanation.Taxes]) console.log(`  ${line.Sentence}`)

  console.log(`Subscription ${subscription.subscriptionID}: ${invoices.length} invoices.`)
}
