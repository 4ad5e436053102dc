import { describe, expect, test } from 'vitest'
import { originOfDomain } from './origin.ts'

describe('the one origin that may show a frame', () => {
  test.each([
    ['shop.example', 'https://shop.example'],
    [' Shop.Example ', 'https://shop.example'],
    ['shop.example:8443', 'https://shop.example:8443'],
    ['https://shop.example', 'https://shop.example'],
    ['https://shop.example:443', 'https://shop.example'],
    ['bücher.example', 'https://xn--bcher-kva.example'],
    ['localhost', 'http://localhost'],
    ['localhost:8080', 'http://localhost:8080'],
    ['http://127.0.0.1:9', 'http://127.0.0.1:9'],
    ['https://localhost', 'https://localhost'],
  ])('%s is %s in a test account', (sent, origin) => {
    expect(originOfDomain(sent, true)).toBe(origin)
  })

  test.each([
    '',
    '*',
    '*.shop.example',
    'http://shop.example',
    'https://shop.example/',
    'shop.example/path',
    'shop.example?x',
    'a.example b.example',
    'a.example,b.example',
    "shop.example;script-src'unsafe-inline'",
    'user@shop.example',
    'https://user:secret@shop.example',
    'ftp://shop.example',
    'javascript:alert(1)',
    'data:text/html,x',
    'shop.example.',
    "self'",
    `${'a'.repeat(64)}.example`,
    `${'a.'.repeat(124)}example`,
  ])('%s is none', (sent) => {
    expect(originOfDomain(sent, true)).toBeUndefined()
  })

  test('localhost is https in a live account, and never http', () => {
    expect(originOfDomain('localhost', false)).toBe('https://localhost')
    expect(originOfDomain('http://localhost', false)).toBeUndefined()
  })
})
