import { createHash } from 'node:crypto'
import { conflict } from '../../kernel/fault.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import type { Envelope } from '../../platform/envelope/envelope.ts'
import type { Answer } from '../../platform/http/answer.ts'
import type { BatchFile } from '../gateways/contract.ts'
import { findGateway } from '../gateways/queries.ts'
import { refuseStopped } from '../gateways/rules.ts'
import { findFile, updateDownloaded } from './queries.ts'
import { foundBatch, recordBatch } from './record.ts'
import { stateWord } from './rules.ts'

/** Files of batches: sealed, each under a data key of its own, and kept byte for byte. */

const placeOf = (row: Id) => ({ table: 'payment_batches', column: 'sealed_file', row })

export const sealFile = (envelope: Envelope, account: AccountId, id: Id, { name, mediaType, bytes }: BatchFile) => ({
  name,
  mediaType,
  sealed: envelope.seal(account, placeOf(id), bytes.toString('base64')),
  sha256: createHash('sha256').update(bytes).digest(),
})

/** Answers the file of a batch, once an event of its download is committed. */
export async function downloadFile(
  db: Database,
  envelope: Envelope,
  context: RequestContext,
  token: string,
): Promise<Answer> {
  const { id: account } = context.account
  const { batch, kept } = await db.transaction(account, (tx) => findAndRecord(tx, context, token), { isShared: true })
  if (!kept)
    throw conflict(
      'batch_without_file',
      batch.state === 'submitted' || batch.state === 'completed'
        ? `The gateway of batch ${batch.token} takes it without a file.`
        : `Batch ${batch.token} is ${stateWord(batch)}; it has no file before it is submitted.`,
      'BatchToken',
    )
  if (!kept.sealed)
    throw conflict(
      'batch_file_forgotten',
      `The file of batch ${batch.token} is kept no more; its SHA-256 is ${kept.sha256.toString('hex')}.`,
      'BatchToken',
    )
  db.remember({ account, operation: 'batch file', gatewayId: batch.gatewayId, reference: batch.token }).left()
  const bytes = Buffer.from(envelope.open(account, placeOf(batch.id), kept.sealed), 'base64')
  return {
    status: 200,
    contentType: kept.mediaType,
    headers: { 'content-disposition': `attachment; filename="${kept.name}"` },
    makeBody: async () => bytes,
  }
}

async function findAndRecord(tx: Transaction, context: RequestContext, token: string) {
  const batch = await foundBatch(tx, tx.account, token)
  const gateway = await findGateway(tx, tx.account, batch.gatewayId)
  if (gateway) refuseStopped(gateway)
  const kept = await findFile(tx, tx.account, batch.id)
  if (kept?.sealed) {
    await updateDownloaded(tx, batch.id, context.moment.today)
    await recordBatch(tx, context, 'batch.file_downloaded', batch.id)
  }
  return { batch, kept }
}
