import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import forge from 'node-forge'
import type { Config } from '../config.ts'
import { StartFailure } from '../postgres/start-failure.ts'
import type { SealKey } from './certificate.ts'

/** A certificate of the operator's own that seals documents: SEAL_P12, a file of PKCS #12. */

type Named = Pick<Config, 'sealP12' | 'sealP12Password'>

/** Reads the key and the certificates of SEAL_P12; undefined where it is not set. Throws a StartFailure, which holds no secret. */
export function readOwnSeal({ sealP12, sealP12Password }: Named): SealKey | undefined {
  if (sealP12 === undefined) return undefined
  let file: Buffer
  try {
    file = readFileSync(sealP12)
  } catch {
    throw new StartFailure('The file of SEAL_P12 cannot be read: set it to the path of a PKCS #12 file, or unset it.')
  }
  return keyOf(openP12(file, sealP12Password ?? ''))
}

function openP12(file: Buffer, password: string): forge.pkcs12.Pkcs12Pfx {
  let content: forge.asn1.Asn1
  try {
    content = forge.asn1.fromDer(file.toString('binary'))
  } catch {
    throw new StartFailure('The file of SEAL_P12 is no PKCS #12 file: set it to the path of one, or unset it.')
  }
  try {
    return forge.pkcs12.pkcs12FromAsn1(content, password)
  } catch {
    throw new StartFailure('SEAL_P12_PASSWORD does not open the file of SEAL_P12: set it to the password of that file.')
  }
}

const derOf = (content: forge.asn1.Asn1): Buffer => Buffer.from(forge.asn1.toDer(content).getBytes(), 'binary')

/** Returns the key with the certificate that belongs to it, and the others of the file as its chain. */
function keyOf(p12: forge.pkcs12.Pkcs12Pfx): SealKey {
  const unfit = () => new StartFailure('The file of SEAL_P12 must hold an RSA key and its certificate.')
  const { certBag, keyBag, pkcs8ShroudedKeyBag } = forge.pki.oids as Record<string, string>
  const bagsOf = (type: string | undefined) => (type === undefined ? [] : (p12.getBags({ bagType: type })[type] ?? []))
  const found = [...bagsOf(pkcs8ShroudedKeyBag), ...bagsOf(keyBag)].find(({ key }) => key)?.key
  if (!found) throw unfit()
  const key = derOf(forge.pki.wrapRsaPrivateKey(forge.pki.privateKeyToAsn1(found)))
  const privateKey = createPrivateKey({ key, format: 'der', type: 'pkcs8' })
  const certificates = bagsOf(certBag).flatMap(({ cert, asn1 }) =>
    cert ? [derOf(forge.pki.certificateToAsn1(cert))] : asn1 ? [derOf(asn1)] : [],
  )
  const own = certificates.find((one) => new X509Certificate(one).checkPrivateKey(privateKey))
  if (!own) throw unfit()
  return { key, certificate: own, chain: certificates.filter((one) => one !== own) }
}
