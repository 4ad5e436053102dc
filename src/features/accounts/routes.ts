import { introduced } from '../../platform/http/tags.ts'
import { invalid, missing } from '../../kernel/fault.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { etagOf } from '../../platform/http/etag.ts'
import { lookupOperation, type Operation, writeOperation } from '../../platform/http/operation.ts'
import { withWarnings } from '../../platform/http/warnings.ts'
import { recordEvent } from '../events/record.ts'
import {
  type AccountSettings,
  deleteLogo,
  findLogo,
  getAccountSettings,
  lockAccountSettings,
  type Logo,
  replaceLogo,
} from './queries.ts'
import { imageTypeOf } from './rules.ts'
import { announceAccountChange, checkAccountBody, editAccount } from './settings.ts'
import { warningsOfAccount } from './warnings.ts'
import { accountEtag, AccountIn, AccountOut, accountToWire, LogoRecordOut } from './wire.ts'
import { type Answer, noContent } from '../../platform/http/answer.ts'

const tag = introduced('Account', 'The account itself: name, address, zone, language, currency, documents and logo.')
const LOGO_BYTES_MAX = 512 * 1024
const LOGO_TYPES = ['image/png', 'image/jpeg']

interface Deps {
  /** Forgets what this process remembers of an account. */
  forgetAccount(account: AccountId): void
  /** Follows another zone of the account, in which days and cut-offs are. */
  onZoneChanged(tx: Transaction, about: { timeZone: string }): Promise<void>
}

const logoEtag = ({ mediaType, content }: Logo): string => etagOf(mediaType, content.toString('base64'))

async function presentLogo(db: Queryable, account: AccountId): Promise<Logo> {
  const logo = await findLogo(db, account)
  if (!logo) throw missing('logo_missing', 'This account has no logo.')
  return logo
}

/** Writes the record of a logo's event: the image itself is not repeated in the history. */
const logoRecord = (logo: Logo | undefined): string =>
  LogoRecordOut.write({ MediaType: logo?.mediaType ?? null, Bytes: logo?.content.length ?? null })

async function answerAccount(db: Queryable, { account }: RequestContext): Promise<Answer> {
  const found = await getAccountSettings(db, account.id)
  return { status: 200, body: AccountOut.write(accountToWire(found)), etag: accountEtag(found) }
}

const settings = ({ forgetAccount, onZoneChanged }: Deps): Operation[] => [
  lookupOperation({
    id: 'getAccount',
    path: '/v1/account',
    tag,
    summary: 'Read the settings of the account',
    success: { status: 200, schema: AccountOut.schema },
    read: answerAccount,
  }),
  writeOperation({
    id: 'editAccount',
    method: 'PUT',
    path: '/v1/account',
    tag,
    summary: 'Change settings of the account: only what is sent',
    body: AccountIn,
    success: { status: 204, headers: ['Perennial-Warning'] },
    representation: { schema: AccountOut.schema, headers: ['ETag'], read: answerAccount },
    refusals: { 409: 'NextInvoiceNum would be lowered, or TestMailTo of a live account' },
    record: (tx) => lockAccountSettings(tx, tx.account),
    etag: accountEtag,
    references: (tx, context, { body }, problems) => checkAccountBody(tx, context, body, problems),
    write: async (tx, context, { body }, present: AccountSettings) => {
      const edited = await editAccount(tx, context, present, body)
      if (edited.timeZone !== present.timeZone) await onZoneChanged(tx, edited)
      await announceAccountChange(tx, forgetAccount)
      return withWarnings(noContent(accountEtag(edited)), warningsOfAccount(edited))
    },
  }),
]

const logo: Operation[] = [
  lookupOperation({
    id: 'getLogo',
    path: '/v1/account/logo',
    tag,
    summary: 'Download the logo of the account',
    success: { status: 200, media: LOGO_TYPES },
    refusals: { 404: 'The account has no logo' },
    read: async (db, { account }) => {
      const found = await presentLogo(db, account.id)
      const headers = { 'x-content-type-options': 'nosniff' }
      return { status: 200, body: found.content, contentType: found.mediaType, etag: logoEtag(found), headers }
    },
  }),
  writeOperation({
    id: 'replaceLogo',
    method: 'PUT',
    path: '/v1/account/logo',
    tag,
    summary: 'Set the logo of the account: a PNG or JPEG image as the body',
    rawBody: { types: LOGO_TYPES, bytesMax: LOGO_BYTES_MAX },
    success: { status: 204, headers: ['ETag'] },
    record: (tx) => findLogo(tx, tx.account),
    // No state that a caller can have read where there is none.
    etag: (present) => (present ? logoEtag(present) : ''),
    write: async (tx, context, { bytes }) => {
      const content = bytes ?? Buffer.alloc(0)
      const mediaType = imageTypeOf(content)
      if (!mediaType) throw invalid('not_an_image', 'The body must be a PNG or JPEG image.')
      await replaceLogo(tx, tx.account, { mediaType, content })
      const record = logoRecord({ mediaType, content })
      await recordEvent(tx, context, { type: 'account.logo_changed', recordId: tx.account, record })
      return noContent(logoEtag({ mediaType, content }))
    },
  }),
  writeOperation({
    id: 'deleteLogo',
    method: 'DELETE',
    path: '/v1/account/logo',
    tag,
    summary: 'Take away the logo of the account',
    refusals: { 404: 'The account has no logo' },
    record: (tx) => presentLogo(tx, tx.account),
    etag: logoEtag,
    write: async (tx, context) => {
      await deleteLogo(tx, tx.account)
      await recordEvent(tx, context, {
        type: 'account.logo_changed',
        recordId: tx.account,
        record: logoRecord(undefined),
      })
      return noContent()
    },
  }),
]

export const accountOperations = (deps: Deps): Operation[] => [...settings(deps), ...logo]
