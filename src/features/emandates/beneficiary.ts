import type { AccountId } from '../../kernel/ids.ts'
import type { BankKind } from '../../kernel/rails.ts'
import type { Queryable } from '../../platform/database/database.ts'
import type { Envelope } from '../../platform/envelope/envelope.ts'
import { getAccountSettings } from '../accounts/queries.ts'
import { settingsOf } from '../gateways/call.ts'
import { listAllGateways } from '../gateways/queries.ts'
import { primaryGateway } from '../gateways/rules.ts'
import type { Beneficiary } from './types.ts'

/** Days of notice before a debit, where the gateway has no other agreement. */
const NOTICE_DAYS = 14

/** Returns who debits by a mandate of a kind: the account, and of SEPA the creditor that its gateway names to the bank. */
export async function beneficiaryOf(
  db: Queryable,
  envelope: Envelope,
  account: AccountId,
  kind: BankKind,
  currency: string,
): Promise<Beneficiary> {
  const [settings, gateways] = await Promise.all([getAccountSettings(db, account), listAllGateways(db, account)])
  const gateway = primaryGateway(gateways, kind, currency)
  const agreed = gateway ? settingsOf(envelope, account, gateway) : {}
  const { PreNotificationDays: days, CreditorName: name, CreditorIdentifier: identifier } = agreed
  const { address1, address2, zipCode, city, state, country, tel, email, webPage } = settings
  const place = [zipCode, city].filter((part) => part !== null).join(' ')
  return {
    name: typeof name === 'string' ? name : settings.name,
    address: [address1, address2, place, state, country].filter((line): line is string => line !== null && line !== ''),
    tel,
    email,
    webPage,
    creditorIdentifier: typeof identifier === 'string' ? identifier : null,
    noticeDays: typeof days === 'number' ? days : NOTICE_DAYS,
  }
}
