import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { readOnlyClientOf, startTestService } from '../../../test/support/app.ts'
import pino from 'pino'
import { makeP12 } from '../../../test/support/p12.ts'
import { workerDuties } from '../../duties.ts'
import { hasPoppler, textOfPdf } from '../../../test/support/poppler.ts'
import { makeLinks } from '../../platform/page/links.ts'
import { readOwnSeal } from '../../platform/seal/own.ts'
import { renewSealKey } from '../../platform/seal/key.ts'
import { copyLink } from './download.ts'
import { MANDATE, SEPA, signingBy } from './emandates.testing.ts'

const START = Date.parse('2027-01-01T00:00:00Z')
let now = START
const ORIGIN = 'https://pay.example.org'
const service = await startTestService({ now: () => now, publicUrl: ORIGIN })
const links = makeLinks(service.calling.envelope, ORIGIN)
const folder = mkdtempSync(join(tmpdir(), 'perennial-mandate-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const { ask, sign, download } = signingBy(service, ORIGIN)

async function signed(signature: object = {}, body: object = MANDATE, language = 'en') {
  const client = await service.newAccount({ name: 'Engines Ltd' })
  const asked = await ask(client, body)
  expect(await sign(asked.path, signature, language)).toBe(303)
  return { client, ...asked }
}

const fileOf = (bytes: Buffer, name: string): string => {
  const file = join(folder, name)
  writeFileSync(file, bytes)
  return file
}

const run = (program: string, ...args: string[]) => execFileSync(program, args, { encoding: 'utf8', stdio: 'pipe' })

/** Returns the signature and the bytes that it covers, as ByteRange and Contents name them. */
function signatureOf(pdf: Buffer) {
  const text = pdf.toString('latin1')
  const [, ...range] = /\/ByteRange\s*\[\s*(\d+)\s+(\d+)\s+(\d+)\s+(\d+)/.exec(text) ?? []
  const [from, length, second, rest] = range.map(Number) as [number, number, number, number]
  const hex = text.slice(from + length, second).replace(/[^0-9a-fA-F]/g, '')
  const contents = Buffer.from(hex, 'hex')
  // The DER of the signature ends before the zeros that fill the place kept for it.
  const size = contents.readUInt16BE(2) + 4
  return {
    covered: Buffer.concat([pdf.subarray(from, from + length), pdf.subarray(second, second + rest)]),
    signature: contents.subarray(0, size),
  }
}

describe.skipIf(!hasPoppler)('a signed mandate', () => {
  test('has what was shown, both signatures and the evidence, and is the same bytes whenever it is asked for', async () => {
    const { client, token } = await signed()
    const first = await download(token, client)
    expect([first.statusCode, first.headers['content-type'], first.headers['cache-control']]).toEqual([
      200,
      'application/pdf',
      'no-store',
    ])
    expect(first.rawPayload.equals((await download(token, client)).rawPayload)).toBe(true)
    const file = fileOf(first.rawPayload, 'signed.pdf')
    const text = textOfPdf(first.rawPayload)
    for (const part of [
      '62001871490',
      'Engines Ltd',
      'C-17',
      'may not cede',
      'Ada Lovelace',
      '127.0.0.1',
      '2027-01-01 00:00:00',
      'SHA-256',
    ])
      expect(text.replace(/\s+/g, ' '), part).toContain(part)
    expect(text).not.toContain('NOT SIGNED')
    const info = run('pdfinfo', file)
    expect(info).toMatch(/Tagged:\s+yes/)
    expect(run('pdfdetach', '-list', file)).toContain('evidence.json')
  })

  test('is sealed: pdfsig and OpenSSL accept it as it is, and a flipped byte shows', async () => {
    const { client, token } = await signed({}, SEPA, 'de')
    const pdf = (await download(token, client)).rawPayload
    expect(textOfPdf(pdf)).toContain('SEPA-Lastschriftmandat')
    expect(textOfPdf(pdf)).toContain('DE89 3704 0044 0532 0130 00')
    expect(textOfPdf(pdf)).toContain('Sparkonto')
    expect(textOfPdf(pdf)).toMatch(/[0-9a-f]{64}/)
    const judged = run('pdfsig', fileOf(pdf, 'sealed.pdf'))
    expect(judged).toContain('Signature is Valid')
    expect(judged).toContain('Total document signed')
    const { covered, signature } = signatureOf(pdf)
    const [data, cms] = [fileOf(covered, 'covered.bin'), fileOf(signature, 'signature.der')]
    const pem = join(folder, 'seal.pem')
    run('openssl', 'pkcs7', '-inform', 'DER', '-in', cms, '-print_certs', '-out', pem)
    const verify = () =>
      run(
        'openssl',
        'cms',
        '-verify',
        '-cades',
        '-binary',
        '-inform',
        'DER',
        '-in',
        cms,
        '-content',
        data,
        '-CAfile',
        pem,
        '-attime',
        // The certificate is of the day that the service believes in.
        String(START / 1000 + 60),
        '-purpose',
        'any',
        '-out',
        '/dev/null',
      )
    expect(verify).not.toThrow()
    covered[1000]! ^= 1
    fileOf(covered, 'covered.bin')
    expect(verify).toThrow()
    const changed = Buffer.from(pdf)
    changed[1000]! ^= 1
    expect(run('pdfsig', fileOf(changed, 'changed.pdf'))).toContain('Digest Mismatch')
  })

  test('stays valid when the key of the seal is renewed, and the next one is sealed by the new one', async () => {
    const before = await signed()
    const old = (await download(before.token, before.client)).rawPayload
    await renewSealKey(service.db.unscoped, service.calling.envelope, new Date(now))
    const after = await signed()
    const young = (await download(after.token, after.client)).rawPayload
    const [one, other] = [old, young].map((pdf) => {
      const file = fileOf(signatureOf(pdf).signature, 'cms.der')
      return run('openssl', 'pkcs7', '-inform', 'DER', '-in', file, '-print_certs')
    })
    expect(one).not.toBe(other)
    expect(run('pdfsig', fileOf(old, 'old.pdf'))).toContain('Signature is Valid')
    expect((await download(before.token, before.client)).rawPayload.equals(old)).toBe(true)
  })
})

test.skipIf(!hasPoppler)("a certificate of the operator's own seals where SEAL_P12 names one", async () => {
  const ownSeal = readOwnSeal({ sealP12: makeP12(folder), sealP12Password: 'correct horse' })
  const { client, token } = await signed()
  const duties = workerDuties({ ...service.calling, drawing: service.app.drawing, ownSeal })
  const make = duties.find(({ name }) => name === 'make PDFs of mandates')
  const log = pino({ level: process.env['TEST_LOG'] ?? 'silent' })
  await make?.run({ db: service.db, log, realClock: () => now }, () => {})
  const told = run('pdfsig', fileOf((await download(token, client)).rawPayload, 'own.pdf'))
  expect(told).toContain('Signer Certificate Common Name: Engines Ltd')
  expect(told).toContain('Signature is Valid')
  expect(told).toContain('Total document signed')
})

test.skipIf(!hasPoppler)('an unsigned mandate is marked across the page, and its number masked', async () => {
  const client = await service.newAccount({ name: 'Engines Ltd' })
  const { token } = await ask(client)
  const text = textOfPdf((await download(token, client)).rawPayload)
  expect(text.replace(/\s/g, '')).toContain('NOTSIGNED')
  expect(text).toContain('Nothing may be debited by it')
  expect(text).toContain('****1490')
  expect(text).not.toContain('62001871490')
})

test('who may have it: full keys by the Token, the signee by a link of its own for 90 days, nobody else', async () => {
  const { client, token, id } = await signed()
  const [other, reader] = [await service.newAccount(), await readOnlyClientOf(service, client)]
  expect((await download(token)).statusCode).toBe(401)
  expect((await download(token, reader)).statusCode).toBe(403)
  expect((await download(token, other)).statusCode).toBe(404)
  expect((await download('x', client)).statusCode).toBe(404)
  expect((await download('')).statusCode).toBe(400)
  const copy = links.token(copyLink(client.id, id))
  expect((await download(copy)).statusCode).toBe(200)
  expect((await download(copy, client)).statusCode).toBe(404)
  for (const wrong of [copy.toUpperCase(), copy.slice(0, -1), links.token({ ...copyLink(client.id, id), kind: 'm' })])
    expect((await download(wrong)).statusCode).toBe(401)
  const posted = (payload: string, type: string) =>
    service.app.server.inject({
      method: 'POST',
      url: '/widget/emandate/download',
      payload,
      headers: { 'content-type': type },
    })
  expect((await posted(`token=${copy}`, 'application/x-www-form-urlencoded')).statusCode).toBe(200)
  expect((await posted(JSON.stringify({ token: copy }), 'application/json')).statusCode).toBe(200)
  expect((await posted('{', 'application/json')).statusCode).toBe(400)
  expect((await posted(`token=${'x'.repeat(5000)}`, 'application/x-www-form-urlencoded')).statusCode).toBe(413)
  const described = (await service.anonymous.get('/openapi.json')).body.paths['/widget/emandate/download']
  for (const method of ['get', 'post'])
    expect(Object.keys(described[method].responses)).toEqual(
      expect.arrayContaining(['200', '400', '401', '403', '404', '410', '413']),
    )
  const unsigned = await ask(client)
  expect((await download(links.token(copyLink(client.id, unsigned.id)))).statusCode).toBe(401)
  now = START + 90 * 86_400_000
  expect((await download(copy)).statusCode).toBe(410)
  expect((await download(token, client)).statusCode).toBe(200)
})
