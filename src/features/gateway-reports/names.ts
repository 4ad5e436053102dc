import type { Transaction } from '../../platform/database/database.ts'
import { nameLine } from '../batches/line-queries.ts'
import { nameSale } from '../capture-sessions/sale-queries.ts'
import { nameTry } from '../collection/call-queries.ts'
import { findTry } from '../collection/try-queries.ts'
import type { KnownCharge } from '../gateways/charge-queries.ts'
import { sendTransactionId } from '../money/payment-queries.ts'

/**
 * Gives a charge that bears no name the one by which its gateway has answered, on the row of its intent and on its payments. Returns the name that it
 * bears then: null, or another one, where another charge bears this.
 */
export async function nameCharge(tx: Transaction, charge: KnownCharge, name: string): Promise<string | null> {
  const kept = await keptName(tx, charge, name)
  if (kept === name) sendTransactionId(tx, { gatewayId: charge.gatewayId, chargeId: charge.id }, name)
  return kept
}

async function keptName(tx: Transaction, { kind, id }: KnownCharge, name: string): Promise<string | null> {
  if (kind === 'line') return nameLine(tx, id, name)
  if (kind === 'sale') return nameSale(tx, id, name)
  if (kind === 'payment') return name
  await nameTry(tx, id, name)
  return (await findTry(tx, tx.account, id))?.gatewayReference ?? null
}
