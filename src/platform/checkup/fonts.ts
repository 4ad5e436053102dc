import type { Config } from '../config.ts'
import { readFurtherFonts } from '../pdf/further-fonts.ts'
import { doubtful, fine, type Finding } from './finding.ts'

/** Checks the fonts of FONTS_DIR where it is set: a start goes on without those that it cannot use. */
export function checkFonts({ fontsDir }: Pick<Config, 'fontsDir'>): Finding[] {
  const { fonts, leftOut } = readFurtherFonts(fontsDir)
  const mend = `put a TTF or OTF font of at most 32 MiB in its place, or take it away, and start the service again`
  const findings = leftOut.map(({ name, why }) =>
    doubtful('FONTS_DIR', `${JSON.stringify(name)} ${why}, and is left out`, mend),
  )
  if (fonts === undefined) return findings
  const count = fonts.files.length
  return [...findings, fine('FONTS_DIR', `${count} font${count === 1 ? ' is' : 's are'} asked for what ours lacks`)]
}
