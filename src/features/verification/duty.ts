import type { AccountId } from '../../kernel/ids.ts'
import type { Duty } from '../../platform/duty.ts'
import type { SealedLedger } from '../ledger/seal.ts'
import type { Difference } from '../../platform/checks/difference.ts'
import { verifyWaiting } from './nightly.ts'
import type { Verification, VerifyAccount } from './verify.ts'

/**
 * Verifies the books of every account once a night. The log names what differs and not the values: those are for whoever may see the
 * books, by "perennial verify".
 */
export const verificationDuty = (verify: VerifyAccount): Duty => ({
  name: 'verification',
  everyMs: 600_000,
  run: ({ db, log, realClock }, goOn) =>
    verifyWaiting(
      {
        db,
        verify,
        realClock,
        onDifference: ({ account, check, recordType, recordId, what }: Difference) =>
          log.warn({ account: String(account), check, recordType, record: String(recordId), what }, 'the books differ'),
        onVerified: ({ account, invoices, differences }: Verification) =>
          log.info({ account: String(account), invoices, differences }, 'verified'),
        onSealed: (account: AccountId, { heads, batches, seal }: SealedLedger) =>
          log.info(
            { account: String(account), chains: Number(heads), batches: Number(batches), seal: seal.toString('hex') },
            'the ledger is sealed',
          ),
        onFailed: (account: AccountId, error: unknown) =>
          log.error({ err: error, account: String(account) }, 'an account could not be verified'),
      },
      goOn,
    ),
})
