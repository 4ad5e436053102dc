import type { Logger } from 'pino'
import type { Config } from '../platform/config.ts'
import { type FurtherFonts, leftOutText, readFurtherFonts } from '../platform/pdf/further-fonts.ts'

/** Reads the fonts of FONTS_DIR at a start, and warns of those that are left out unless another process of the service does. */
export function fontsAtStart(
  { fontsDir }: Pick<Config, 'fontsDir'>,
  log: Pick<Logger, 'warn'> | undefined,
): FurtherFonts | undefined {
  const { fonts, leftOut } = readFurtherFonts(fontsDir)
  for (const one of leftOut) log?.warn(leftOutText(one))
  return fonts
}
