import { describe, expect, test } from 'vitest'
import { LANGUAGES } from '../locale/format.ts'
import { OWN_COLOUR, readableColour } from './colour.ts'
import { framed } from './frame.ts'
import { html } from './html.ts'
import { wantedLocale } from './language.ts'
import { pageWords, REFUSED_STATUSES } from './words.ts'

describe('the colour of an account', () => {
  test.each([
    // White on #767676 has 4.54:1, on #777777 4.48:1 (WCAG 2.2 asks for 4.5:1).
    ['#767676', '#767676'],
    ['#777777', OWN_COLOUR],
    ['#FF0000', OWN_COLOUR],
    ['#C00000', '#c00000'],
    ['#ffffff', OWN_COLOUR],
    ['red', OWN_COLOUR],
    [null, OWN_COLOUR],
  ])('%s lies behind white letters as %s', (colour, shown) => {
    expect(readableColour(colour)).toBe(shown)
  })
})

describe('the language that a browser wants', () => {
  test.each([
    [undefined, undefined],
    ['', undefined],
    ['fr-FR,fr;q=0.9', undefined],
    ['fr, de-CH;q=0.4, en;q=0.8', 'en'],
    ['de-CH, en', 'de-CH'],
    ['en;q=0, de;q=0.1', 'de'],
    ['de;q=x', undefined],
    ['*', undefined],
    ['de-<script>', undefined],
  ])('%s is %s', (header, locale) => {
    expect(wantedLocale(header)).toBe(locale)
  })
})

describe('words', () => {
  test('none is missing in any language, and each refusal has a sentence of its own language', () => {
    const textsOf = (value: unknown): string[] =>
      typeof value === 'function'
        ? [String(value('x'))]
        : typeof value === 'object' && value !== null
          ? Object.values(value).flatMap(textsOf)
          : [String(value)]
    for (const language of LANGUAGES) {
      expect(textsOf(pageWords(language)).filter((text) => text.trim() === '')).toEqual([])
      expect(Object.keys(pageWords(language).refusals).map(Number)).toEqual([...REFUSED_STATUSES])
    }
    const [en, de] = LANGUAGES.map((language) => textsOf(pageWords(language)))
    expect(en?.filter((text) => de?.includes(text))).toEqual([])
  })
})

test('a frame names the account without letting its name become markup, and its style has the nonce', () => {
  const look = { name: '<b>Acme</b>\u202e', colour: '#004488', logo: null, isTest: true }
  const page = framed({ title: 'Invoice', content: html`<h1>Invoice</h1>` }, look, 'de', 'abc+/=')
  expect(page).toContain('<title>Invoice – &lt;b&gt;Acme&lt;/b&gt;</title>')
  expect(page).toContain('<html lang="de">')
  expect(page).toContain('<style nonce="abc+/=">')
  expect(page).toContain('--brand:#004488')
  expect(page).not.toContain('<b>')
  expect(page).not.toMatch(/<script|https?:/)
})
