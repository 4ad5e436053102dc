import { mandateReference } from '../payment-methods/emandate.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { assert } from '../../kernel/assert.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import { instantOf } from '../../kernel/zone.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { Envelope } from '../../platform/envelope/envelope.ts'
import { originOfDomain } from '../../platform/page/origin.ts'
import { numberHash } from '../payment-methods/actions.ts'
import { beneficiaryOf } from './beneficiary.ts'
import { chained } from './evidence.ts'
import {
  drawMandateId,
  endOpenMandatesOf,
  findMandate,
  insertEvidence,
  insertMandate,
  listEvidence,
} from './queries.ts'
import { recordMandate } from './record.ts'
import { currencyOf, type MandateAccount, termsFromWire } from './resolve.ts'
import { type MandateBody, signeeFromWire } from './wire.ts'
import type { Channel, Evidence, EvidenceKind, Mandate, MandateDeps } from './types.ts'

/** Changes of mandates, each in one transaction. */

const placeOf = (row: Id) => ({ table: 'emandates', column: 'sealed_number', row })

/** Opens the whole number of the account of a mandate. */
export const openMandateNumber = (envelope: Envelope, account: AccountId, { id, number }: Mandate): string =>
  envelope.open(account, placeOf(id), number)

/** Adds an open mandate. Rule: one for a stored method ends those of it that nobody has signed. */
export async function addMandate(
  tx: Transaction,
  context: RequestContext,
  deps: MandateDeps,
  body: MandateBody,
  account: MandateAccount,
  channel: Channel,
): Promise<Mandate> {
  const { envelope, realClock } = deps
  const { kind, number, method } = account
  if (method) await endOpenMandatesOf(tx, method.id, context.moment.now)
  const id = await drawMandateId(tx)
  const currency = currencyOf(kind, context)
  const beneficiary = await beneficiaryOf(tx, envelope, tx.account, kind, currency)
  await insertMandate(tx, {
    id,
    methodId: method?.id ?? null,
    channel,
    redirectUrl: body.RedirectUrl ?? null,
    authOrigin:
      body.AuthDomain == null ? null : (originOfDomain(body.AuthDomain, context.account.mode === 'test') ?? null),
    isCustomerEditable: body.isCustomerEditable ?? false,
    isCompanySignee: body.isCompanySignee ?? false,
    signee: signeeFromWire(body),
    terms: termsFromWire(body, account, { currency, beneficiary }),
    kind,
    number: envelope.seal(tx.account, placeOf(id), number),
    numberHash: numberHash(envelope, tx.account, account),
    lastFour: number.slice(-4),
    createdAt: context.moment.now,
    madeAt: instantOf(realClock()),
  })
  const mandate = await findMandate(tx, tx.account, id)
  assert(mandate, `mandate ${id} was written`)
  await addEvidence(tx, deps, id, 'created', { channel, actor: context.actor, reference: mandateReference(mandate) })
  await recordMandate(tx, context, deps, 'emandate.created', mandate)
  return mandate
}

/** Adds a step to the evidence of a locked mandate. */
export async function addEvidence(
  tx: Transaction,
  { realClock }: Pick<MandateDeps, 'realClock'>,
  id: Id,
  kind: EvidenceKind,
  details: Evidence['details'],
): Promise<Evidence> {
  const steps = await listEvidence(tx, tx.account, id)
  const step = chained(steps.at(-1), { kind, at: instantOf(realClock()), details })
  await insertEvidence(tx, id, steps.length, step)
  return step
}
