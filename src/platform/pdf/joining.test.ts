import { describe, expect, test } from 'vitest'
import { inJoinedForms, lettersOfForm } from './joining.ts'

const all = () => true
const codesOf = (text: string) => [...text].map((char) => char.codePointAt(0)!.toString(16)).join(' ')

describe('Arabic letters', () => {
  test.each([
    ['meem, hah, meem, dal', 'محمد', 'fee3 fea4 fee4 feaa'],
    ['seen, and lam with alef', 'سلام', 'feb3 fefc 645'],
    ['alef joins no letter behind it', 'دار', '62f 627 631'],
    ['lam with alef alone', 'لا', 'fefb'],
    ['marks stand between and part nothing', 'مَن', 'fee3 64e fee6'],
    ['hamza joins none', 'ماء', 'fee3 fe8e 621'],
    ['Persian: peh, alef, kaf, sad, farsi yeh, hah, tcheh', 'پاک چی', 'fb58 fe8e 6a9 20 fb7c fbfd'],
    ['alef maksura in the middle, as in Uyghur', 'بىب', 'fe91 fbe9 fe90'],
    ['the line that makes a word longer', 'بـب', 'fe91 640 fe90'],
    ['digits and Latin part', 'ب1ب a', '628 31 628 20 61'],
  ])('%s', (_name, text, codes) => {
    expect(codesOf(inJoinedForms(text, all))).toBe(codes)
  })

  test('are read back as they were written, whatever is joined', () => {
    const text = 'السلام عليكم ورحمة الله، شركة محمد وأبنائه (١٥) لإنتاج الآلات پژواک'
    const shown = inJoinedForms(text, all)
    expect(shown).not.toBe(text)
    expect([...shown].map((char) => lettersOfForm(char) ?? char).join('')).toBe(text)
  })

  test('stay as they are where the font has no such form, and other letters always', () => {
    expect(inJoinedForms('محمد سلام', () => false)).toBe('محمد سلام')
    expect(inJoinedForms('Ελλάδα שלום 12', all)).toBe('Ελλάδα שלום 12')
  })
})
