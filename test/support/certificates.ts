import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'

/** An authority of the test's own, made by openssl, and what it vouches for. */
export interface Authority {
  /** Its certificate, as text and as a file. */
  ca: Buffer
  file: string
  /** Vouches for a server with names such as `IP:127.0.0.1,DNS:localhost`. */
  issue(names: string): { key: Buffer; cert: Buffer }
}

export function makeAuthority(): Authority {
  const folder = mkdtempSync(join(tmpdir(), 'perennial-authority-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const at = (name: string) => join(folder, name)
  const openssl = (words: string) => execFileSync('openssl', words.split(' '), { cwd: folder, stdio: 'pipe' })
  openssl('req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=Ours -keyout ca.key -out ca.pem')
  openssl('req -newkey rsa:2048 -nodes -subj /CN=server -keyout server.key -out server.csr')
  return {
    ca: readFileSync(at('ca.pem')),
    file: at('ca.pem'),
    issue: (names) => {
      writeFileSync(at('names'), `subjectAltName=${names}`)
      openssl(
        'x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.pem',
      )
      return { key: readFileSync(at('server.key')), cert: readFileSync(at('server.pem')) }
    },
  }
}
