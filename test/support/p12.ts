import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

/** Makes a file of PKCS #12 with a certificate of its own, as an operator does, and returns its path. */
export function makeP12(
  folder: string,
  { name = 'Engines Ltd', password = 'correct horse', days = 365, algorithm = ['rsa:2048'], isLegacy = false } = {},
): string {
  const [key, certificate, file] = ['key.pem', 'certificate.pem', 'seal.p12'].map((one) => join(folder, one)) as [
    string,
    string,
    string,
  ]
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe' })
  const request = ['req', '-x509', '-newkey', ...algorithm, '-nodes', '-subj', `/CN=${name}`, '-days', String(days)]
  openssl(...request, '-keyout', key, '-out', certificate)
  const exported = ['pkcs12', '-export', ...(isLegacy ? ['-legacy'] : []), '-inkey', key, '-in', certificate]
  openssl(...exported, '-passout', `pass:${password}`, '-out', file)
  return file
}
