/** Secrets that can be guessed by trying. */

const PATTERN_MAX = 8
const API_KEY_LENGTH_MIN = 32
const API_KEY_KINDS_MIN = 8

/** Returns whether an encryption key repeats a pattern of up to 8 bytes: it was typed, not drawn. */
export const repeatsPattern = (key: Buffer): boolean =>
  Array.from({ length: PATTERN_MAX }, (_, index) => index + 1).some((length) =>
    key.subarray(length).every((byte, index) => byte === key[index]),
  )

/** Which encryption keys are weak, as part of a sentence. */
export const REPEATS = 'repeats a pattern of at most 8 bytes'

/** Returns whether a text that was chosen as an API key is too short, or of too few kinds of characters. */
export const isWeakApiKey = (key: string): boolean =>
  key.length < API_KEY_LENGTH_MIN || new Set(key).size < API_KEY_KINDS_MIN

/** Which API keys are weak, as part of a sentence. */
export const CAN_BE_GUESSED = `can be guessed: it is shorter than ${API_KEY_LENGTH_MIN} characters, or has fewer than ${API_KEY_KINDS_MIN} different ones`

/** The way out of a weak API key that is in use. */
export const REVOKE_GIVEN_KEY =
  'make another by "perennial key create", revoke this one by "perennial key revoke", and unset BOOTSTRAP_API_KEY'
