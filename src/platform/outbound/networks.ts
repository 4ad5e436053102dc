import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Addresses of the network: which of them are public, and the networks that an operator names. */

type Address = ipaddr.IPv4 | ipaddr.IPv6
export type Network = readonly [address: Address, bits: number]

/** The only block from which public unicast addresses are given out (IANA, "IPv6 Global Unicast Address Space"). */
const PUBLIC_V6: Network = [ipaddr.parse('2000::'), 3]
const MAPPED_BITS = 96

/** Reads an address as it is connected to: an IPv4 address that is mapped into IPv6 counts as what it is. */
const addressOf = (text: string): Address | undefined => (isIP(text) === 0 ? undefined : ipaddr.process(text))

const isIn = (address: Address, [network, bits]: Network): boolean =>
  address.kind() === network.kind() && address.match(network, bits)

/** Returns whether an address is public unicast: neither of a private or special network nor one within which others hide, as 6to4. */
export function isPublic(text: string): boolean {
  const address = addressOf(text)
  if (!address || address.range() !== 'unicast') return false
  return address instanceof ipaddr.IPv4 || (address.zoneId === undefined && isIn(address, PUBLIC_V6))
}

/** Returns whether an address lies in one of some networks. */
export function isWithin(text: string, networks: readonly Network[]): boolean {
  const address = addressOf(text)
  return address !== undefined && networks.some((network) => isIn(address, network))
}

/** Reads addresses and networks with commas between them, such as 10.0.0.0/8; undefined where one cannot be read. */
export function networksFromText(text: string): readonly Network[] | undefined {
  const networks = text.split(',').map((part) => networkOf(part.trim()))
  return networks.every((network) => network !== undefined) ? networks : undefined
}

function networkOf(text: string): Network | undefined {
  const [, host = '', digits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const version = isIP(host)
  if (version === 0 || host.includes('%')) return undefined
  const most = version === 4 ? 32 : 128
  const bits = digits === undefined ? most : Number(digits)
  if (bits > most) return undefined
  const address = ipaddr.parse(host)
  if (address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress())
    return bits < MAPPED_BITS ? undefined : [address.toIPv4Address(), bits - MAPPED_BITS]
  return [address, bits]
}
