import type { IsoDate } from '../../kernel/calendar.ts'
import type { Account } from '../../kernel/context.ts'
import type { Problem } from '../../kernel/fault.ts'
import { dateWithOffset } from '../../kernel/zone.ts'
import { ClockFailureOut } from './wire.ts'

/** Why a move of a test clock stopped, as the run that moved it keeps it. */

const CUT_OFF = {
  code: 'clock_stopped',
  message: 'The process that moved the clock has ended. The same call goes on from the day reached.',
}

/** Returns the JSON text of why a move stopped; without a problem it was cut off. */
export const failureText = (
  { timeZone }: Pick<Account, 'timeZone'>,
  problem: Pick<Problem, 'code' | 'message'> | undefined,
  reached: IsoDate,
): string => {
  const { code, message } = problem ?? CUT_OFF
  return ClockFailureOut.write({ Code: code, Message: message, Reached: dateWithOffset(reached, timeZone) })
}
