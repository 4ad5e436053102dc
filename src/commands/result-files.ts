import { listAllAccounts } from '../features/accounts/queries.ts'
import { type FileToSendAgain, listFilesToSendAgain } from '../features/result-files/again-queries.ts'
import type { AccountId } from '../kernel/ids.ts'
import { chosenAccount } from './chosen-account.ts'
import { type CommandContext, withDatabase } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { printJson, printLine, printTable } from './output.ts'

/** `perennial resultfiles …`: bank files whose bytes are to be sent once more. */

/** Lists the files that are to be sent once more, of one account or of all, with the day on which each was read and its gateway. */
export async function filesToSendAgainCommand(
  context: CommandContext,
  account: AccountId | undefined,
): Promise<number> {
  const found = await withDatabase(context, async (db) => {
    const accounts = account === undefined ? await listAllAccounts(db.unscoped) : [await chosenAccount(db, account)]
    const files: (FileToSendAgain & { account: AccountId })[] = []
    for (const { id } of accounts)
      for (const file of await listFilesToSendAgain(db.reader(id), id)) files.push({ ...file, account: id })
    return files
  })
  if (context.isJson)
    printJson(
      found.map((file) => ({
        AccountID: file.account,
        resultFileID: file.id,
        Sha256: file.sha256.toString('hex'),
        Format: file.format,
        Date: file.createdAt,
        gatewayID: file.gatewayId,
        GatewayName: file.gatewayName,
        AlreadyKnown: file.alreadyKnown,
      })),
    )
  else if (found.length === 0) printLine('No file is to be sent again.')
  else
    printTable(
      ['Account', 'resultFileID', 'Read on', 'gatewayID', 'Gateway', 'Format', 'Already known', 'SHA-256'],
      found.map((file) => [
        String(file.account),
        String(file.id),
        file.createdAt.slice(0, 10),
        String(file.gatewayId),
        file.gatewayName,
        file.format,
        String(file.alreadyKnown),
        file.sha256.toString('hex').slice(0, 16),
      ]),
    )
  return EXIT.done
}
