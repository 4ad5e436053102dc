/** The mail server of the deployment, as SMTP_URL names it. */

export interface SmtpSettings {
  host: string
  port: number
  /** tls: from the first byte; required: by STARTTLS or not at all; offered: by STARTTLS where the server has it; none: never. */
  encryption: 'tls' | 'required' | 'offered' | 'none'
  login: { user: string; pass: string } | null
}

const PORTS: Record<string, number> = { 'smtp:': 587, 'smtps:': 465 }
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[?::1\]?)$/

/**
 * Reads an address such as smtp://user:password@host:587 or smtps://host; undefined where it is none. `requireTLS=true` in its query asks
 * for STARTTLS, `ignoreTLS=true` for none. Rule: a password leaves the machine encrypted only, unless ignoreTLS asks for that.
 */
export function smtpSettings(text: string): SmtpSettings | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const port = PORTS[url?.protocol ?? '']
  if (!url || port === undefined || url.hostname === '' || !['', '/'].includes(url.pathname)) return undefined
  const asked = [...url.searchParams]
  if (asked.some(([name, value]) => !['requireTLS', 'ignoreTLS'].includes(name) || value !== 'true')) return undefined
  if (asked.length > 1 || (asked.length > 0 && url.protocol === 'smtps:')) return undefined
  const user = plain(url.username)
  const pass = plain(url.password)
  if (user === undefined || pass === undefined) return undefined
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const isSecret = user !== '' && !LOOPBACK.test(url.hostname)
  return {
    host,
    port: url.port === '' ? port : Number(url.port),
    encryption:
      url.protocol === 'smtps:'
        ? 'tls'
        : url.searchParams.has('ignoreTLS')
          ? 'none'
          : url.searchParams.has('requireTLS') || isSecret
            ? 'required'
            : 'offered',
    login: user === '' ? null : { user, pass },
  }
}

function plain(encoded: string): string | undefined {
  try {
    return decodeURIComponent(encoded)
  } catch {
    return undefined
  }
}
