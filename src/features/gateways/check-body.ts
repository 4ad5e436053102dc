import type { RequestContext } from '../../kernel/context.ts'
import type { Problems } from '../../kernel/fault.ts'
import { sentenceList } from '../../kernel/text.ts'
import type { GatewayFacts } from './facts.ts'
import { checkGatewaySettings, mergedSettings, type SentSettings } from './settings.ts'
import type { GatewayBody } from './wire.ts'

/** Checks of the body of a gateway, by the facts of its type. */

/** Notes what is wrong with a body for a gateway of a type. */
export function checkGateway(
  facts: GatewayFacts | undefined,
  body: Partial<GatewayBody>,
  present: SentSettings,
  { timeZone, mode }: Pick<RequestContext['account'], 'timeZone' | 'mode'>,
  problems: Problems,
): void {
  if (!facts) return
  const strange = (body.DebitMethods ?? []).filter((kind) => !facts.takes.includes(kind))
  if (strange.length > 0)
    problems.add('debit_method_unfit', 'DebitMethods', `A gateway of type ${facts.type} does not take ${strange[0]}.`)
  const { currencies, currenciesNot = [] } = facts
  const other = body.CurrencyCodes?.find(
    (code) => currenciesNot.includes(code) || (typeof currencies !== 'string' && !currencies.includes(code)),
  )
  if (other !== undefined)
    problems.add('currency_unfit', 'CurrencyCodes', `A gateway of type ${facts.type} does not take ${other}.`)
  // What an edit leaves alone was checked when it was written.
  if (!body.Settings) return
  const settings = mergedSettings(facts, present, body.Settings)
  checkGatewaySettings(facts, settings, timeZone, problems)
  checkKeys(facts, settings, mode, problems)
}

/** Notes what is wrong with the currency of a gateway whose type debits accounts in one of some. */
export function checkScheme(
  { type, schemes }: GatewayFacts,
  { CurrencyCodes: codes, DebitMethods: methods }: Partial<GatewayBody>,
  isNew: boolean,
  problems: Problems,
): void {
  if (!schemes || (codes === undefined && !isNew)) return
  const known = Object.keys(schemes)
  const [code = ''] = codes ?? []
  if (codes?.length !== 1 || !known.includes(code))
    return problems.add(
      'currency_unfit',
      'CurrencyCodes',
      `A gateway of type ${type} has one currency: ${sentenceList(known, 'or')}. Add another gateway for another one.`,
    )
  const other = methods?.find((method) => method !== schemes[code]?.method)
  if (other !== undefined)
    problems.add('debit_method_unfit', 'DebitMethods', `A gateway of type ${type} does not take ${other} in ${code}.`)
}

/** Notes keys that are missing, and those of the other mode, which are never repeated. */
function checkKeys(
  { keys = [], needed }: GatewayFacts,
  settings: SentSettings,
  mode: RequestContext['account']['mode'],
  problems: Problems,
): void {
  if (keys.length === 0) return
  for (const name of needed.filter((name) => settings[name] === undefined))
    problems.add('required', `Settings.${name}`, `Settings.${name} is required.`)
  const other = mode === 'test' ? '_live_' : '_test_'
  for (const name of keys) {
    const key = settings[name]
    if (typeof key === 'string' && key.slice(2).startsWith(other))
      problems.add(
        'key_mode',
        `Settings.${name}`,
        `Settings.${name} must be a key of the ${mode} mode, as its account is.`,
      )
  }
}
