import { describe, expect, test } from 'vitest'
import { testEnvelope } from '../../../test/support/envelope.ts'
import { type Link, makeLinks } from './links.ts'

const links = makeLinks(testEnvelope(), 'https://pay.example/base/')
const link: Link = { kind: 'i', account: 12n, record: 9_007_199_254_740_991n, counter: 0 }
const token = links.token(link)

describe('a token', () => {
  test('names what it was made of, is the same each time, and hides nothing but 128 bits', () => {
    expect(links.read('i', token)).toEqual(link)
    expect(links.token({ ...link })).toBe(token)
    expect(token).toMatch(/^12-9007199254740991-0-[a-z2-7]{26}$/)
    expect(links.url(link)).toBe(`https://pay.example/base/i/${token}`)
    expect(makeLinks(testEnvelope(), undefined).url(link)).toBeNull()
  })

  test.each([
    ['empty', ''],
    ['cut by one letter', token.slice(0, -1)],
    ['longer by one letter', `${token}a`],
    ['in capital letters', token.toUpperCase()],
    ['of another account', token.replace('12-', '13-')],
    ['of another record', token.replace('991-', '990-')],
    ['with another counter', token.replace('-0-', '-1-')],
    ['with a zero before its account', `0${token}`],
    ['with spaces', ` ${token}`],
    ['with a line break', `${token}\n`],
    ['with its last letter changed', token.slice(0, -1) + (token.endsWith('a') ? 'b' : 'a')],
  ])('%s names nothing', (_, changed) => {
    expect(links.read('i', changed)).toBeUndefined()
  })

  test('has one spelling: no other last letter stands for the same bits', () => {
    const others = [...'abcdefghijklmnopqrstuvwxyz234567'].filter((letter) => !token.endsWith(letter))
    expect(others.filter((letter) => links.read('i', token.slice(0, -1) + letter))).toEqual([])
  })

  test('of one kind is none of another, though it names the same record', () => {
    expect(links.read('u', token)).toBeUndefined()
    expect(links.token({ ...link, kind: 'u' })).not.toBe(token)
  })

  test('of another key names nothing', () => {
    const others = makeLinks(testEnvelope(Buffer.alloc(32, 9)), undefined)
    expect(others.read('i', token)).toBeUndefined()
  })
})
