import { randomUUID } from 'node:crypto'
import type { Instant } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { isOver, UNTIL } from '../../platform/database/lease.ts'
import { arrayLiteral, fragment, sql } from '../../platform/database/sql.ts'
import { type Stored, withTexts } from './invoice-mail.ts'
import { type AttachedDocument, type MailStatus, NO_DOMAIN, type Template } from './queries.ts'

/**
 * Statements of a sender of mail. It claims some rows under a lease and a token of its own, which every later statement names: a sender
 * whose claim has lapsed and was taken by another writes nothing more, and hands nothing over. Instants are real time, except for those of the mail.
 */

/** Returns the instant by which mail is due: never before that of the database, which dates new mail, so that a mail is due from the moment it is written. */
const dueBy = (now: Instant) => fragment`greatest(${now}::timestamptz, moment())`

/** Lists the accounts that have mail to send, or mail whose sender is gone. */
export const listAccountsWithMail = (db: Queryable, now: Instant): Promise<AccountId[]> =>
  db.values<AccountId>(sql`select distinct account_id as "id" from list_accounts_with_mail(${dueBy(now)})`)

/** A mail that a sender has claimed. */
export interface ClaimedMail {
  id: Id
  holder: string
  customerId: CustomerId | null
  template: Template
  to: string
  cc: string | null
  /** Receivers to be tried; null: all of them. */
  open: readonly string[] | null
  /** When the receiver took it, where the copy has yet to be taken. */
  takenAt: Instant | null
  messageId: string
  subject: string
  text: string
  html: string
  /** JSON of what its texts were composed from; null where the row has these. */
  facts: string | null
  sealed: Buffer | null
  documentKind: AttachedDocument['kind'] | null
  documentId: Id | null
  /** Tries with this one. */
  tries: number
  /** It was too old when a sender first could take it, and none has had it before. */
  isStale: boolean
}

/**
 * Claims mails that are due, the longest waiting first: each counts a try from here on. A Message-ID of an account without any address gets the
 * domain of the operator with its first claim, and keeps it.
 */
export const claimMails = async (
  tx: Transaction,
  { now, freshAfter, limit, domain }: { now: Instant; freshAfter: Instant; limit: number; domain: string },
): Promise<ClaimedMail[]> =>
  (
    await tx.rows<Stored<ClaimedMail>>(sql`
    update outbox o set status = 'sending', next_try_at = null, handed_over_at = null, tries = tries + 1, holder = ${randomUUID()},
           leased_until = ${UNTIL}, message_id = replace(o.message_id, ${`@${NO_DOMAIN}>`}, ${`@${domain}>`})
      from (select outbox_id, holder as "before" from outbox where account_id = ${tx.account} and next_try_at <= ${dueBy(now)}
             order by next_try_at, outbox_id limit ${limit} for update skip locked) as due
     where o.account_id = ${tx.account} and o.outbox_id = due.outbox_id
    returning o.outbox_id as "id", o.holder, o.customer_id as "customerId", o.template, o.to_address as "to", o.cc_address as "cc",
           o.open_addresses as "open", o.taken_at as "takenAt", o.message_id as "messageId", o.subject, o.text_body as "text",
           o.html_body as "html", o.facts, o.sealed_bodies as "sealed", o.document_kind as "documentKind", o.document_id as "documentId", o.tries,
           due.before is null and not o.is_released and o.written_at < ${freshAfter} as "isStale"`)
  ).map((row) => withTexts(row))

/** A mail of which a status is changed. */
export interface ChangedMail {
  id: Id
  customerId: CustomerId | null
  template: Template
}

const CHANGED = fragment`outbox_id as "id", customer_id as "customerId", template`

/** Holds claimed mails, which so were not tried. */
export const holdMails = (tx: Transaction, mails: readonly ClaimedMail[]) =>
  tx.rows(sql`
    update outbox set status = 'held', leased_until = null, tries = tries - 1
     where account_id = ${tx.account} and outbox_id = any (${arrayLiteral(mails.map(({ id }) => id))}::bigint[])`)

/** Holds mail that waits: of an account from which nothing leaves. */
export const holdQueuedMails = (tx: Transaction, limit: number) =>
  tx.rows<ChangedMail>(sql`
    update outbox o set status = 'held', next_try_at = null
      from (select outbox_id from outbox where account_id = ${tx.account} and next_try_at is not null
             order by next_try_at, outbox_id limit ${limit} for update skip locked) as waiting
     where o.account_id = ${tx.account} and o.outbox_id = waiting.outbox_id
    returning o.outbox_id as "id", o.customer_id as "customerId", o.template`)

/** A mail whose sender is gone. */
export interface LostMail extends Pick<
  ClaimedMail,
  'id' | 'holder' | 'to' | 'open' | 'takenAt' | 'documentKind' | 'documentId' | 'tries'
> {
  /** Its body was let go of: nobody knows whether it arrived. */
  isHandedOver: boolean
}

/** Locks mails whose sender has not renewed its claim, some at a time. */
export const lockLostMails = (tx: Transaction, limit: number) =>
  tx.rows<LostMail>(sql`
    select outbox_id as "id", holder, to_address as "to", open_addresses as "open", taken_at as "takenAt", document_kind as "documentKind",
           document_id as "documentId", tries, handed_over_at is not null as "isHandedOver"
      from outbox where account_id = ${tx.account} and status = 'sending' and ${isOver('leased_until')}
     order by outbox_id limit ${limit} for update skip locked`)

const claimOf = (account: AccountId, { id, holder }: Pick<ClaimedMail, 'id' | 'holder'>) =>
  fragment`account_id = ${account} and outbox_id = ${id} and holder = ${holder}`

/** Renews the claims of a sender. */
export const renewClaims = (tx: Transaction, mails: readonly ClaimedMail[]) =>
  tx.rows(sql`
    update outbox set leased_until = ${UNTIL}
     where account_id = ${tx.account} and outbox_id = any (${arrayLiteral(mails.map(({ id }) => id))}::bigint[])
       and holder = any (${arrayLiteral([...new Set(mails.map(({ holder }) => holder))])}::uuid[]) and status = 'sending'`)

/** Writes that the body leaves now. False: the claim is lost, or the mail is gone, and it must not leave. */
export const markHandedOver = async (tx: Transaction, mail: ClaimedMail): Promise<boolean> =>
  (await tx.first(sql`
    update outbox set handed_over_at = moment(), leased_until = ${UNTIL}
     where ${claimOf(tx.account, mail)} and status = 'sending' returning outbox_id`)) !== undefined

/** Outcome of a try. */
export interface MailTry {
  status: Exclude<MailStatus, 'sending' | 'held'>
  nextTryAt: Instant | null
  /** Null: no reply came, and the one before stays. */
  lastReply: string | null
  open: readonly string[] | null
  takenAt: Instant | null
  /** When the receiver took it, for a mail that is sent. */
  sentAt: Instant | null
}

/** Writes what came of a try, also after its claim has lapsed without another's. The secrets of a mail that was sent are forgotten; texts stand in the place of facts. */
export const finishMailTry = (
  tx: Transaction,
  claim: Pick<ClaimedMail, 'id' | 'holder'>,
  ended: MailTry,
  texts?: Pick<ClaimedMail, 'subject' | 'text' | 'html'>,
) =>
  tx.first<ChangedMail>(sql`
    update outbox set status = ${ended.status}, next_try_at = ${ended.nextTryAt}, leased_until = null,
           last_reply = coalesce(${ended.lastReply}, last_reply), taken_at = ${ended.takenAt}, sent_at = ${ended.sentAt},
           open_addresses = ${ended.open === null ? null : arrayLiteral(ended.open)}::text[],
           subject = coalesce(${texts?.subject ?? null}, subject), text_body = coalesce(${texts?.text ?? null}, text_body),
           html_body = coalesce(${texts?.html ?? null}, html_body), facts = case when ${texts?.text ?? null}::text is null then facts end,
           sealed_bodies = case when ${ended.status} <> 'sent' then sealed_bodies end
     where ${claimOf(tx.account, claim)} and status in ('sending', 'unknown')
    returning ${CHANGED}`)

/** Lets go of claimed mails that were not tried, as if they had not been claimed. */
export const releaseMails = (tx: Transaction, mails: readonly ClaimedMail[], now: Instant) =>
  tx.rows(sql`
    update outbox set status = 'queued', next_try_at = ${now}, leased_until = null, tries = tries - 1
     where account_id = ${tx.account} and outbox_id = any (${arrayLiteral(mails.map(({ id }) => id))}::bigint[])
       and holder = any (${arrayLiteral([...new Set(mails.map(({ holder }) => holder))])}::uuid[])
       and status = 'sending' and handed_over_at is null`)

/** Queues a locked mail anew, whatever was tried before. */
export const requeueMail = (tx: Transaction, id: Id) =>
  tx.rows(sql`
    update outbox set status = 'queued', next_try_at = moment(), tries = 0, is_released = true
     where account_id = ${tx.account} and outbox_id = ${id}`)
