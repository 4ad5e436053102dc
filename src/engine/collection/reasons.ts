import { DECLINE_CLASSES, type DeclineClass } from '../../kernel/rails.ts'

/** Reasons of failures as banks and people give them, in the words of the rules of collection. */

/** The codes of the schemes: four characters are of SEPA, R and two digits of ACH, two digits of South Africa. None is of two schemes. */
const CODES: Partial<Record<DeclineClass, string>> = {
  insufficient_funds: 'AM04 R01 R09 02 22',
  declined: 'R23 R33',
  account_closed: 'AC04 R02 R12 12 16',
  invalid_account: 'AC01 RC01 R03 R04 R13 R20 R28 R30 R32 R34 26 03',
  blocked: 'AC06 AG01 SL01 R16 05 06 08 10 56',
  no_mandate: 'MD01 MD02 R05 R07 R10 R11 R29 R31 R51 30 32 34',
  stopped: 'MS02 R08 R38 R52 R53 04 36',
  refunded_late: 'MD06',
  deceased: 'MD07 R14 R15 18',
  duplicate: 'AM05 R24 R37 R39 R67',
  format:
    'FF01 FF05 AG02 RR01 RR02 RR03 RR04 BE05 R17 R18 R19 R21 R22 R25 R26 R27 R35 R36 R40 R41 R42 R43 R44 R45 R46 R47 R50',
  unknown: 'MS03',
}

const CLASS_OF_CODE: ReadonlyMap<string, DeclineClass> = new Map(
  DECLINE_CLASSES.flatMap((declineClass) =>
    (CODES[declineClass] ?? '')
      .split(' ')
      .filter((code) => code !== '')
      .map((code) => [code, declineClass] as const),
  ),
)

/** Codes by which a payer claims back what had been paid: those from 30 on of South Africa. ACH's stay what they are: nobody may debit again. */
const LATE = /^[3-9]\d$/
/** The form of a code of any scheme, also of one that this version does not know. */
const CODE = /^([A-Z]{2}\d{2}|R\d{2}|\d{2})$/

/** A failure as the rules and people read it. */
export interface FailureReason {
  class: DeclineClass
  code: string | null
  message: string
}

/**
 * Returns the class of a scheme's code; unknown for one that is not in the tables. Rule: what comes back after it was paid may be another
 * class than what was refused.
 */
export const classOfCode = (code: string, isAfterSuccess = false): DeclineClass =>
  isAfterSuccess && LATE.test(code) ? 'refunded_late' : (CLASS_OF_CODE.get(code) ?? 'unknown')

/** Returns whether a reason is one of a failure: a class, or the code of a scheme. Free text, and "00", by which banks approve, are none. */
export function isFailure(given: string | null | undefined): boolean {
  const { class: declineClass, code } = readReason(given)
  return given != null && given.trim() !== '' && code !== '00' && (code !== null || declineClass !== 'unknown')
}

/**
 * Reads a reason as a person gives it. Rule: it is a class in any case, a code of a scheme, or free text, whose class is unknown; none is
 * declined, refused without a reason.
 */
export function readReason(given: string | null | undefined, isAfterSuccess = false): FailureReason {
  const text = given?.trim() ?? ''
  if (text === '') return { class: 'declined', code: null, message: 'It was declined.' }
  const declineClass = DECLINE_CLASSES.find((one) => one === text.toLowerCase())
  if (declineClass) return { class: declineClass, code: null, message: `It failed: ${declineClass}.` }
  const code = text.toUpperCase()
  if (CODE.test(code))
    return { class: classOfCode(code, isAfterSuccess), code, message: `It failed with the code ${code}.` }
  return { class: 'unknown', code: null, message: text }
}
