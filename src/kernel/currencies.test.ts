import { describe, expect, test } from 'vitest'
import { CURRENCIES, digitsOf, findCurrency } from './currencies.ts'

const codesWith = (digits: number) => CURRENCIES.filter((each) => each.digits === digits).map((each) => each.code)

describe('currencies', () => {
  test('every code is three capitals and listed once, in order', () => {
    const codes = CURRENCIES.map((each) => each.code)
    expect(codes.every((code) => /^[A-Z]{3}$/.test(code))).toBe(true)
    expect(codes).toEqual([...new Set(codes)].sort())
    expect(codes).toHaveLength(165)
  })

  test('minor units are those of ISO 4217, not those of everyday use', () => {
    expect(codesWith(0).join(' ')).toBe('BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF')
    expect(codesWith(3).join(' ')).toBe('BHD IQD JOD KWD LYD OMR TND')
    expect(codesWith(4).join(' ')).toBe('CLF UYW')
    expect(['AFN', 'ZAR', 'USD', 'HUF', 'IDR', 'MRU', 'MGA'].map(digitsOf)).toEqual([2, 2, 2, 2, 2, 2, 2])
  })

  test('recent currencies are in, withdrawn ones are out', () => {
    for (const code of ['ZWG', 'XCG', 'VED', 'SLE', 'XCD', 'MRU', 'STN']) expect(findCurrency(code)?.code).toBe(code)
    for (const code of ['ZWL', 'ANG', 'SLL', 'HRK', 'BGN', 'CUC', 'DEM']) expect(findCurrency(code)).toBeUndefined()
  })

  test('codes without a minor unit are no currencies', () => {
    for (const code of ['XAU', 'XAG', 'XDR', 'XXX', 'XTS', 'XBA', 'XUA', 'XSU'])
      expect(findCurrency(code)).toBeUndefined()
  })

  test('a code is matched exactly', () => {
    expect(findCurrency('ZAR')).toEqual({ code: 'ZAR', name: 'Rand', digits: 2 })
    for (const code of ['zar', ' ZAR', 'ZA', '', 'constructor']) expect(findCurrency(code)).toBeUndefined()
    expect(() => digitsOf('XAU')).toThrow('assertion failed')
  })
})
