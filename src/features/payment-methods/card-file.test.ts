import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { type CardRow, readCardFile } from './card-file.ts'

/** Files of cards, as people save them. */

const folder = mkdtempSync(join(tmpdir(), 'cards-'))
afterAll(() => rmSync(folder, { recursive: true }))

function fileOf(bytes: string | Buffer): string {
  const path = join(folder, 'cards.csv')
  writeFileSync(path, bytes)
  return path
}

async function rowsOf(bytes: string | Buffer): Promise<CardRow[]> {
  const rows: CardRow[] = []
  for await (const row of readCardFile(fileOf(bytes))) rows.push(row)
  return rows
}

test('cells stand under the names of the first line, in any order and case, quoted or not', async () => {
  const text = '\uFEFFtoken,CUSTOMERID,NameOnCard\r\npm_1,7,"King, ""Ada"""\r\n\r\n"pm_2",8,\r\n'
  expect(await rowsOf(text)).toEqual([
    { line: 2, cells: { Token: 'pm_1', customerID: '7', NameOnCard: 'King, "Ada"' } },
    { line: 4, cells: { Token: 'pm_2', customerID: '8' } },
  ])
})

const TOKEN = 'cus_planted/pm_planted'
test.each([
  ['', 'The file is empty.'],
  ['Reference\nA', 'The first line has to name the column Token.'],
  [`Token\n${TOKEN}`, 'The first line has to name either customerID or Reference'],
  [`Token,customerID,Reference\n${TOKEN},1,A`, 'The first line has to name either customerID or Reference'],
  [`Token,token,customerID\n${TOKEN},a,1`, 'The first line names Token twice.'],
  [`Token,customerID,Colour\n${TOKEN},1,red`, 'The first line has to name the columns, which can be customerID'],
  [`${TOKEN},1`, 'The first line has to name the columns'],
  ['customerID;Token\n1;pm_1', 'The first line has to name the columns'],
  [`customerID,Token\n1,${TOKEN},x`, 'Line 2 is no line of CSV with as many cells as the first.'],
  [`customerID,Token\n1,"${TOKEN}\n2,pm_2`, 'is no line of CSV'],
  [`customerID,Token\n1,"${TOKEN}${'x'.repeat(20_000)}\n`, 'is no line of CSV'],
  [Buffer.from([...Buffer.from(`customerID,Token,NameOnCard\n1,${TOKEN},J`), 0xfc, 0x0a]), 'The file is not UTF-8'],
])('%j is refused, and nothing of it is repeated', async (bytes, message) => {
  const refused = rowsOf(bytes)
  await expect(refused).rejects.toMatchObject({ problems: [{ code: 'csv_invalid' }] })
  await expect(refused).rejects.toThrow(message)
  await expect(refused).rejects.not.toThrow(/planted|Colour/)
})

test('a file that is missing, or a folder, is named', async () => {
  for (const path of [join(folder, 'none.csv'), folder])
    await expect(readCardFile(path).next()).rejects.toThrow(`There is no file ${path} that can be read (E`)
})

test('a file of 100,000 lines is read as it comes, not kept', async () => {
  const path = fileOf(
    `Reference,Token\n${Array.from({ length: 100_000 }, (_, n) => `R${n},cus_${n}/pm_${n}\n`).join('')}"`,
  )
  let rows = 0
  const read = async () => {
    for await (const _ of readCardFile(path)) rows += _.line > 0 ? 1 : 0
  }
  // Its end is broken: whoever read it as a whole would have met that before the first line.
  await expect(read()).rejects.toThrow('is no line of CSV')
  expect(rows).toBeGreaterThan(99_000)
})
