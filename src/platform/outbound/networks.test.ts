import { describe, expect, test } from 'vitest'
import { isPublic, isWithin, networksFromText } from './networks.ts'

describe('an address', () => {
  test.each(['8.8.8.8', '1.1.1.1', '2606:4700:4700::1111', '::ffff:8.8.8.8', '223.255.255.255'])(
    '%s is public',
    (address) => expect(isPublic(address)).toBe(true),
  )

  test.each([
    ['0.0.0.0', 'this host'],
    ['10.1.2.3', 'private'],
    ['100.64.0.1', 'shared by carriers'],
    ['127.0.0.1', 'loopback'],
    ['127.255.255.254', 'loopback'],
    ['169.254.169.254', 'link-local: metadata of clouds'],
    ['172.31.255.255', 'private'],
    ['192.0.0.8', 'reserved'],
    ['192.0.2.1', 'documentation'],
    ['192.88.99.1', 'relays of 6to4'],
    ['192.168.0.1', 'private'],
    ['198.18.0.1', 'benchmarks'],
    ['198.51.100.7', 'documentation'],
    ['203.0.113.9', 'documentation'],
    ['224.0.0.1', 'multicast'],
    ['240.0.0.1', 'reserved'],
    ['255.255.255.255', 'broadcast'],
    ['::', 'unspecified'],
    ['::1', 'loopback'],
    ['::127.0.0.1', 'IPv4-compatible'],
    ['::ffff:127.0.0.1', 'mapped loopback'],
    ['::ffff:a00:1', 'mapped private'],
    ['64:ff9b::7f00:1', 'translated to loopback'],
    ['64:ff9b:1::1', 'translated locally'],
    ['100::1', 'discarded'],
    ['2001::1', 'Teredo'],
    ['2001:db8::1', 'documentation'],
    ['2002:7f00:1::1', '6to4 of loopback'],
    ['3fff::1', 'documentation'],
    ['5f00::1', 'segments of routes'],
    ['fc00::1', 'unique local'],
    ['fd12:3456::1', 'unique local'],
    ['fe80::1', 'link-local'],
    ['fe80::1%eth0', 'link-local of a zone'],
    ['2606:4700::1%eth0', 'of a zone'],
    ['fec0::1', 'site-local'],
    ['ff02::1', 'multicast'],
    ['4000::1', 'given to nobody'],
    ['localhost', 'no address'],
    ['', 'no address'],
  ])('%s is not public: %s', (address) => expect(isPublic(address)).toBe(false))
})

describe('networks that an operator names', () => {
  test('hold their addresses and no other, mapped ones too', () => {
    const networks = networksFromText('10.0.0.0/8, 127.0.0.1,fd00::/8 , ::ffff:192.168.0.0/112')
    const within = (address: string) => isWithin(address, networks ?? [])
    expect(['10.255.0.1', '127.0.0.1', '::ffff:10.0.0.1', 'fd00::1', '192.168.3.4'].filter(within)).toHaveLength(5)
    expect(['11.0.0.1', '127.0.0.2', 'fe00::1', '192.169.0.1', '::1', 'name', ''].filter(within)).toEqual([])
  })

  test.each([
    '10.0.0.0/33',
    '10.0.0/8',
    '::/129',
    'private',
    '10.0.0.1,',
    '',
    'fe80::1%eth0',
    '1/8',
    '10.0.0.0/-1',
    '::ffff:0:0/90',
  ])('are refused where they cannot be read: "%s"', (text) => expect(networksFromText(text)).toBeUndefined())
})
