import { X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { makeP12 } from '../../../test/support/p12.ts'
import { checkOwnSeal } from '../checkup/seal.ts'
import { readOwnSeal } from './own.ts'

const folder = mkdtempSync(join(tmpdir(), 'perennial-seal-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const PASSWORD = 'correct horse'

test.each([
  ['as OpenSSL makes it today', {}],
  ['as it was made for long', { isLegacy: true }],
])('a file %s gives the key and its certificate', (_how, wish) => {
  const own = readOwnSeal({ sealP12: makeP12(folder, wish), sealP12Password: PASSWORD })
  expect(new X509Certificate(own?.certificate ?? '').subject).toBe('CN=Engines Ltd')
  expect(own?.chain).toEqual([])
  expect(readOwnSeal({ sealP12: undefined, sealP12Password: PASSWORD })).toBeUndefined()
})

test('one that cannot be used is refused in a sentence without a secret', () => {
  const refusalOf = (sealP12: string, sealP12Password: string | undefined) => {
    try {
      readOwnSeal({ sealP12, sealP12Password })
    } catch (error) {
      return (error as Error).message
    }
    return 'none'
  }
  const file = makeP12(folder)
  expect(refusalOf(join(folder, 'none.p12'), PASSWORD)).toMatch(/^The file of SEAL_P12 cannot be read/)
  for (const wrong of ['battery staple', undefined])
    expect(refusalOf(file, wrong)).toBe(
      'SEAL_P12_PASSWORD does not open the file of SEAL_P12: set it to the password of that file.',
    )
  writeFileSync(join(folder, 'text.p12'), 'no certificate')
  expect(refusalOf(join(folder, 'text.p12'), PASSWORD)).toMatch(/^The file of SEAL_P12 is no PKCS #12 file/)
  const elliptic = makeP12(folder, { algorithm: ['ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'] })
  expect(refusalOf(elliptic, PASSWORD)).toBe('The file of SEAL_P12 must hold an RSA key and its certificate.')
})

test('doctor finds how long the certificate lasts, and one that cannot be opened', () => {
  const DAY_MS = 86_400_000
  const config = { sealP12: makeP12(folder, { days: 100 }), sealP12Password: PASSWORD }
  const after = (days: number) => checkOwnSeal(config, Date.now() + days * DAY_MS).map(({ state }) => state)
  expect([after(0), after(50), after(101)]).toEqual([['ok'], ['warn'], ['fail']])
  expect(checkOwnSeal({ ...config, sealP12Password: 'battery staple' }, Date.now())).toEqual([
    {
      about: 'SEAL_P12',
      state: 'fail',
      text: 'SEAL_P12_PASSWORD does not open the file of SEAL_P12',
      mend: 'set it to the password of that file',
    },
  ])
  expect(checkOwnSeal({ sealP12: undefined, sealP12Password: undefined }, Date.now())).toEqual([])
})
