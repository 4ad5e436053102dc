import type { Problems } from '../../kernel/fault.ts'
import type { ContactInput } from './queries.ts'
import { isStrongEnough } from './password.ts'
import type { ContactBody } from './wire.ts'

/**
 * Returns the password that a body sets: on add the given one; on edit the given one unless changePassword is false. Rule: on edit a
 * password counts when changePassword is set; a Password sent without a word about it is meant as well.
 */
export const givenPassword = (body: Partial<ContactBody>): string | null =>
  body.changePassword === false ? null : (body.Password ?? null)

/**
 * Returns whether a password has to be made. Interface: for an active contact without one, and on edit when a change is asked for with a
 * blank one.
 */
export const needsPassword = (
  contact: Pick<ContactInput, 'isActive'>,
  asked: { given: string | null; hasPassword: boolean; isChange: boolean },
): boolean => contact.isActive && asked.given === null && (asked.isChange || !asked.hasPassword)

/** Notes what is wrong with a given password, which no message repeats. */
export function checkPassword(body: Partial<ContactBody>, problems: Problems): void {
  const given = givenPassword(body)
  if (given !== null && !isStrongEnough(given))
    problems.add(
      'password_weak',
      'Password',
      'Password must have at least 6 characters, at least one letter and one number among them.',
    )
}
