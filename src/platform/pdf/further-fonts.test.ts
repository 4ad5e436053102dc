import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { checkFonts } from '../checkup/fonts.ts'
import { lacksGlyph } from './coverage.ts'
import { furtherFontOf, readFurtherFonts, useFurtherFonts } from './further-fonts.ts'

const folders: string[] = []
afterEach(() => {
  useFurtherFonts(undefined)
  for (const one of folders.splice(0)) rmSync(one, { recursive: true, force: true })
})

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'perennial-fonts-'))
  folders.push(folder)
  return folder
}

const fileOf = (name: string): string => createRequire(import.meta.url).resolve(`dejavu-fonts-ttf/ttf/${name}.ttf`)

/** Signs of APL, which the monospaced DejaVu has, letters above the line, which the one with serifs has, and Chinese ones, which none has. */
const [APL, RAISED, CHINESE] = ['⌵', '\u1d2f', '李']
const [MONO, SERIF] = ['DejaVuSansMono', 'DejaVuSerif']

test('fonts of a folder are asked in the order of their names for what the typeface lacks', () => {
  const folder = newFolder()
  copyFileSync(fileOf(MONO), join(folder, 'b.ttf'))
  copyFileSync(fileOf(MONO), join(folder, 'c.TTF'))
  copyFileSync(fileOf(SERIF), join(folder, 'a.otf'))
  writeFileSync(join(folder, 'LICENSE.txt'), 'Free to use')
  expect([APL, RAISED, CHINESE].map(lacksGlyph)).toEqual([true, true, true])
  const { fonts, leftOut } = readFurtherFonts(folder)
  expect(leftOut).toEqual([])
  expect(fonts?.files).toEqual(['a.otf', 'b.ttf', 'c.TTF'].map((name) => join(folder, name)))
  useFurtherFonts(fonts)
  expect([APL, RAISED, CHINESE].map(lacksGlyph)).toEqual([false, false, true])
  expect(furtherFontOf(APL.codePointAt(0)!)).toEqual({ name: 'Further2', path: join(folder, 'b.ttf') })
  expect(furtherFontOf('A'.codePointAt(0)!)).toBeUndefined()
  expect(furtherFontOf(0x10_ffff)).toBeUndefined()
})

/** Returns a font with something written over a table of it. */
function spoilt(table: string, write: (font: Buffer, entry: number) => void): Buffer {
  const font = readFileSync(fileOf(MONO))
  const entry = font.indexOf(table, 12, 'latin1')
  write(font, entry)
  return font
}

const zeroed = (table: string) =>
  spoilt(table, (font, entry) => {
    const at = font.readUInt32BE(entry + 8)
    font.fill(0, at, at + font.readUInt32BE(entry + 12))
  })

const WHOLE = readFileSync(fileOf(MONO))
const HOSTILE: Record<string, Buffer> = {
  'cut.ttf': WHOLE.subarray(0, WHOLE.length / 2),
  'cut-in-its-head.ttf': WHOLE.subarray(0, 20),
  'empty.ttf': Buffer.alloc(0),
  'glyphs-of-ones.ttf': spoilt('glyf', (font, entry) => {
    const at = font.readUInt32BE(entry + 8)
    font.fill(0xff, at, at + font.readUInt32BE(entry + 12))
  }),
  'huge-table.ttf': spoilt('cmap', (font, entry) => void font.writeUInt32BE(0xffff_ffff, entry + 12)),
  'many-tables.ttf': spoilt('', (font) => void font.writeUInt16BE(0xffff, 4)),
  'no-characters.ttf': zeroed('cmap'),
  'no-size.ttf': zeroed('head'),
  'no-widths.ttf': spoilt('hmtx', (font, entry) => void font.write('xxxx', entry, 'latin1')),
  'no-outlines.ttf': spoilt('glyf', (font, entry) => void font.write('xxxx', entry, 'latin1')),
  'ones.ttf': Buffer.concat([Buffer.from([0, 1, 0, 0]), Buffer.alloc(4096, 0xff)]),
  'packed.ttf': Buffer.concat([Buffer.from('wOF2'), WHOLE.subarray(4)]),
  'text.ttf': Buffer.from('Dear all,\nhere is the font that you asked for.\n'),
  'zeros.otf': Buffer.concat([Buffer.from('OTTO'), Buffer.alloc(4096)]),
}

test('what is no font, or cannot be drawn with, is named and left out, at the start and in doctor, and the others are used', () => {
  const folder = newFolder()
  for (const [name, bytes] of Object.entries(HOSTILE)) writeFileSync(join(folder, name), bytes)
  mkdirSync(join(folder, 'folder.ttf'))
  symlinkSync(join(folder, 'nowhere'), join(folder, 'link.ttf'))
  writeFileSync(join(folder, 'large.ttf'), WHOLE)
  truncateSync(join(folder, 'large.ttf'), 32 * 1024 * 1024 + 1)
  for (const name of ['good.ttf', 'zz.ttf']) copyFileSync(fileOf(MONO), join(folder, name))
  const { fonts, leftOut } = readFurtherFonts(folder)
  expect(fonts?.files).toEqual([join(folder, 'good.ttf'), join(folder, 'zz.ttf')])
  const why = Object.fromEntries(leftOut.map((one) => [one.name, one.why]))
  expect(Object.keys(why)).toEqual([...Object.keys(HOSTILE), 'folder.ttf', 'large.ttf', 'link.ttf'].toSorted())
  expect(why).toMatchObject({
    'cut.ttf': 'is cut short',
    'folder.ttf': 'is no file',
    'huge-table.ttf': 'is cut short',
    'large.ttf': 'has more than 32 MiB',
    'link.ttf': 'cannot be read',
    'no-outlines.ttf': 'cannot be drawn with',
    'text.ttf': 'is no TTF or OTF font',
  })
  useFurtherFonts(fonts)
  expect(lacksGlyph(APL)).toBe(false)
  const found = checkFonts({ fontsDir: folder })
  expect(found.map(({ state }) => state)).toEqual([...leftOut.map(() => 'warn'), 'ok'])
  expect(found.find(({ text }) => text.includes('cut.ttf'))?.text).toBe('"cut.ttf" is cut short, and is left out')
})

test('of more than 20 fonts the first are used, and the others named', () => {
  const folder = newFolder()
  for (let index = 10; index < 32; index += 1) symlinkSync(fileOf(MONO), join(folder, `${index}.ttf`))
  const { fonts, leftOut } = readFurtherFonts(folder)
  expect(fonts?.files).toHaveLength(20)
  expect(leftOut.map(({ name }) => name)).toEqual(['30.ttf', '31.ttf'])
})

test('a folder that is none is named, and one that is not set is nothing', () => {
  const nowhere = join(newFolder(), 'nowhere')
  expect(readFurtherFonts(nowhere)).toEqual({ leftOut: [{ name: nowhere, why: 'is no folder that can be read' }] })
  expect(checkFonts({ fontsDir: nowhere }).map(({ state }) => state)).toEqual(['warn'])
  expect([readFurtherFonts(undefined), checkFonts({ fontsDir: undefined })]).toEqual([{ leftOut: [] }, []])
})
