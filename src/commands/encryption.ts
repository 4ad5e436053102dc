import { checkEncryptionKeys } from '../platform/envelope/open.ts'
import type { KeyRing } from '../platform/envelope/key-ring.ts'
import { countKeyUse, type KeyUse, rotateKeys } from '../platform/envelope/rotation.ts'
import type { Queryable } from '../platform/database/database.ts'
import type { OpenDatabase } from '../platform/database/open.ts'
import { type CommandContext, awaitStandbys, withDatabase } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { printJson, printLine, printTable } from './output.ts'

/** `perennial encryption …`: the keys of ENCRYPTION_KEY and what they wrap. */

/** Shows how many data keys each key wraps. */
export async function encryptionStatusCommand(context: CommandContext): Promise<number> {
  const uses = await withKeys(context, countKeyUse)
  if (context.isJson) printJson((uses ?? []).map(useAsJson))
  else printUses(uses)
  return EXIT.done
}

/** Wraps all data keys by the first key, while the service runs. */
export async function rotateEncryptionCommand(context: CommandContext): Promise<number> {
  const done = await withKeys(context, async (db, ring, opened) => {
    const rotated = await rotateKeys(db, ring)
    await awaitStandbys(context, opened)
    return { rotated, uses: await countKeyUse(db, ring) }
  })
  if (context.isJson) {
    printJson({ Rotated: done?.rotated ?? 0, Keys: (done?.uses ?? []).map(useAsJson) })
    return EXIT.done
  }
  if (done) printLine(`Data keys that were wrapped anew: ${done.rotated}`)
  printUses(done?.uses)
  return EXIT.done
}

/** Runs work with the keys; undefined where there are none because nothing is sealed yet. */
const withKeys = <T>(
  context: CommandContext,
  work: (db: Queryable, ring: KeyRing, opened: OpenDatabase) => Promise<T>,
): Promise<T | undefined> =>
  withDatabase(context, async ({ unscoped }, opened) => {
    const ring = await checkEncryptionKeys(unscoped, context.config)
    return ring && work(unscoped, ring, opened)
  })

const useAsJson = ({ id, isFirst, dataKeys }: KeyUse) => ({ Key: id, isFirst, DataKeys: dataKeys })

function printUses(uses: readonly KeyUse[] | undefined): void {
  if (!uses) {
    printLine('Nothing is sealed yet, and there is no key.')
    return
  }
  printTable(
    ['Key', 'Wraps', 'Data keys'],
    uses.map(({ id, isFirst, dataKeys }) => [id, isFirst ? 'yes' : 'no, only opens', String(dataKeys)]),
  )
}
