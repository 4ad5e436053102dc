import type { AccountId, Id } from '../../kernel/ids.ts'
import { isBlank as isBlankText } from '../../kernel/text.ts'
import { assert } from '../../kernel/assert.ts'
import { Problems } from '../../kernel/fault.ts'
import { sentenceList } from '../../kernel/text.ts'
import type { Envelope } from '../../platform/envelope/envelope.ts'
import { type Json, parseJson } from '../../platform/wire/json.ts'
import { objectOf, REFUSED } from '../../platform/wire/read.ts'
import type { GatewayFacts } from './facts.ts'
import type { Gateway } from './queries.ts'

/** Settings of gateways: merged by name, read as their type declares them, and never repeated in a message. */

export type SentSettings = { [name: string]: Json }

/**
 * Returns the Settings after those sent: each name replaces its present value, null or a blank text takes it away where null is no value of its
 * own.
 */
export function mergedSettings(
  { nullable = [], settings }: Pick<GatewayFacts, 'nullable' | 'settings'>,
  present: SentSettings,
  sent: SentSettings,
): SentSettings {
  const merged = Object.entries({ ...present, ...sent }).filter(
    ([name, value]) =>
      nullable.includes(name) || (value !== null && !(settings[name]?.field.isBlankNull && isBlank(value))),
  )
  return Object.fromEntries(merged)
}

const isBlank = (value: Json): boolean => typeof value === 'string' && isBlankText(value)

/** Notes what is wrong with Settings, each under `Settings.<name>`; a name that the type does not have too. */
export function checkGatewaySettings(
  { settings, type, problemOf }: GatewayFacts,
  sent: SentSettings,
  timeZone: string,
  problems: Problems,
): void {
  const known = Object.keys(settings)
  for (const name of Object.keys(sent).filter((name) => !known.includes(name)))
    problems.add(
      'setting_unknown',
      `Settings.${name.slice(0, 100)}`,
      `A gateway of type ${type} has the Settings ${sentenceList(known)}, and none of this name.`,
    )
  const read = objectOf(settings).read(sent, 'Settings', { problems, timeZone, isStrict: false, isSecret: true })
  const problem = read === REFUSED ? undefined : problemOf?.(read)
  if (problem) problems.add('invalid', `Settings.${problem.name}`, `Settings.${problem.name} ${problem.message}.`)
}

/** Reads Settings that were accepted before, for a call. */
export function readSettings(
  { settings }: Pick<GatewayFacts, 'settings'>,
  kept: SentSettings,
): Readonly<Record<string, unknown>> {
  const problems = new Problems()
  const context = { problems, timeZone: 'UTC', isStrict: false, isSecret: true }
  const read = objectOf(settings).read(kept, 'Settings', context)
  assert(read !== REFUSED && problems.found.length === 0, 'kept Settings can be read')
  return read
}

export const settingsPlace = (row: Id) => ({ table: 'gateways', column: 'settings', row })

/** Opens the Settings of a gateway as they were sent. */
export function openSettings(
  envelope: Envelope,
  account: AccountId,
  { id, settings }: Pick<Gateway, 'id' | 'settings'>,
): SentSettings {
  return settings === null ? {} : (parseJson(envelope.open(account, settingsPlace(id), settings)) as SentSettings)
}
