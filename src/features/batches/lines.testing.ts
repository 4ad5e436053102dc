import type { TestClient, TestService } from '../../../test/support/app.ts'
import { assert } from '../../kernel/assert.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { listAllGateways } from '../gateways/queries.ts'
import { acting } from '../money/money.testing.ts'
import { addPayment } from '../money/payments.ts'
import { listMethodsOf } from '../payment-methods/queries.ts'
import { findLine, insertLine } from './line-queries.ts'
import { type Batch, findBatch, insertBatch, updateState, updateSubmitted } from './queries.ts'
import { applyLineResult } from './results.ts'
import { holdLines, makeRoomAgain } from './states.ts'

/** Lines as tests of other money need them: each in a batch of its own through the sandbox, which goes from state to state as they wish. */

const BANK_ACCOUNT = {
  Method: 'debit_order',
  AccountType: 'Savings',
  AccountHolder: 'Acme',
  Bank: 'First Bank',
  AccountNumber: '62001234',
  BranchCode: '250655',
}

async function methodOf(service: TestService, client: TestClient, customerID: number): Promise<bigint> {
  const [known] = await listMethodsOf(service.db.reader(client.id), client.id, BigInt(customerID))
  if (known) return known.id
  const body = { customerID, isPrimary: false, BankAccount: BANK_ACCOUNT }
  return BigInt((await client.post('/v1/paymentmethods/bankaccount', body)).body.paymentMethodID)
}

async function batchOf(tx: Transaction, { moment }: RequestContext) {
  const [gateway] = await listAllGateways(tx, tx.account)
  assert(gateway, 'a test account has its sandbox')
  const gatewayId = gateway.id
  const wanted = { currency: 'USD', actionDate: '2027-01-05', notes: null, isServiceMade: true }
  const batchId = await insertBatch(tx, { ...wanted, gatewayId, gatewayToken: gateway.token, createdAt: moment.now })
  return { gatewayId, batchId }
}

/**
 * Adds a line to an open batch of 5 January: a payment allocated to invoices, in minor units. It is the service's, so it gives way, unless
 * `givesWay` is false: then it is a caller's.
 */
export async function lineOf(
  service: TestService,
  client: TestClient,
  customerID: number,
  to: readonly (readonly [invoiceID: number, amountMinor: bigint])[],
  more: { amountMinor?: bigint; givesWay?: boolean } = {},
) {
  const { givesWay = true, amountMinor = to.reduce((sum, [, part]) => sum + part, 0n) } = more
  const paymentMethodId = await methodOf(service, client, customerID)
  const customerId = BigInt(customerID)
  return acting(service, client, async (tx, context) => {
    const { gatewayId, batchId } = await batchOf(tx, context)
    const payment = await addPayment(
      tx,
      context,
      {
        customerId,
        paidAt: '2027-01-05T00:00:00.000Z',
        dated: '2027-01-05',
        currency: 'USD',
        amountMinor,
        method: 'debit_order',
        origin: 'batch',
        ref: null,
        memo: null,
      },
      {
        list: to.map(([id, part]) => ({ id: null, target: { kind: 'invoice', id: BigInt(id) }, amountMinor: part })),
        isServiceMade: true,
      },
      { charge: { gatewayId }, givesWay },
    )
    const line = { id: payment.id, batchId, customerId, paymentMethodId, isServiceMade: givesWay, announcedOn: null }
    await insertLine(tx, line)
    return payment
  })
}

async function batchOfLine(tx: Transaction, id: bigint): Promise<Batch> {
  const line = await findLine(tx, tx.account, id)
  const batch = line && (await findBatch(tx, tx.account, line.batchId))
  assert(batch, `payment ${id} is a line`)
  return batch
}

/** Puts the batch of a line into build, so that its line keeps its place. */
export async function putIntoBuild(tx: Transaction, lineId: bigint): Promise<void> {
  const { id } = await batchOfLine(tx, lineId)
  await updateState(tx, id, 'build')
  await holdLines(tx, id)
}

/** Fails the build of a line's batch. */
export async function failBuildOf(tx: Transaction, lineId: bigint): Promise<void> {
  const { id } = await batchOfLine(tx, lineId)
  await updateState(tx, id, 'failed', 'The file could not be made.')
  await makeRoomAgain(tx, id)
}

/** Hands the batch of a line over, and applies what its bank answers on 5 January. */
export async function endLine(
  tx: Transaction,
  context: RequestContext,
  lineId: bigint,
  isSuccess: boolean,
): Promise<void> {
  await updateSubmitted(tx, await batchOfLine(tx, lineId), null)
  const result = { isSuccess, reason: isSuccess ? null : 'AM04', on: '2027-01-05', source: 'hand' } as const
  await applyLineResult(tx, context, lineId, result)
}
