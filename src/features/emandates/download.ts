import { type Account, type Caller, momentOf, type RealClock } from '../../kernel/context.ts'
import { Fault, missing } from '../../kernel/fault.ts'
import { instantOf } from '../../kernel/zone.ts'
import type { AskedDocument, Download } from '../../platform/http/download.ts'
import type { DescribedDownload } from '../../platform/http/openapi-downloads.ts'
import { type Link, type Links, MANDATE_DOWNLOAD } from '../../platform/page/links.ts'
import { getAccountSettings, findAccount } from '../accounts/queries.ts'
import { mandateOfToken, mandateReference } from '../payment-methods/emandate.ts'
import { type MandateDrawingDeps, signedPdf, unsignedPdf } from './document.ts'
import { glyphWarningsOfMandate } from './glyphs.ts'
import { findMandate } from './queries.ts'
import type { Mandate } from './types.ts'

/** The PDF of a mandate: for a key with full permission by its Token, for the signee by a link of its own. */

export interface DownloadDeps extends MandateDrawingDeps {
  links: Links
  realClock: RealClock
  /** Finds the caller of an Authorization header and counts the request, or throws 401 or 429. */
  authenticate(authorization: string, address: string): Promise<Caller>
}

const DAY_MS = 86_400_000
const DAYS_OF_LINK = 90

/** The download as the OpenAPI document describes it. */
export const MANDATE_DOWNLOAD_ABOUT: DescribedDownload = {
  path: MANDATE_DOWNLOAD,
  id: 'downloadEMandate',
  tag: 'eMandates',
  summary:
    'Download the PDF of an eMandate: with a key of full permission by its Token, without a key by the link of the signee',
  token: 'The Token of the eMandate, or that of the link in the mail to the signee',
  refusals: {
    401: 'No key, and no link of a signee; or a wrong key',
    403: 'The API key may only read',
    404: 'There is no eMandate of this Token',
    410: 'The link of the signee was valid for 90 days after the signature',
  },
}

export const mandateDownload = (deps: DownloadDeps): Download => ({
  path: MANDATE_DOWNLOAD,
  fetch: async (asked) => (asked.authorization === undefined ? fetchBySignee(deps, asked) : fetchByKey(deps, asked)),
})

const named = (mandate: Mandate, pdf: Buffer) => ({
  name: `mandate-${mandateReference(mandate)}`,
  pdf,
  warnings: glyphWarningsOfMandate(mandate),
})

async function fetchByKey(deps: DownloadDeps, { token, authorization = '', address, gone }: AskedDocument) {
  const { account, permission } = await deps.authenticate(authorization, address)
  if (permission !== 'full')
    throw new Fault('forbidden', [
      { code: 'key_read_only', message: 'This API key may only read; use a key with full permission.', field: null },
    ])
  const reader = deps.db.reader(account.id)
  const id = mandateOfToken(deps.links, account.id, token)
  const mandate = id === undefined ? undefined : await findMandate(reader, account.id, id)
  if (!mandate) throw missing('emandate_unknown', 'There is no eMandate of this token.', 'token')
  if (mandate.signedAt !== null) return named(mandate, await signedPdf(deps, account.id, mandate, gone))
  const { locale } = await getAccountSettings(reader, account.id)
  return named(mandate, await unsignedPdf(deps, account.id, mandate, locale, gone))
}

const unknownLink = () =>
  new Fault('unauthenticated', [
    {
      code: 'link_unknown',
      message: 'Send a key with full permission, or open the whole link of your mail.',
      field: 'token',
    },
  ])

async function fetchBySignee(deps: DownloadDeps, { token, gone }: AskedDocument) {
  const link = deps.links.read('c', token)
  const account = link && (await findAccount(deps.db.reader(link.account), link.account))
  const mandate = link && account && (await findMandate(deps.db.reader(link.account), link.account, link.record))
  if (!account || !mandate || mandate.signedAt === null) throw unknownLink()
  if (isOver(deps, account, mandate.signedAt, mandate.signedReallyAt ?? mandate.signedAt))
    throw new Fault('gone', [
      { code: 'link_expired', message: 'This link was valid for 90 days; ask for a copy.', field: 'token' },
    ])
  return named(mandate, await signedPdf(deps, account.id, mandate, gone))
}

const isOver = (
  { realClock }: Pick<DownloadDeps, 'realClock'>,
  account: Account,
  clock: string,
  real: string,
): boolean => {
  const since = (from: string, to: string) => Date.parse(to) - Date.parse(from)
  const { now } = momentOf(account, realClock)
  return Math.max(since(clock, now), since(real, instantOf(realClock()))) >= DAYS_OF_LINK * DAY_MS
}

/** Returns the link by which a signee gets a copy, for 90 days after the signature. */
export const copyLink = (account: Link['account'], record: Link['record']): Link => ({
  kind: 'c',
  account,
  record,
  counter: 0,
})
