import type { Instant } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { fragment, sql } from '../../platform/database/sql.ts'
import type { Evidence, Mandate, NewMandate, Signee } from './types.ts'

const columns = (account: AccountId) => fragment`
  e.emandate_id as "id", e.payment_method_id as "methodId", e.channel, e.redirect_url as "redirectUrl", e.auth_origin as "authOrigin",
  e.is_customer_editable as "isCustomerEditable", e.is_company_signee as "isCompanySignee", e.signee, e.terms, e.kind, e.sealed_number as "number",
  e.number_hash as "numberHash", e.last_four as "lastFour", e.created_at as "createdAt", e.made_at as "madeAt", e.signed_at as "signedAt",
  e.signed_really_at as "signedReallyAt",  e.ended_at as "endedAt",
  coalesce((select m.payment_method_id from payment_methods m where m.account_id = ${account} and m.emandate_id = e.emandate_id),
    e.payment_method_id) as "linkedMethodId"`

export const findMandate = (db: Queryable, account: AccountId, id: Id) =>
  db.first<Mandate>(sql`
    select ${columns(account)} from emandates e where e.account_id = ${account} and e.emandate_id = ${id}`)

export const lockMandate = (tx: Transaction, account: AccountId, id: Id) =>
  tx.first<Mandate>(sql`
    select ${columns(account)} from emandates e where e.account_id = ${account} and e.emandate_id = ${id} for update of e`)

/** Draws the identifier of a mandate to be: its number is sealed for it before it is written. */
export const drawMandateId = (tx: Transaction): Promise<Id> =>
  tx.value<Id>(sql`select nextval('emandates_emandate_id_seq') as "id"`)

export const insertMandate = (tx: Transaction, m: NewMandate) =>
  tx.rows(sql`
    insert into emandates (account_id, emandate_id, payment_method_id, channel, redirect_url, auth_origin, is_customer_editable, is_company_signee, signee,
      terms, kind, sealed_number, number_hash, last_four, created_at, made_at)
    values (${tx.account}, ${m.id}, ${m.methodId}, ${m.channel}, ${m.redirectUrl}, ${m.authOrigin}, ${m.isCustomerEditable}, ${m.isCompanySignee},
      ${JSON.stringify(m.signee)}::jsonb, ${JSON.stringify(m.terms)}::jsonb, ${m.kind}, ${m.number}, ${m.numberHash}, ${m.lastFour},
      ${m.createdAt}, ${m.madeAt})`)

/** Ends the unsigned mandates that a stored method has, or is linked to: another takes their place. */
export const endOpenMandatesOf = (tx: Transaction, methodId: Id, at: Instant) =>
  tx.rows(sql`
    update emandates set ended_at = ${at}
     where account_id = ${tx.account} and signed_at is null and ended_at is null
       and (payment_method_id = ${methodId} or emandate_id = (
         select emandate_id from payment_methods where account_id = ${tx.account} and payment_method_id = ${methodId}))`)

export const updateSigned = (tx: Transaction, id: Id, signee: Signee, signedAt: Instant, reallyAt: Instant) =>
  tx.rows(sql`
    update emandates set signee = ${JSON.stringify(signee)}::jsonb, signed_at = ${signedAt}, signed_really_at = ${reallyAt}
     where account_id = ${tx.account} and emandate_id = ${id}`)

/** Ends a mandate whose account is not that of its method any more. */
export const endMandate = (tx: Transaction, id: Id, at: Instant) =>
  tx.rows(
    sql`update emandates set ended_at = ${at} where account_id = ${tx.account} and emandate_id = ${id} and ended_at is null`,
  )

/** Lists the evidence of a mandate, in the order of its steps. */
export const listEvidence = (db: Queryable, account: AccountId, id: Id) =>
  db.rows<Evidence>(sql`
    select kind, happened_at as "at", details, hash from emandate_evidence
     where account_id = ${account} and emandate_id = ${id} order by step`)

export const insertEvidence = (tx: Transaction, id: Id, step: number, { kind, at, details, hash }: Evidence) =>
  tx.rows(sql`
    insert into emandate_evidence (account_id, emandate_id, step, kind, happened_at, details, hash)
    values (${tx.account}, ${id}, ${step}, ${kind}, ${at}, ${JSON.stringify(details)}::jsonb, ${hash})`)

export const findSealedPdf = (db: Queryable, account: AccountId, id: Id) =>
  db.first<{ sealed: Buffer }>(sql`
    select sealed_pdf as "sealed" from emandate_documents where account_id = ${account} and emandate_id = ${id}`)

/** Keeps the PDF of a locked mandate that has none. */
export async function insertSealedPdf(tx: Transaction, id: Id, sealed: Buffer, madeAt: Instant): Promise<void> {
  await tx.rows(sql`
    insert into emandate_documents (account_id, emandate_id, made_at, sealed_pdf) values (${tx.account}, ${id}, ${madeAt}, ${sealed})`)
  await tx.rows(
    sql`update emandates set pdf_made_at = ${madeAt} where account_id = ${tx.account} and emandate_id = ${id}`,
  )
}

/** A mandate of any account. */
export interface MandateName {
  account: AccountId
  id: Id
}

/** The most mandates that one look for PDFs to be made returns. */
export const MANDATES_A_LOOK = 20

/** Lists signed mandates of all accounts whose PDF is to be made, beginning after one. */
export const listMandatesWithoutPdf = (db: Queryable, after: MandateName) =>
  db.rows<MandateName>(
    sql`select account_id as "account", emandate_id as "id" from list_emandates_without_pdf(${after.account}, ${after.id})`,
  )

export const SIGNED_CHANNEL = 'emandate_signed'

/** Wakes those who make PDFs, once it is committed. */
export const announceSigned = (tx: Transaction) => tx.rows(sql`select pg_notify(${SIGNED_CHANNEL}, '')`)

/** The most mandates that one look for old ones returns. */
export const OLD_MANDATES_A_LOOK = 100

/** Lists mandates of all accounts that are kept no longer, beginning after one: see `KEEPING_TIMES` of the rules. */
export const listOldMandates = (
  db: Queryable,
  realNow: Instant,
  { unsignedDays, signedMonths }: { unsignedDays: number; signedMonths: object },
  after: MandateName,
) =>
  db.rows<MandateName>(
    sql`select account_id as "account", emandate_id as "id"
          from list_old_emandates(${realNow}::timestamptz, ${unsignedDays}, ${JSON.stringify(signedMonths)}::jsonb, ${after.account}, ${after.id})`,
  )

/** Deletes a mandate with its evidence and its PDF. */
export async function deleteMandate(tx: Transaction, id: Id): Promise<void> {
  await tx.rows(sql`delete from emandate_documents where account_id = ${tx.account} and emandate_id = ${id}`)
  await tx.rows(sql`delete from emandate_evidence where account_id = ${tx.account} and emandate_id = ${id}`)
  await tx.rows(sql`delete from emandates where account_id = ${tx.account} and emandate_id = ${id}`)
}

/** Keeps the customer of a method that is removed with the mandates that nobody has signed for it, so that anonymising still reaches them. */
export async function keepCustomerOfUnsigned(
  tx: Transaction,
  { id, customerId, emandateId }: { id: Id; customerId: CustomerId; emandateId: Id | null },
): Promise<void> {
  await tx.rows(sql`
    update emandates set customer_id = ${customerId}
     where account_id = ${tx.account} and signed_at is null and (emandate_id = ${emandateId} or payment_method_id = ${id})`)
}

/** Locks the mandates of a customer's methods, those they have no more too, that nobody has signed. */
export const lockUnsignedMandatesOf = (tx: Transaction, customer: CustomerId) =>
  tx.rows<Mandate>(sql`
    select ${columns(tx.account)} from emandates e
     where e.account_id = ${tx.account} and e.signed_at is null
       and (e.customer_id = ${customer}
            or exists (select 1 from payment_methods m where m.account_id = ${tx.account} and m.customer_id = ${customer}
                          and (m.emandate_id = e.emandate_id or m.payment_method_id = e.payment_method_id)))
     order by e.emandate_id for update of e`)
