import { X509Certificate } from 'node:crypto'
import { conflict } from '../kernel/fault.ts'
import { renewSealKey } from '../platform/seal/key.ts'
import { readOwnSeal } from '../platform/seal/own.ts'
import { findSealKey } from '../platform/seal/queries.ts'
import { type CommandContext, awaitStandbys, withDatabase } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { printJson, printLine } from './output.ts'

/** `perennial seal …`: the key that seals signed mandates. */

interface SealView {
  source: 'SEAL_P12' | 'made by itself'
  certificate: Buffer
}

/** Shows the certificate that seals: the operator's own, or the one that was made by the service. */
export async function sealStatusCommand(context: CommandContext): Promise<number> {
  const own = readOwnSeal(context.config)
  if (own) return show(context, { source: 'SEAL_P12', certificate: own.certificate })
  const found = await withDatabase(context, ({ unscoped }) => findSealKey(unscoped))
  return show(context, found && { source: 'made by itself', certificate: found.certificate })
}

/** Makes another key; a running service seals by it from its next seal on. */
export async function renewSealCommand(context: CommandContext): Promise<number> {
  if (context.config.sealP12 !== undefined)
    throw conflict('seal_is_own', 'The certificate of SEAL_P12 seals: put another file in its place, and start again.')
  const { certificate } = await withDatabase(context, async ({ unscoped }, opened) => {
    const key = await renewSealKey(unscoped, await opened.openEnvelope(), new Date())
    await awaitStandbys(context, opened)
    return key
  })
  return show(context, { source: 'made by itself', certificate })
}

function show({ isJson }: CommandContext, view: SealView | undefined): number {
  const read = view && new X509Certificate(view.certificate)
  const Until = read ? new Date(read.validTo).toISOString() : null
  const [Subject, Fingerprint] = [read?.subject.replaceAll('\n', ', ') ?? null, read?.fingerprint256 ?? null]
  if (isJson) printJson({ Source: view?.source ?? null, Subject, Until, Fingerprint })
  else if (!view) printLine('Nothing is sealed yet; the first signed mandate makes a key.')
  else printLine(`Seals: ${Subject} (${view.source}), until ${Until}, SHA-256 ${Fingerprint}`)
  return EXIT.done
}
