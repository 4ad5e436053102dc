import { isUnbroken, mandateHash } from './evidence.ts'
import { type Check, eachRecord, type Report } from '../../platform/checks/difference.ts'
import { type CheckedMandate, listMandatePage } from './checks-queries.ts'

/**
 * Checks the evidence of mandates: each step holds the hash of the one before, the first is that it was made, a signed one ends with its signature and
 * nothing else has one, and the text of a signed one is what was signed.
 */
export const emandates: Check = {
  name: 'evidence of mandates',
  run: eachRecord(listMandatePage, checkMandate),
}

function checkMandate(mandate: CheckedMandate, report: Report): void {
  const { id, customerId, isSigned, steps } = mandate
  const text = (what: string, stored: string, expected: string) =>
    report({ customerId, recordType: 'emandate', recordId: id, what, stored, expected })
  const last = steps.at(-1)
  if (!isUnbroken(steps)) text('its evidence', 'changed', 'steps that each hold the hash of the one before')
  if (steps[0]?.kind !== 'created') text('its first step', steps[0]?.kind ?? 'none', 'created')
  const signatures = steps.filter(({ kind }) => kind === 'signed').length
  if (signatures !== (isSigned ? 1 : 0)) text('its signatures', String(signatures), isSigned ? '1' : '0')
  if (!isSigned || signatures === 0) return
  if (last?.kind !== 'signed') text('its last step', last?.kind ?? 'none', 'signed')
  else if (last.details['signedRecord'] !== mandateHash(mandate)) text('its text', 'changed', 'what was signed')
}
