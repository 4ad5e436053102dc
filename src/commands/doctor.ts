import { checkDatabase, readMark } from '../platform/checkup/database.ts'
import { checkCopies } from '../platform/checkup/copies.ts'
import { checkLanguages } from '../platform/checkup/countries.ts'
import { doubtful, type Finding } from '../platform/checkup/finding.ts'
import { checkFonts } from '../platform/checkup/fonts.ts'
import { checkFolder } from '../platform/checkup/folder.ts'
import { checkMachine } from '../platform/checkup/machine.ts'
import { checkAddress, checkMailServer } from '../platform/checkup/network.ts'
import { checkSettings } from '../platform/checkup/settings.ts'
import { checkOwnSeal } from '../platform/checkup/seal.ts'
import { readUnitEnvironment, withoutNodesReading } from '../platform/unit-environment.ts'
import type { CommandContext } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { printJson, printLine } from './output.ts'

/** `perennial doctor`: checks every setting and the surroundings, and prints how to mend each. It starts and changes nothing. */

type Env = Readonly<Record<string, string | undefined>>

/**
 * Answers 1 when something keeps the service from working. Settings that cannot be read are findings here, so the environment is given; what
 * `envFile` holds, the one of a unit, comes before it.
 */
export async function doctorCommand(
  {
    root,
    isJson,
    workers,
    envFile,
  }: Pick<CommandContext, 'root' | 'isJson'> & { workers: number; envFile?: string | undefined },
  env: Env,
): Promise<number> {
  const unit = envFile === undefined ? undefined : readUnitEnvironment(envFile)
  const around = envFile === undefined ? env : withoutNodesReading(env, envFile)
  const findings = [
    ...passedOver(envFile ?? '', unit?.passedOver ?? []),
    ...(await examine(root, { ...around, ...unit?.values }, workers)),
  ]
  if (isJson)
    printJson(findings.map(({ about, state, text, mend }) => ({ About: about, State: state, Says: text, Mend: mend })))
  else for (const finding of findings) printLine(lineOf(finding))
  return findings.some(({ state }) => state === 'fail') ? EXIT.failed : EXIT.done
}

const passedOver = (file: string, lines: readonly number[]): Finding[] =>
  lines.map((line) =>
    doubtful(`${file}:${line}`, 'is no NAME=value, and systemd passes over it', 'write it so, or begin it with #'),
  )

async function examine(root: string, env: Env, workers: number): Promise<Finding[]> {
  const { findings, config } = checkSettings(env)
  return [
    ...findings,
    ...checkMachine(root, Date.now()),
    checkLanguages(),
    ...checkFolder(config),
    ...(await checkCopies(config, Date.now())),
    ...checkOwnSeal(config, Date.now()),
    ...checkFonts(config),
    ...(await checkDatabase(config, root, workers)),
    await checkAddress(config, await readMark(config)),
    ...(config.smtpUrl === undefined ? [] : [await checkMailServer(config.smtpUrl)]),
  ]
}

const lineOf = ({ about, state, text, mend }: Finding): string =>
  `${state.padEnd(4)}  ${about}: ${text}${mend === null ? '' : ` – ${mend}`}`
