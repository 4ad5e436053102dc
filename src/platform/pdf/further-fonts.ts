import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { create, type Font } from 'fontkit'
import { drawSample } from './font-sample.ts'
import { fontPath } from './font-files.ts'

/** Fonts of the operator's own (FONTS_DIR), which are asked, in the order of their names, for characters that the typeface of documents lacks. */

export interface FurtherFonts {
  files: readonly string[]
  /** By code point: the place in `files`, counted from 1, of the font that draws it; 0 where none does. Threads share it. */
  places: Uint8Array
}

/** Font or folder that is left out, and why. */
export interface LeftOut {
  name: string
  why: string
}

const FONTS_MAX = 20
const BYTES_MAX = 32 * 1024 * 1024
const IS_FONT = /\.(?:ttf|otf)$/i
/** The planes of Unicode in which there are letters and signs. */
const CODE_POINTS = 0x40_000
const FIRST = 0x20
const SURROGATES = { first: 0xd800, last: 0xdfff }
/** Of each font, that are drawn before it is taken. */
const SAMPLES = 32

/** Signatures of TrueType, of Apple's TrueType and of OpenType: fonts that are packed, and collections, are no such files. */
const SIGNATURES = new Set([0x00_01_00_00, 0x74_72_75_65, 0x4f_54_54_4f])
const HEAD_BYTES = 12
const TABLE_BYTES = 16

const NO_FONT = 'is no TTF or OTF font'

/** Returns what is wrong with the head of a file, which has the places of its tables; undefined for nothing. */
function problemOfHead(file: Buffer): string | undefined {
  if (file.length < HEAD_BYTES || !SIGNATURES.has(file.readUInt32BE(0))) return NO_FONT
  const tables = file.readUInt16BE(4)
  if (HEAD_BYTES + tables * TABLE_BYTES > file.length) return 'is cut short'
  for (let index = 0; index < tables; index += 1) {
    const at = HEAD_BYTES + index * TABLE_BYTES
    if (file.readUInt32BE(at + 8) + file.readUInt32BE(at + 12) > file.length) return 'is cut short'
  }
  return undefined
}

/** Lists the characters of a font. */
function charactersOf(font: Font): number[] {
  const found: number[] = []
  for (let code = FIRST; code < CODE_POINTS; code += 1)
    if ((code < SURROGATES.first || code > SURROGATES.last) && font.hasGlyphForCodePoint(code)) found.push(code)
  return found
}

const samplesOf = (characters: readonly number[]): number[] => {
  const step = Math.max(1, Math.ceil(characters.length / SAMPLES))
  return characters.filter((_code, index) => index % step === 0)
}

/** Returns the characters that a file adds to those of our own and of the fonts before it, or why it is left out. It is read, and some of them are drawn, so that a document does not fail by it. */
function openFile(path: string, own: Font, places: Uint8Array): number[] | string {
  let file: Buffer
  try {
    const { size, isFile } = statOf(path)
    if (!isFile) return 'is no file'
    if (size > BYTES_MAX) return 'has more than 32 MiB'
    file = readFileSync(path)
  } catch {
    return 'cannot be read'
  }
  const problem = problemOfHead(file)
  if (problem !== undefined) return problem
  try {
    const font = create(file) as Font
    const characters = charactersOf(font)
    drawSample(font, samplesOf(characters))
    return characters.filter((code) => places[code] === 0 && !own.hasGlyphForCodePoint(code))
  } catch {
    return 'cannot be drawn with'
  }
}

function statOf(path: string): { size: number; isFile: boolean } {
  const stat = statSync(path)
  return { size: stat.size, isFile: stat.isFile() }
}

/** Reads the fonts of a folder. Those that cannot be used are listed with the reason, and left out; nothing of them is thrown. */
export function readFurtherFonts(folder: string | undefined): { fonts?: FurtherFonts; leftOut: LeftOut[] } {
  if (folder === undefined) return { leftOut: [] }
  let names: string[]
  try {
    names = readdirSync(folder).filter((name) => IS_FONT.test(name))
  } catch {
    return { leftOut: [{ name: folder, why: 'is no folder that can be read' }] }
  }
  const own = create(readFileSync(fontPath('regular'))) as Font
  const places = new Uint8Array(new SharedArrayBuffer(CODE_POINTS))
  const files: string[] = []
  const leftOut: LeftOut[] = []
  for (const [index, name] of names.toSorted().entries()) {
    const path = join(folder, name)
    const found = index < FONTS_MAX ? openFile(path, own, places) : `is one of more than ${FONTS_MAX} fonts`
    if (typeof found === 'string') {
      leftOut.push({ name, why: found })
      continue
    }
    files.push(path)
    for (const code of found) places[code] = files.length
  }
  return { fonts: { files, places }, leftOut }
}

/** Returns the sentence about a font that is left out. */
export const leftOutText = ({ name, why }: LeftOut): string =>
  `FONTS_DIR: ${JSON.stringify(name)} ${why}, and is left out`

let used: FurtherFonts | undefined

/** Sets the fonts that this process, or this thread, asks for what the typeface of documents lacks. */
export function useFurtherFonts(fonts: FurtherFonts | undefined): void {
  used = fonts
}

export interface FurtherFont {
  /** By which documents know it: that of its file may have any characters. */
  name: string
  path: string
}

/** Returns the font that draws a character which the typeface lacks; undefined where none does. */
export function furtherFontOf(codePoint: number): FurtherFont | undefined {
  const place = used?.places[codePoint] ?? 0
  const path = place === 0 ? undefined : used?.files[place - 1]
  return path === undefined ? undefined : { name: `Further${place}`, path }
}
