import { checkDatabase, readMark } from '../platform/checkup/database.ts'
import { checkCopies } from '../platform/checkup/copies.ts'
import { checkLanguages } from '../platform/checkup/countries.ts'
import type { Finding } from '../platform/checkup/finding.ts'
import { checkFolder } from '../platform/checkup/folder.ts'
import { checkMachine } from '../platform/checkup/machine.ts'
import { checkAddress, checkMailServer } from '../platform/checkup/network.ts'
import { checkSettings } from '../platform/checkup/settings.ts'
import { checkOwnSeal } from '../platform/checkup/seal.ts'
import type { CommandContext } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { printJson, printLine } from './output.ts'

/** `perennial doctor`: checks every setting and the surroundings, and prints how to mend each. It starts and changes nothing. */

/** Answers 1 when something keeps the service from working. Settings that cannot be read are findings here, so the environment is given. */
export async function doctorCommand(
  { root, isJson, workers }: Pick<CommandContext, 'root' | 'isJson'> & { workers: number },
  env: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  const findings = await examine(root, env, workers)
  if (isJson)
    printJson(findings.map(({ about, state, text, mend }) => ({ About: about, State: state, Says: text, Mend: mend })))
  else for (const finding of findings) printLine(lineOf(finding))
  return findings.some(({ state }) => state === 'fail') ? EXIT.failed : EXIT.done
}

async function examine(
  root: string,
  env: Readonly<Record<string, string | undefined>>,
  workers: number,
): Promise<Finding[]> {
  const { findings, config } = checkSettings(env)
  return [
    ...findings,
    ...checkMachine(root, Date.now()),
    checkLanguages(),
    ...checkFolder(config),
    ...(await checkCopies(config, Date.now())),
    ...checkOwnSeal(config, Date.now()),
    ...(await checkDatabase(config, root, workers)),
    await checkAddress(config, await readMark(config)),
    ...(config.smtpUrl === undefined ? [] : [await checkMailServer(config.smtpUrl)]),
  ]
}

const lineOf = ({ about, state, text, mend }: Finding): string =>
  `${state.padEnd(4)}  ${about}: ${text}${mend === null ? '' : ` – ${mend}`}`
