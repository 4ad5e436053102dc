import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { CardBrand } from '../../kernel/bank-numbers.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { BankKind, MethodKind } from '../../kernel/rails.ts'
import { bigintList } from '../../platform/database/columns.ts'
import { type OfMany, type Queryable, rowsOfMany, type Transaction } from '../../platform/database/database.ts'
import { arrayLiteral, type Fragment, fragment, NOTHING, sql } from '../../platform/database/sql.ts'
import { inPage, type PageStart } from '../../platform/http/paging.ts'
import type { MandateDates } from './emandate.ts'

export type MethodState = 'unverified' | 'verified' | 'rejected'

/** Fields of a card, as its gateway keeps it; null in every field of a bank account. */
export interface CardFields {
  gatewayId: Id | null
  /** The gateway's name of the card; it never leaves the service. */
  gatewayToken: string | null
  fingerprint: string | null
  cardBrand: CardBrand | null
  nameOnCard: string | null
  lastNameOnCard: string | null
  expiryMonth: number | null
  expiryYear: number | null
}

/** A bank account; null in every field of a card. */
export interface BankFields {
  accountType: string | null
  accountHolder: string | null
  bank: string | null
  /** AccountNumber or IBAN, sealed. */
  number: Buffer | null
  /** A keyed hash of kind and number, by which the number is found again. */
  numberHash: Buffer | null
  branchCode: string | null
  routingNumber: string | null
  bic: string | null
  mandateReference: string | null
  mandateDate: IsoDate | null
  emandateId: Id | null
  /** Of the account that the mandate was given for, which may be another by now; null without a mandate. */
  mandateNumberHash: Buffer | null
}

export interface StoredMethod extends CardFields, BankFields {
  id: Id
  customerId: CustomerId
  kind: MethodKind
  /** Our own random name of it. */
  token: string
  isPrimary: boolean
  state: MethodState
  lastFour: string
  /** A card that others stored at the gateway: it stays there when it is forgotten here. */
  isBrought: boolean
  version: number
}

const COLUMNS = fragment`
  m.payment_method_id as "id", m.customer_id as "customerId", m.kind, m.token, m.is_primary as "isPrimary", m.state, m.last_four as "lastFour",
  m.version, m.gateway_id as "gatewayId", m.gateway_token as "gatewayToken", m.fingerprint, m.card_brand as "cardBrand",
  m.name_on_card as "nameOnCard", m.last_name_on_card as "lastNameOnCard", m.expiry_month as "expiryMonth", m.expiry_year as "expiryYear",
  m.account_type as "accountType", m.account_holder as "accountHolder", m.bank, m.number, m.number_hash as "numberHash",
  m.branch_code as "branchCode", m.routing_number as "routingNumber", m.bic, m.mandate_reference as "mandateReference",
  m.mandate_date as "mandateDate", m.emandate_id as "emandateId", m.mandate_number_hash as "mandateNumberHash", m.is_brought as "isBrought"`

export const findMethod = async (db: Queryable, account: AccountId, id: Id): Promise<StoredMethod | undefined> =>
  (await rowsOfMany<Id, StoredMethod>(db, account, methods, [id], (row, ids) => ids.includes(row.id)))[0]

const methods: OfMany<Id> = (account, ids) => sql`
    select ${COLUMNS} from payment_methods m where m.account_id = ${account} and m.payment_method_id = any(${bigintList(ids)}::bigint[])`

/** Locks a method, after its customer: methods of a customer change one after the other. */
export async function lockMethod(tx: Transaction, account: AccountId, id: Id): Promise<StoredMethod | undefined> {
  await tx.rows(sql`
    select 1 from customers c where c.account_id = ${account} and c.customer_id = (
      select m.customer_id from payment_methods m where m.account_id = ${account} and m.payment_method_id = ${id}) for no key update`)
  return tx.first<StoredMethod>(sql`
    select ${COLUMNS} from payment_methods m where m.account_id = ${account} and m.payment_method_id = ${id} for update`)
}

/** Conditions of a list of methods; null: those of all customers. */
export interface MethodFilter {
  customerId: CustomerId | null
}

const conditions = ({ customerId }: MethodFilter): Fragment =>
  customerId == null ? NOTHING : fragment`and m.customer_id = ${customerId}`

export const listMethods = (db: Queryable, account: AccountId, filter: MethodFilter, start: PageStart, limit: number) =>
  db.rows<StoredMethod>(sql`
    select ${COLUMNS} from payment_methods m where m.account_id = ${account} ${conditions(filter)}
     order by m.payment_method_id ${inPage(start, limit)}`)

export const countMethods = (db: Queryable, account: AccountId, filter: MethodFilter) =>
  db.count(sql`select count(*) as "n" from payment_methods m where m.account_id = ${account} ${conditions(filter)}`)

/** Lists all methods of a customer, the oldest first. */
export const listMethodsOf = (db: Queryable, account: AccountId, customer: CustomerId) =>
  db.rows<StoredMethod>(sql`
    select ${COLUMNS} from payment_methods m where m.account_id = ${account} and m.customer_id = ${customer} order by m.payment_method_id`)

/** Lists methods by their identifiers; those that are gone are left out. */
export const listMethodsById = (db: Queryable, account: AccountId, ids: readonly Id[]) =>
  db.rows<StoredMethod>(sql`
    select ${COLUMNS} from payment_methods m
     where m.account_id = ${account} and m.payment_method_id = any(${`{${ids.join(',')}}`}::bigint[])`)

/** Draws the identifier of a method to be: its number is sealed for it before it is written. */
export const drawMethodId = (tx: Transaction): Promise<Id> =>
  tx.value<Id>(sql`select nextval('payment_methods_payment_method_id_seq') as "id"`)

export const insertMethod = (tx: Transaction, m: Omit<StoredMethod, 'version'>, createdAt: Instant) =>
  tx.rows(sql`
    insert into payment_methods (account_id, payment_method_id, customer_id, kind, token, is_primary, state, last_four, created_at, gateway_id,
      gateway_token, fingerprint, card_brand, name_on_card, last_name_on_card, expiry_month, expiry_year, account_type, account_holder, bank,
      number, number_hash, branch_code, routing_number, bic, mandate_reference, mandate_date, emandate_id,
      mandate_number_hash, is_brought)
    values (${tx.account}, ${m.id}, ${m.customerId}, ${m.kind}, ${m.token}, ${m.isPrimary}, ${m.state}, ${m.lastFour}, ${createdAt},
      ${m.gatewayId}, ${m.gatewayToken}, ${m.fingerprint}, ${m.cardBrand}, ${m.nameOnCard}, ${m.lastNameOnCard}, ${m.expiryMonth},
      ${m.expiryYear}, ${m.accountType}, ${m.accountHolder}, ${m.bank}, ${m.number}, ${m.numberHash}, ${m.branchCode}, ${m.routingNumber},
      ${m.bic}, ${m.mandateReference}, ${m.mandateDate}, ${m.emandateId}, ${m.mandateNumberHash}, ${m.isBrought})`)

export const updateBankAccount = (tx: Transaction, m: StoredMethod) =>
  tx.rows(sql`
    update payment_methods set kind = ${m.kind}, state = ${m.state}, last_four = ${m.lastFour}, account_type = ${m.accountType},
      account_holder = ${m.accountHolder}, bank = ${m.bank}, number = ${m.number}, number_hash = ${m.numberHash},
      branch_code = ${m.branchCode}, routing_number = ${m.routingNumber}, bic = ${m.bic}, mandate_reference = ${m.mandateReference},
      mandate_date = ${m.mandateDate}, emandate_id = ${m.emandateId}, mandate_number_hash = ${m.mandateNumberHash}, version = version + 1
    where account_id = ${tx.account} and payment_method_id = ${m.id}`)

/** Lists the cards that a gateway keeps under one of some tokens, by customer. */
export const listCardsByToken = (db: Queryable, account: AccountId, gateway: Id, tokens: readonly string[]) =>
  db.rows<{ id: Id; customerId: CustomerId }>(sql`
    select payment_method_id as "id", customer_id as "customerId" from payment_methods
     where account_id = ${account} and gateway_id = ${gateway} and gateway_token = any(${arrayLiteral(tokens)}::text[])
     order by customer_id, payment_method_id`)

export const updateCard = (tx: Transaction, m: Pick<StoredMethod, 'id' | 'lastFour'> & Omit<CardFields, 'gatewayId'>) =>
  tx.rows(sql`
    update payment_methods set last_four = ${m.lastFour}, gateway_token = ${m.gatewayToken}, fingerprint = ${m.fingerprint},
      card_brand = ${m.cardBrand}, expiry_month = ${m.expiryMonth}, expiry_year = ${m.expiryYear}, version = version + 1
    where account_id = ${tx.account} and payment_method_id = ${m.id}`)

export const updateMethodState = (tx: Transaction, id: Id, state: MethodState) =>
  tx.rows(sql`
    update payment_methods set state = ${state}, version = version + 1
     where account_id = ${tx.account} and payment_method_id = ${id}`)

/** Unsets the primary method of a locked customer, so that another can be it. */
export const clearPrimary = (tx: Transaction, customer: CustomerId) =>
  tx.rows(sql`
    update payment_methods set is_primary = false, version = version + 1
     where account_id = ${tx.account} and customer_id = ${customer} and is_primary`)

export const setPrimary = (tx: Transaction, id: Id) =>
  tx.rows(sql`
    update payment_methods set is_primary = true, version = version + 1
     where account_id = ${tx.account} and payment_method_id = ${id}`)

export const deleteMethod = (tx: Transaction, id: Id) =>
  tx.rows(sql`delete from payment_methods where account_id = ${tx.account} and payment_method_id = ${id}`)

/** Finds what names a method by request, as far as it is open, and tries of it without an outcome; a default that was taken does not count. */
export const methodUses = (db: Queryable, account: AccountId, id: Id, today: IsoDate) =>
  db.one<Record<'invoices' | 'subscriptions' | 'recurring' | 'tries' | 'batches', boolean>>(sql`
    select exists (select 1 from invoices where account_id = ${account} and payment_method_id = ${id} and is_method_requested
             and cancelled_at is null and total_minor > paid_minor + negative_minor) as "invoices",
           exists (select 1 from subscriptions where account_id = ${account} and payment_method_id = ${id} and cancelled_on is null
             and (end_date is null or end_date > ${today})) as "subscriptions",
           exists (select 1 from recurring_invoices where account_id = ${account} and payment_method_id = ${id} and cancelled_on is null
             and (end_date is null or end_date > ${today})) as "recurring",
           exists (select 1 from collection_tries where account_id = ${account} and payment_method_id = ${id} and state = 'open') as "tries",
           exists (select 1 from batch_lines l join payment_batches b on b.account_id = ${account} and b.batch_id = l.batch_id
             where l.account_id = ${account} and l.payment_method_id = ${id} and b.state not in ('completed', 'cancelled')
               and not (l.is_service_made and b.state in ('open', 'failed'))) as "batches"`)

/** Facts that a bank knows of a mandate by the debits that were handed to it. */
export interface MandateUse {
  /** The day of the last debit; null: none yet. */
  lastUsedOn: IsoDate | null
  /** Of the account that the last debit named. */
  sentNumberHash: Buffer | null
}

export const NEVER_USED: MandateUse = { lastUsedOn: null, sentNumberHash: null }

/** Lists the last use of the mandates of methods. Rule: a debit that came back was one, a debit that was never sent to the bank was none. */
export const listMandateUses = (db: Queryable, account: AccountId, ids: readonly Id[]) =>
  db.rows<MandateUse & { id: Id }>(sql`
    select m.payment_method_id as "id", used.action_date as "lastUsedOn", used.sent_number_hash as "sentNumberHash"
      from payment_methods m
     cross join lateral (
       select b.action_date, l.sent_number_hash
         from batch_lines l join payment_batches b on b.account_id = ${account} and b.batch_id = l.batch_id
        where l.account_id = ${account} and l.sent_mandate = m.mandate_reference and l.customer_id = m.customer_id
          and b.state in ('submitted', 'completed')
          and l.result_class is distinct from 'not_sent' and l.returned_class is distinct from 'not_sent'
        order by b.action_date desc, l.payment_id desc limit 1) used
     where m.account_id = ${account} and m.payment_method_id = any(${`{${ids.join(',')}}`}::bigint[])`)

/** An eMandate as far as a method is linked to it: what it was made for, and when. */
export interface LinkableMandate extends MandateDates {
  id: Id
  kind: BankKind
  numberHash: Buffer
  branchCode: string | null
  /** The method that it is linked to, or that it is to be signed for. */
  methodId: Id | null
}

/** Locks an eMandate: of two methods that name it at once one gets it. */
export const lockLinkableMandate = (tx: Transaction, account: AccountId, id: Id) =>
  tx.first<LinkableMandate>(sql`
    select e.emandate_id as "id", e.kind, e.number_hash as "numberHash", e.terms -> 'bank' ->> 'branchCode' as "branchCode",
           e.signed_at as "signedAt", e.ended_at as "endedAt", e.created_at as "createdAt", e.made_at as "madeAt",
           coalesce((select m.payment_method_id from payment_methods m where m.account_id = ${account} and m.emandate_id = e.emandate_id),
             e.payment_method_id) as "methodId"
      from emandates e where e.account_id = ${account} and e.emandate_id = ${id} for update of e`)

/** Finds whether a method is in a batch that is being built or was handed over. */
export const isBeingDebited = async (db: Queryable, account: AccountId, id: Id): Promise<boolean> =>
  (
    await db.rows(sql`
      select 1 from batch_lines l join payment_batches b on b.account_id = ${account} and b.batch_id = l.batch_id
       where l.account_id = ${account} and l.payment_method_id = ${id} and b.state in ('build', 'submitted') limit 1`)
  ).length > 0
