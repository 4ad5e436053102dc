import { createAccount } from '../../src/features/accounts/actions.ts'
import type { Connection } from '../../src/platform/database/database.ts'
import { openAsService } from './database.ts'

/** Accounts beside the one that the first start makes, and what is sold in them. */

export const FIRST_DAY = '2027-01-01'

/** An account of its own on the same service: its Authorization header. The clock of one for tests stands at FIRST_DAY. */
export async function newAccount(connection: Connection, mode: 'test' | 'live'): Promise<string> {
  const db = openAsService(connection)
  try {
    const clockAt = mode === 'test' ? `${FIRST_DAY}T00:00:00.000Z` : null
    const wish = { mode, name: 'Bench', currency: 'USD', clockAt }
    const { id, secret } = await createAccount(db, Date.now, wish, 'bench')
    return `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
  } finally {
    await db.close()
  }
}

type Add = <T>(path: string, body: object) => Promise<T>

/** Adds a package that costs so much a term; the identifiers of its group and of itself. */
export async function addPackage(add: Add, price: number, TermType: 'days' | 'months') {
  const { packageGroupID } = await add<{ packageGroupID: number }>('/v1/packagegroups', { GroupName: `G ${TermType}` })
  const noTrial = { SetupFee: 0, TrialFee: 0, TrialPeriod: 0, TrialPeriodType: 'days' }
  const PackageRateTerms = [{ ChargePrice: price, ChargeTerm: 1, ChargeTermType: TermType }]
  const { packageID } = await add<{ packageID: number }>('/v1/packages', {
    packageGroupID,
    packageCode: TermType,
    Name: 'Plan',
    Descrip: 'A plan',
    isActive: true,
    PackageVersion: {
      VersionName: 'first',
      isActive: true,
      isDefault: true,
      packageVersionRates: [{ CurrencyCode: 'USD', ...noTrial, PackageRateTerms }],
    },
  })
  return { packageGroupID, packageID }
}
