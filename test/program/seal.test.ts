import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeP12 } from '../support/p12.ts'
import { serveForeignShop } from './foreign-shop.ts'
import { runProgram, startedFolder, testFolder } from './program.ts'

/** The key that seals signed mandates, as an operator has it. */

test('the key is renewed while nothing else runs, and status shows how long its certificate lasts', async () => {
  const DATA_DIR = startedFolder()
  const seal = async (what: string) => JSON.parse((await runProgram(['seal', what, '--json'], { DATA_DIR })).out)
  expect(await seal('status')).toEqual({ Source: null, Subject: null, Until: null, Fingerprint: null })
  const first = await seal('renew')
  expect(first).toMatchObject({ Source: 'made by itself', Subject: 'CN=Perennial document seal' })
  const second = await seal('renew')
  expect(second.Fingerprint).not.toBe(first.Fingerprint)
  expect(await seal('status')).toEqual(second)
})

test('a certificate of the operator is shown, not renewed, and a wrong password ends the start with a sentence that does not hold it', async () => {
  const DATA_DIR = startedFolder()
  const SEAL_P12 = makeP12(testFolder(), { password: 'correct horse' })
  const env = { DATA_DIR, SEAL_P12, SEAL_P12_PASSWORD: 'correct horse' }
  const status = await runProgram(['seal', 'status', '--json'], env)
  expect(JSON.parse(status.out)).toMatchObject({ Source: 'SEAL_P12', Subject: 'CN=Engines Ltd' })
  const renewed = await runProgram(['seal', 'renew'], env)
  expect([renewed.code, renewed.err]).toEqual([1, expect.stringContaining('put another file in its place')])
  const refused = await runProgram(['serve'], { ...env, SEAL_P12_PASSWORD: 'battery staple' })
  expect([refused.code, refused.out]).toEqual([1, ''])
  expect(refused.err).toContain('SEAL_P12_PASSWORD does not open the file of SEAL_P12')
  expect(refused.err).not.toContain('battery')
  const doctor = await runProgram(['doctor', '--json'], { ...env, SEAL_P12_PASSWORD: 'battery staple' })
  expect(doctor.out).not.toContain('battery')
  expect(JSON.parse(doctor.out)).toContainEqual(expect.objectContaining({ About: 'SEAL_P12', State: 'fail' }))
})

test('doctor shows until when the certificate that was made lasts, warns 60 days before, fails after its end, and renewing mends both', async () => {
  const { env, rows } = await serveForeignShop()
  const doctor = async () => {
    const { code, out } = await runProgram(['doctor', '--json'], env)
    return { code, found: JSON.parse(out).filter(({ About }: { About: string }) => About === 'seal') }
  }
  // No mandate was signed, and no key made.
  expect((await doctor()).found).toEqual([])
  const renew = async () => JSON.parse((await runProgram(['seal', 'renew', '--json'], env)).out)
  const { Until } = await renew()
  const well = [{ State: 'ok', Says: `the certificate lasts until ${Until.slice(0, 10)}`, Mend: null }]
  expect((await doctor()).found).toMatchObject(well)
  const mend = 'run "perennial seal renew"'
  const aged = async (days: number) => {
    const folder = testFolder()
    makeP12(folder)
    const [certificate, key] = [join(folder, 'certificate.pem'), join(folder, 'key.pem')]
    const args = ['x509', '-in', certificate, '-signkey', key, '-days', String(days), '-outform', 'DER']
    await rows('update seal_keys set certificate = $1', [execFileSync('openssl', args, { stdio: 'pipe' })])
    return doctor()
  }
  expect((await aged(62)).found).toMatchObject([{ State: 'ok' }])
  expect((await aged(58)).found).toMatchObject([
    { State: 'warn', Says: expect.stringContaining('lasts until'), Mend: mend },
  ])
  const ended = await aged(-1)
  expect(ended.found).toMatchObject([
    { State: 'fail', Says: expect.stringContaining('not valid any more'), Mend: mend },
  ])
  expect(ended.code).toBe(1)
  await renew()
  expect((await doctor()).found).toMatchObject(well)
})
