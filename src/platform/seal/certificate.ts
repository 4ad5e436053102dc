import { generateKeyPair, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import forge from 'node-forge'

/** Key and certificate of a seal, in DER. */
export interface SealKey {
  /** PKCS #8. */
  key: Buffer
  /** X.509; that of a deployment is signed by the key itself. */
  certificate: Buffer
  /** The certificates above it, in DER. */
  chain?: readonly Buffer[]
}

const KEY_BITS = 3072
const VALID_YEARS = 10

/** Makes a key, and a certificate of its own that lets it sign documents. It shows that a document is unchanged, not who made it. */
export async function makeSealKey(now: Date): Promise<SealKey> {
  const pair = await promisify(generateKeyPair)('rsa', {
    modulusLength: KEY_BITS,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  const certificate = forge.pki.createCertificate()
  certificate.publicKey = forge.pki.publicKeyFromPem(pair.publicKey)
  // A first byte below 0x80: the number is positive.
  certificate.serialNumber = `01${randomBytes(15).toString('hex')}`
  certificate.validity.notBefore = now
  certificate.validity.notAfter = new Date(now)
  certificate.validity.notAfter.setUTCFullYear(now.getUTCFullYear() + VALID_YEARS)
  const name = [{ name: 'commonName', value: 'Perennial document seal' }]
  certificate.setSubject(name)
  certificate.setIssuer(name)
  certificate.setExtensions([
    { name: 'basicConstraints', cA: false, critical: true },
    { name: 'keyUsage', digitalSignature: true, nonRepudiation: true, critical: true },
    { name: 'subjectKeyIdentifier' },
  ])
  certificate.sign(forge.pki.privateKeyFromPem(pair.privateKey), forge.md.sha256.create())
  return { key: derOf(pair.privateKey), certificate: derOf(forge.pki.certificateToPem(certificate)) }
}

/** Returns the bytes of a PEM text. */
const derOf = (pem: string): Buffer => Buffer.from(pem.replace(/-----[^-]+-----/g, ''), 'base64')
