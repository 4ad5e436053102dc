import { createRequire } from 'node:module'

/** Files of the typeface of documents. */

const FILES = { regular: 'DejaVuSansCondensed.ttf', bold: 'DejaVuSansCondensed-Bold.ttf' } as const
export type FaceName = keyof typeof FILES

export const fontPath = (name: FaceName): string =>
  createRequire(import.meta.url).resolve(`dejavu-fonts-ttf/ttf/${FILES[name]}`)
