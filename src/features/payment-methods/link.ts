import { dateIn, instantOf } from '../../kernel/zone.ts'
import type { RealClock, RequestContext } from '../../kernel/context.ts'
import { conflict, type Problems } from '../../kernel/fault.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { Envelope } from '../../platform/envelope/envelope.ts'
import type { Links } from '../../platform/page/links.ts'
import { numberHash } from './actions.ts'
import type { CheckedAccount } from './checks.ts'
import { mandateOfToken, mandateReference, mandateState } from './emandate.ts'
import { lockLinkableMandate } from './queries.ts'
import type { FittingMandate } from './types.ts'

/** Linking a bank account to the eMandate that its body names. */

export interface LinkDeps {
  envelope: Envelope
  links: Links
  realClock: RealClock
}

const FIELD = 'BankAccount.EMandateToken'

/**
 * Locks the eMandate of a token, and notes where it is not for the account of the body. Throws a conflict where it is over, or another method's.
 * No message repeats the token or a number. `methodId` is null for a method to be.
 */
export async function fittingMandate(
  tx: Transaction,
  { envelope, links, realClock }: LinkDeps,
  { account, moment }: RequestContext,
  token: string,
  checked: CheckedAccount,
  methodId: Id | null,
  problems: Problems,
): Promise<FittingMandate | undefined> {
  const id = mandateOfToken(links, tx.account, token)
  const mandate = id === undefined ? undefined : await lockLinkableMandate(tx, tx.account, id)
  if (!mandate) {
    problems.add('mandate_unknown', FIELD, `${FIELD} names no eMandate of this account.`)
    return undefined
  }
  const unfit = unfitField(mandate, checked, numberHash(envelope, tx.account, checked))
  if (unfit !== null) {
    problems.add('mandate_of_other_account', unfit, `${unfit} is not that of the eMandate.`)
    return undefined
  }
  if (mandate.methodId !== null && mandate.methodId !== methodId)
    throw conflict('mandate_used', `The eMandate is that of payment method ${mandate.methodId}.`, FIELD)
  if (mandateState(mandate, { clock: moment.now, real: instantOf(realClock()) }) === 'expired')
    throw conflict('mandate_expired', 'The time to sign the eMandate is over; ask for a new one.', FIELD)
  const { signedAt } = mandate
  const signed = signedAt && { reference: mandateReference(mandate), date: dateIn(signedAt, account.timeZone) }
  return { id: mandate.id, signed }
}

/** Returns the field in which an account differs from that of an eMandate; null where there is none. */
function unfitField(
  mandate: { kind: string; numberHash: Buffer; branchCode: string | null },
  { kind, branchCode, routingNumber, bic }: CheckedAccount,
  hash: Buffer,
): string | null {
  if (mandate.kind !== kind) return 'BankAccount.Method'
  if (!mandate.numberHash.equals(hash)) return `BankAccount.${kind === 'sepa' ? 'IBAN' : 'AccountNumber'}`
  if (mandate.branchCode === (branchCode ?? routingNumber ?? bic)) return null
  return `BankAccount.${{ sepa: 'BIC', ach: 'RoutingNumber', debit_order: 'BranchCode' }[kind]}`
}
