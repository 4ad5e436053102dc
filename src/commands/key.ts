import { addKey, endKey, type KeyMoment, setStrictness } from '../features/api-keys/actions.ts'
import { type ApiKey, listKeys } from '../features/api-keys/queries.ts'
import type { Instant } from '../kernel/calendar.ts'
import type { AccountId, Id } from '../kernel/ids.ts'
import { instantOf } from '../kernel/zone.ts'
import { type Permission, momentOf } from '../kernel/context.ts'
import { chosenAccount } from './chosen-account.ts'
import { type CommandContext, withDatabase } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { printJson, printLine, printTable } from './output.ts'

/** `perennial key …`: the API keys of an account. */

export interface NewKeyOptions {
  account: AccountId | undefined
  name: string
  permission: Permission
  isStrict: boolean
  expiresAt: Instant | null
}

/** Says what strictness means, in one line. */
const meaningOf = (isStrict: boolean): string =>
  isStrict
    ? 'Strict: fields and parameters that the service does not know are refused (400), unless a request sends Prefer: handling=lenient.'
    : 'Tolerant: fields and parameters that the service does not know are ignored, and named in the header Perennial-Ignored.'

const keyMoment = (account: Parameters<typeof momentOf>[0]): KeyMoment => ({
  realNow: instantOf(Date.now()),
  accountNow: momentOf(account, Date.now).now,
  actor: 'command line',
})

export async function createKeyCommand(context: CommandContext, wish: NewKeyOptions): Promise<number> {
  const { account, id, secret } = await withDatabase(context, async (db) => {
    const chosen = await chosenAccount(db, wish.account)
    const key = await db.transaction(chosen.id, (tx) => addKey(tx, { ...wish, mode: chosen.mode }, keyMoment(chosen)))
    return { ...key, account: chosen.id }
  })
  if (context.isJson) {
    printJson({
      AccountID: account,
      ApiKeyID: id,
      ApiKey: secret,
      Name: wish.name,
      Permission: wish.permission,
      isStrict: wish.isStrict,
      Expires: wish.expiresAt,
    })
    return EXIT.done
  }
  printLine(`API key   ${secret}`)
  printLine(`          Key ${id} of account ${account} (${wish.permission}). Keep it: it is shown this once.`)
  if (wish.isStrict) printLine(meaningOf(true))
  return EXIT.done
}

export async function listKeysCommand(context: CommandContext, named: AccountId | undefined): Promise<number> {
  const keys = await withDatabase(context, async (db) => {
    const { id } = await chosenAccount(db, named)
    return listKeys(db.reader(id), id)
  })
  if (context.isJson) printJson(keys.map(keyAsJson))
  else
    printTable(
      ['Key', 'Permission', 'Names', 'State', 'Created', 'Last used', 'Name'],
      keys.map((key) => [
        String(key.id),
        key.permission,
        key.isStrict ? 'strict' : 'tolerant',
        stateOf(key),
        key.createdAt,
        key.lastUsedAt ?? 'never',
        key.name,
      ]),
    )
  return EXIT.done
}

/** Makes a key strict or tolerant. */
export async function setKeyCommand(
  context: CommandContext,
  wish: { account: AccountId | undefined; key: Id; isStrict: boolean },
): Promise<number> {
  const account = await withDatabase(context, async (db) => {
    const chosen = await chosenAccount(db, wish.account)
    await db.transaction(chosen.id, (tx) => setStrictness(tx, wish.key, wish.isStrict, keyMoment(chosen)))
    return chosen.id
  })
  if (context.isJson) printJson({ AccountID: account, ApiKeyID: wish.key, isStrict: wish.isStrict })
  else printLine(meaningOf(wish.isStrict))
  return EXIT.done
}

export async function revokeKeyCommand(
  context: CommandContext,
  wish: { account: AccountId | undefined; key: Id; isForced: boolean },
): Promise<number> {
  const { revokedAt, account } = await withDatabase(context, async (db) => {
    const chosen = await chosenAccount(db, wish.account)
    const ended = await db.transaction(chosen.id, (tx) => endKey(tx, wish.key, keyMoment(chosen), wish.isForced))
    return { ...ended, account: chosen.id }
  })
  if (context.isJson) printJson({ AccountID: account, ApiKeyID: wish.key, Revoked: revokedAt })
  else printLine(`Key ${wish.key} of account ${account} does not work any more.`)
  return EXIT.done
}

function stateOf({ revokedAt, expiresAt }: ApiKey): string {
  if (revokedAt) return 'revoked'
  if (!expiresAt) return 'works'
  return Date.parse(expiresAt) <= Date.now() ? 'expired' : `works until ${expiresAt}`
}

const keyAsJson = ({ id, name, permission, isStrict, createdAt, expiresAt, revokedAt, lastUsedAt }: ApiKey) => ({
  ApiKeyID: id,
  Name: name,
  Permission: permission,
  isStrict,
  CreatedDate: createdAt,
  Expires: expiresAt,
  LastUsed: lastUsedAt,
  Revoked: revokedAt,
})
