import { getAccount } from '../features/accounts/queries.ts'
import { afterMethodOfCustomer } from '../features/collection/actions.ts'
import { reportLostCard } from '../features/gateway-reports/receive.ts'
import { makeAdapters } from '../features/gateways/adapters.ts'
import { findGateway } from '../features/gateways/queries.ts'
import { refuseTokensAt } from '../features/payment-methods/brought-cards.ts'
import { readCardFile } from '../features/payment-methods/card-file.ts'
import { importCards, type ImportedLine } from '../features/payment-methods/import-cards.ts'
import { missing } from '../kernel/fault.ts'
import type { AccountId, Id } from '../kernel/ids.ts'
import { plural } from '../kernel/text.ts'
import { callingOf } from './calling.ts'
import { chosenAccount } from './chosen-account.ts'
import { type CommandContext, withDatabase } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { printJson, printLine, remark } from './output.ts'

/** `perennial method import`: brings the cards of a file by their tokens. */

interface ImportWish {
  file: string
  account: AccountId | undefined
  gateway: Id
  isDryRun: boolean
}

/** Prints a line for each of the file as soon as it is known, and counts at the end. Answers 1 where a line could not be brought. */
export async function importMethodsCommand(context: CommandContext, wish: ImportWish): Promise<number> {
  // Read to its end before anything is stored: half of a file that is none would be brought otherwise.
  for await (const _ of readCardFile(wish.file)) void _
  const counts = { stored: 0, already: 0, error: 0 }
  await withDatabase(context, async (db, opened) => {
    const { id } = await chosenAccount(db, wish.account)
    const account = await getAccount(db.reader(id), id)
    const gateway = await findGateway(db.reader(id), id, wish.gateway)
    if (!gateway) throw missing('gateway_unknown', `Account ${id} has no gateway ${wish.gateway}.`)
    const envelope = await opened.openEnvelope()
    const calling = callingOf(context.config, db)
    const adapters = makeAdapters({ db, envelope, calling, onCardGone: reportLostCard })
    const deps = { db, envelope, adapters, onMethodChanged: afterMethodOfCustomer }
    refuseTokensAt(deps, gateway)
    const about = { account, gateway, isDryRun: wish.isDryRun, now: Date.now }
    for await (const line of importCards(deps, about, readCardFile(wish.file))) {
      counts[line.kind] += 1
      if (context.isJson) printJson(asJson(line))
      else printLine(inWords(line))
    }
  })
  const { stored, already, error } = counts
  const done = wish.isDryRun ? 'would be stored (dry run)' : 'stored'
  remark(`${stored} ${done}, ${already} there already, ${plural(error, 'error')}.`)
  return error > 0 ? EXIT.failed : EXIT.done
}

const asJson = (one: ImportedLine) => ({
  Line: one.line,
  Result: one.kind,
  paymentMethodID: one.kind === 'error' ? null : one.paymentMethodId,
  Code: one.kind === 'error' ? one.code : null,
  Message: one.kind === 'error' ? one.message : null,
})

const inWords = (one: ImportedLine): string =>
  one.kind === 'error'
    ? `${one.line}  error ${one.code}: ${one.message}`
    : `${one.line}  ${one.kind}${one.paymentMethodId === null ? '' : `  payment method ${one.paymentMethodId}`}`
