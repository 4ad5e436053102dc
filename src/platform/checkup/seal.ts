import type { Config } from '../config.ts'
import { StartFailure } from '../postgres/start-failure.ts'
import { lastMomentOf } from '../seal/key.ts'
import { readOwnSeal } from '../seal/own.ts'
import { broken, doubtful, fine, type Finding } from './finding.ts'

/** The certificate that seals signed mandates: whether it can be read, and how long it lasts. */

const DAY_MS = 86_400_000
const WARN_DAYS = 60

/** Checks SEAL_P12 where it is set. */
export function checkOwnSeal(config: Pick<Config, 'sealP12' | 'sealP12Password'>, now: number): Finding[] {
  try {
    const own = readOwnSeal(config)
    const mend = 'put a file with a new certificate in its place, and start the service again'
    return own ? [checkEnd('SEAL_P12', own.certificate, now, mend)] : []
  } catch (error) {
    if (!(error instanceof StartFailure)) throw error
    const [text = '', mend] = error.message.replace(/\.$/, '').split(/: (?=set )/)
    return [broken('SEAL_P12', text, mend ?? 'put such a file in its place')]
  }
}

/** Checks how long a certificate in DER lasts. */
export function checkEnd(about: string, certificate: Buffer, now: number, mend: string): Finding {
  const end = lastMomentOf(certificate)
  const day = end.toISOString().slice(0, 10)
  if (end.getTime() <= now) return broken(about, `the certificate ended on ${day}: seals are not valid any more`, mend)
  const text = `the certificate lasts until ${day}`
  return end.getTime() - now < WARN_DAYS * DAY_MS ? doubtful(about, text, mend) : fine(about, text)
}
