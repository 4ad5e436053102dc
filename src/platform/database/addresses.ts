/**
 * The servers of one address. As libpq has it, an address may name several, of which one takes writes at a time:
 * `postgres://user:password@one:5432,two:5432/database`. The driver knows only addresses of one server.
 */

// The last @ of the authority ends user and password, whatever else they hold.
const ADDRESS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/i

/** Splits an address into addresses of one server each, in their order. Sockets are named by `?host=/one,/two`. */
export function serversOf(address: string): string[] {
  const [, before = '', hosts = '', after = ''] = ADDRESS.exec(address) ?? []
  const sockets = new URLSearchParams(/\?([^#]*)/.exec(after)?.[1] ?? '').get('host')
  if (sockets?.includes(','))
    return sockets
      .split(',')
      .map((socket) => address.replace(/([?&]host=)[^&#]*/, (_, name: string) => name + encodeURIComponent(socket)))
  return hosts.includes(',') ? hosts.split(',').map((host) => `${before}${host}${after}`) : [address]
}

/** Returns the address of a server, or of several, as it may be shown: never with its password. */
export const shownServer = (databaseUrl: string): string =>
  serversOf(databaseUrl)
    .map((server) => {
      // The embedded database has a folder for an address.
      if (server.startsWith('/')) return server
      const url = new URL(server)
      const host = url.searchParams.get('host') || url.hostname || 'localhost'
      return `${host}${url.port ? `:${url.port}` : ''}${url.pathname}`
    })
    .join(' or ')

/**
 * Takes the session's settings (`?options=…`) and its name out of an address: the driver would put them in the place of ours, and with them of the role that
 * the service works under, and of the name by which migrations and the watch find its connections.
 */
export function withoutOptions(address: string): { address: string; options: string } {
  const [, before = address, query = '', after = ''] = /^([^?#]*)\?([^#]*)(.*)$/s.exec(address) ?? []
  const settings = new URLSearchParams(query)
  if (!settings.has('options') && !settings.has('application_name')) return { address, options: '' }
  const options = settings.get('options')
  settings.delete('options')
  settings.delete('application_name')
  const rest = String(settings)
  return {
    address: `${before}${rest === '' ? '' : `?${rest}`}${after}`,
    options: options === null ? '' : `${options} `,
  }
}
