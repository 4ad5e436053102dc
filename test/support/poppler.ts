import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Text and facts of a PDF as another program reads them: pdftotext and pdfinfo of Debian's poppler-utils. */

/** With CI set the programs have to be there; elsewhere tests that need them are named as not run. */
export const hasPoppler = !spawnSync('pdfinfo', ['-v']).error || process.env['CI'] !== undefined

function ask(program: string, options: readonly string[], pdf: Buffer, encoding: BufferEncoding = 'utf8'): string {
  const folder = mkdtempSync(join(tmpdir(), 'perennial-pdf-'))
  try {
    const path = join(folder, 'document.pdf')
    writeFileSync(path, pdf)
    const args = program === 'pdftotext' ? [...options, path, '-'] : [...options, path]
    const { stdout, stderr, status, error } = spawnSync(program, args, { encoding, maxBuffer: 1e8 })
    if (error || status !== 0 || stderr !== '') throw new Error(`${program}: ${error?.message ?? stderr}`)
    return stdout
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The text in reading order; with `isLaidOut`, as it stands on the page, lines and columns beside each other. */
export const textOfPdf = (pdf: Buffer, isLaidOut = false): string =>
  ask('pdftotext', isLaidOut ? ['-layout', '-nopgbrk'] : ['-raw', '-nopgbrk'], pdf)

/** "Tagged" → "yes". */
export const infoOfPdf = (pdf: Buffer): Record<string, string> =>
  Object.fromEntries(
    ask('pdfinfo', [], pdf)
      .split('\n')
      .map((line) => /^([^:]+):\s*(.*)$/.exec(line))
      .filter((found) => found !== null)
      .map(([, name = '', value = '']) => [name, value]),
  )

/** The tree of tags with their texts, as a screen reader goes through it. */
export const structureOfPdf = (pdf: Buffer): string => ask('pdfinfo', ['-struct-text'], pdf)

/** Counts the dark dots of all pages at 72 to the inch: what is drawn, not only what is written. */
export function inkOfPdf(pdf: Buffer): number {
  const pages = ask('pdftoppm', ['-r', '72', '-gray'], pdf, 'latin1')
  return [...pages].filter((dot) => dot.charCodeAt(0) < 100).length
}
