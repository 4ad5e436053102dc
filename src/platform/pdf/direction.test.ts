import { describe, expect, test } from 'vitest'
import { linesInOrder } from './direction.ts'
import { ink } from './sheet.ts'
import { wrap } from './wrap.ts'

const inOrder = (text: string) => linesInOrder(text)(0, text.length)

describe('text from right to left', () => {
  test.each([
    ['Hebrew', 'שלום עולם', 'םלוע םולש'],
    ['Arabic', 'شركة', 'ةكرش'],
    ['a number inside', 'חשבון 1042 שולם', 'םלוש 1042 ןובשח'],
    ['an amount with its sign and currency', 'סך -1,234.50 € לתשלום', 'םולשתל -1,234.50 € ךס'],
    ['an amount with the currency first', 'שלם $ 15.00 היום', 'םויה $ 15.00 םלש'],
    ['a rate', 'מעם 17.5% כלול', 'לולכ 17.5% םעמ'],
    ['a Latin name inside', 'חברת Acme בעם', 'םעב Acme תרבח'],
    ['a day', 'עד 2027-01-31 בלבד', 'דבלב 2027-01-31 דע'],
    ['an amount with the currency behind', 'סך 1.234,50 € בלבד', 'דבלב 1.234,50 € ךס'],
    ['brackets', 'חברה (בעם)', '(םעב) הרבח'],
    ['letters in a Latin text', 'Acme שלום 15 Ltd', 'Acme 15 םולש Ltd'],
    ['points, which stay behind their letter', 'בָּ', 'בָּ'],
    ['points of two letters', 'שָלוֹם', 'םוֹלשָ'],
    ['a picture of two units', 'אב 😀 ג', 'ג 😀 בא'],
  ])('%s', (_, text, order) => {
    expect(inOrder(text)).toBe(order)
  })

  test('is turned line by line, by the direction of the whole paragraph', () => {
    const lines = wrap('חברה אחת Acme Trading Company שתיים', 60, ink(9))
    expect(lines.length).toBeGreaterThan(1)
    expect(lines.map(({ text }) => text).join(' ')).toBe('חברה אחת Acme Trading Company שתיים')
    expect(lines[0]?.shown.startsWith('תחא') || lines[0]?.shown.endsWith('הרבח')).toBe(true)
    for (const { text, shown } of lines) expect([...shown].toSorted()).toEqual([...text].toSorted())
  })

  test('leaves every other text as it is', () => {
    for (const { text, shown } of wrap('Łódź 1,234.50 € (Ελλάδα)', 60, ink(9))) expect(shown).toBe(text)
  })
})
