import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { XmlDocument, XsdValidator } from 'libxml2-wasm'

/** Official schemas of ISO 20022, which lie beside the repository, and two programs that know them: xmllint and libxml2-wasm. */

const isCi = process.env['CI'] !== undefined
const SCHEMAS = fileURLToPath(new URL('../../../shared/fixtures/iso20022/xsd', import.meta.url))

/** With CI set the program has to be there; elsewhere tests that need it are named as not run. */
export const hasXmllint = !spawnSync('xmllint', ['--version']).error || isCi

/** Reads a text against a schema such as "pain.008.001.08" with xmllint, and returns what it finds wrong. */
export function xmllint(schema: string, xml: string): string {
  const args = ['--noout', '--nonet', '--schema', `${SCHEMAS}/${schema}.xsd`, '-']
  const { stderr, status, error } = spawnSync('xmllint', args, { input: xml, encoding: 'utf8' })
  if (error) throw error
  return status === 0 ? '' : stderr
}

/** Prepares a schema, and returns a function that reads texts against it with libxml2-wasm and returns what is wrong. */
export function schemaOf(schema: string): (xml: string) => string {
  const xsd = XmlDocument.fromString(readFileSync(`${SCHEMAS}/${schema}.xsd`, 'utf8'))
  const validator = XsdValidator.fromDoc(xsd)
  return (xml) => {
    const document = XmlDocument.fromString(xml)
    try {
      validator.validate(document)
      return ''
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    } finally {
      document.dispose()
    }
  }
}
