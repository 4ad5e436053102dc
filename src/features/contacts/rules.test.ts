import { scryptSync } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { Problems } from '../../kernel/fault.ts'
import { generatedPassword, isPasswordOf, isStrongEnough, passwordHash } from './password.ts'
import { checkPassword, givenPassword, needsPassword } from './rules.ts'
import { freeUsername, usernameBase, usernameKey } from './username.ts'

describe('usernames', () => {
  test.each([
    ['Jane', 'Doe', 'jdoe'],
    ['Łukasz', 'Łódź', 'llodz'],
    ['Jürgen', 'Groß', 'jgross'],
    ['Søren', 'Ægir-Øst', 'saegirost'],
    ['Иван', 'Чайковский', 'ichaikovskii'],
    ['Νίκος', 'Καζαντζάκης', 'nkazantzakis'],
    ['Sinéad', "O'Connor", 'soconnor'],
    ['小明', 'Wang', 'wang'],
    ['Jane', '王', 'jane'],
    ['小明', '王', 'shop1'],
  ])('%s %s becomes %s', (name, lastName, expected) => {
    expect(usernameBase({ name, lastName, email: 'shop1@example.com' })).toBe(expected)
  })

  test('a contact without any letter to spell gets a plain word', () => {
    expect(usernameBase({ name: '小', lastName: '王', email: '王@example.com' })).toBe('contact')
  })

  test('the first number that is free is added when the base is taken', () => {
    expect(freeUsername('jdoe', new Set())).toBe('jdoe')
    expect(freeUsername('jdoe', new Set(['jdoe', 'jdoe2', 'jdoe4']))).toBe('jdoe3')
    expect(freeUsername('jdoe', new Set(['jdoe2']))).toBe('jdoe')
  })

  test('usernames are the same whatever their letter case and composition', () => {
    expect(usernameKey('JÜRGEN')).toBe(usernameKey('ju\u0308rgen'))
  })
})

describe('passwords', () => {
  test.each([
    ['abcde1', true],
    ['abc1', false],
    ['abcdef', false],
    ['123456', false],
    ['żółw77', true],
    ['🔑🔑🔑a1', false],
  ])('%s: strong enough is %s', (password, expected) => {
    expect(isStrongEnough(password)).toBe(expected)
  })

  test('a generated one has 12 characters that nobody mistakes for another, and keeps the rule', () => {
    for (let n = 0; n < 200; n += 1) {
      const password = generatedPassword()
      expect(password).toMatch(/^[^0Oo1Il5Ss2Zz8Bib]{12}$/)
      expect(isStrongEnough(password)).toBe(true)
    }
  })

  test('a hash tells the right password from a wrong one, and two of the same password differ', () => {
    const [one, two] = [passwordHash('geheim1'), passwordHash('geheim1')]
    expect(one).toMatch(/^scrypt\$15\$8\$3\$/)
    expect(one).not.toBe(two)
    expect([isPasswordOf('geheim1', one), isPasswordOf('geheim2', one)]).toEqual([true, false])
    expect(isPasswordOf('geheim1', 'plain')).toBe(false)
  })

  test('a hash of a former cost still is that of its password', () => {
    const salt = Buffer.alloc(16, 7)
    const hash = scryptSync('geheim1', salt, 32, { N: 2 ** 14, r: 8, p: 5, maxmem: 2 ** 25 })
    const kept = `scrypt$14$8$5$${salt.toString('base64url')}$${hash.toString('base64url')}`
    expect([isPasswordOf('geheim1', kept), isPasswordOf('geheim2', kept)]).toEqual([true, false])
  })

  test('a hash takes so much memory that the allocator of glibc gives it back', () => {
    const [, log2N, r] = passwordHash('geheim1').split('$')
    expect(128 * Number(r) * 2 ** Number(log2N)).toBeGreaterThanOrEqual(32 * 2 ** 20)
  })

  test('an explicit changePassword false keeps the password whatever is sent beside it', () => {
    expect(givenPassword({ Password: 'geheim1' })).toBe('geheim1')
    expect(givenPassword({ Password: 'geheim1', changePassword: false })).toBe(null)
    const problems = new Problems()
    checkPassword({ Password: 'x', changePassword: false }, problems)
    checkPassword({ Password: 'x' }, problems)
    expect(problems.found).toMatchObject([{ code: 'password_weak', field: 'Password' }])
    expect(problems.found[0]?.message).not.toContain('"x"')
  })

  test.each([
    [{ isActive: true }, { given: null, hasPassword: false, isChange: false }, true],
    [{ isActive: true }, { given: null, hasPassword: true, isChange: false }, false],
    [{ isActive: true }, { given: null, hasPassword: true, isChange: true }, true],
    [{ isActive: true }, { given: 'geheim1', hasPassword: false, isChange: true }, false],
    [{ isActive: false }, { given: null, hasPassword: false, isChange: true }, false],
  ])('%j asked %j: one is made is %s', (contact, asked, expected) => {
    expect(needsPassword(contact, asked)).toBe(expected)
  })
})
