import { randomUUID } from 'node:crypto'
import type { RequestContext } from '../../kernel/context.ts'
import { conflict, Fault, invalid } from '../../kernel/fault.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import type { Id } from '../../kernel/ids.ts'
import { askGateway, type GatewayDeps } from './call.ts'
import type { AccountAnswer } from './contract.ts'
import { gatewayFactsOf, type GatewayType } from './facts.ts'
import { findNewestToken, type Gateway, keepsAnything, noteKeyAccepted, noteKeyUnanswered } from './queries.ts'
import { openSettings, readSettings, type SentSettings } from './settings.ts'

/**
 * Secret keys are asked about before they are written (§35, §36), outside of any transaction. Under the key of another account there, no card and no charge of
 * ours is known: cards would count as removed, and what was charged as not charged.
 */

const PATIENCE_MS = 10_000

/** Facts of a secret key that is to be written. */
export interface SecretKeyAnswer {
  /** The account there that it opens; null: not known. */
  account: string | null
  /** Whether that is the account of the key before. */
  isSame: 'yes' | 'no' | 'unanswered' | 'unprovable'
  /** Of the gateway as it was when its key was asked about. */
  version: number | null
  /** The gateway accepts the key; false: it gave no answer. */
  isAccepted: boolean
}

/** A key about which nobody was asked. */
const NOT_ASKED: SecretKeyAnswer = { account: null, isSame: 'unanswered', version: null, isAccepted: false }

type Asked = Pick<Gateway, 'id' | 'token' | 'type' | 'settings'>

/** Asks a gateway about the secret key of Settings to be. Throws (400) where it is refused. Undefined: the gateway has no key, or one that was accepted stays. */
export async function askAboutKey(
  deps: GatewayDeps,
  db: Queryable,
  context: RequestContext,
  about: { type: GatewayType; present?: Gateway; merged: SentSettings },
): Promise<SecretKeyAnswer | undefined> {
  const { type, present, merged } = about
  const facts = gatewayFactsOf(type)
  const { secretKey } = facts
  if (secretKey === undefined) return undefined
  const before = present ? openSettings(deps.envelope, context.account.id, present) : {}
  const { keyState = null, version = null } = present ?? {}
  const gateway: Asked = present ?? { id: 0n, token: randomUUID(), type, settings: null }
  const ask = <Answer>(settings: SentSettings, asked: Parameters<typeof askGateway<Answer>>[3]) =>
    askGateway(deps, context, gateway, asked, { settings: readSettings(facts, settings), patienceMs: PATIENCE_MS })
  const check = (settings: SentSettings) => ask<AccountAnswer>(settings, (adapter, call) => adapter.check(call))
  const answer = await check(merged)
  if (answer.kind === 'refused') throw invalid('key_refused', answer.reason, `Settings.${secretKey}`)
  // A key that was accepted stays so where no answer comes.
  if (merged[secretKey] === before[secretKey] && keyState === null) return undefined
  if (answer.kind !== 'accepted') return { ...NOT_ASKED, version }
  const account = answer.account ?? null
  const accepted = { account, version, isAccepted: true }
  if (!present || before[secretKey] === undefined) return { ...accepted, isSame: 'unprovable' }
  const known = present.accountThere ?? accountOf(await check(before))
  if (account !== null && known !== null) return { ...accepted, isSame: account === known ? 'yes' : 'no' }
  const token = await findNewestToken(db, context.account.id, present.id)
  if (token === undefined) return { ...accepted, isSame: 'unprovable' }
  const card = await ask(merged, async (adapter, call) => (await adapter.askStored?.(call, token)) ?? NO_ANSWER)
  const isSame = card.kind === 'stored' || card.kind === 'account' ? 'yes' : card.kind === 'none' ? 'no' : 'unanswered'
  return { ...accepted, account: account ?? (isSame === 'yes' ? known : null), isSame }
}

const NO_ANSWER = { kind: 'unknown' } as const

const accountOf = (answer: AccountAnswer): string | null =>
  answer.kind === 'accepted' ? (answer.account ?? null) : null

/**
 * Writes whether the secret key of a gateway that was just written is accepted: by the answer about that very key, else it is asked again. Returns true where one
 * that was not is accepted now.
 */
export async function noteAnswer(
  tx: Transaction,
  id: Id,
  { isNewKey, version, asked }: { isNewKey: boolean; version: number | null; asked: SecretKeyAnswer | undefined },
): Promise<boolean> {
  const answer = asked?.version === version ? asked : undefined
  if (answer?.isAccepted) return (await noteKeyAccepted(tx, id, answer.account)).length > 0
  if (isNewKey) await noteKeyUnanswered(tx, id)
  return false
}

/**
 * Returns the account there of the secret key that is written into a locked gateway. Throws where anything is stored there and the key is of another
 * account (409), or nobody answered whether it is (503).
 */
export async function accountOfKey(
  tx: Transaction,
  present: Gateway,
  settings: { before: SentSettings; after: SentSettings },
  asked: SecretKeyAnswer | undefined,
): Promise<string | null> {
  const { secretKey } = gatewayFactsOf(present.type)
  if (secretKey === undefined || settings.before[secretKey] === settings.after[secretKey]) return present.accountThere
  const { account, isSame } = asked?.version === present.version ? asked : NOT_ASKED
  if (isSame === 'yes' || !(await keepsAnything(tx, tx.account, present.id))) return account
  const field = `Settings.${secretKey}`
  if (isSame === 'unanswered')
    throw new Fault(
      'unavailable',
      [
        {
          code: 'gateway_no_answer',
          message: `The gateway did not answer whose ${secretKey} it is; try again.`,
          field,
        },
      ],
      5,
    )
  throw conflict(
    'setting_fixed',
    isSame === 'no'
      ? `This ${secretKey} is of another account there than what the gateway ${present.id} has stored; add another gateway for it.`
      : `The gateway does not say whose ${secretKey} this is, and something is stored there; let the key read its account, or add another gateway.`,
    field,
  )
}
