import type { RequestContext } from '../../kernel/context.ts'
import { conflict } from '../../kernel/fault.ts'

/**
 * Returns the address below which the service answers, without a slash at its end: PUBLIC_URL, else `address`, that of the request, for a test account
 * alone. Throws a conflict for a live account: what a request names as its host is not to be trusted with the links of payers.
 */
export function baseOf({ account, publicUrl }: Pick<RequestContext, 'account' | 'publicUrl'>, address: string): string {
  if (publicUrl !== undefined) return publicUrl.replace(/\/$/, '')
  if (account.mode === 'test') return address
  throw conflict('public_url_missing', 'Nobody knows the address of this service: set PUBLIC_URL to make links.')
}
