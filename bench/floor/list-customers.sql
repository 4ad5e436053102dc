-- Frozen on 2026-11-21: the one statement of GET /v1/customers. $1 is today, $2 the account, $3 the first identifier, $4 how many.
select
  c.customer_id as "id", c.reference, c.is_company as "isCompany", c.name, c.last_name as "lastName",
  c.registration_number as "registrationNumber", c.vat_number as "vatNumber", c.company, c.email, c.email_cc as "emailCc",
  c.cell, c.tel, c.fax, c.address1, c.address2, c.city, c.state, c.country, c.country_state as "countryState", c.zip_code as "zipCode",
  c.country_id as "countryId", c.country_state_id as "countryStateId", c.primary_gateway_id as "primaryGatewayId", c.currency,
  c.created_at as "createdAt", c.suspended_at as "suspendedAt", c.archived_at as "archivedAt", c.paused_on as "pausedOn",
  c.is_waive_taxes as "isWaiveTaxes", c.payment_method as "paymentMethod", c.auto_send_invoice as "autoSendInvoice",
  c.auto_send_statement as "autoSendStatement", c.statement_last_sent_on as "statementLastSentOn",
  c.payment_term_days as "paymentTermDays", c.locale, c.is_collection_hold as "isCollectionHold", c.version,
  (select count(*)::int from subscriptions s
    where s.account_id = c.account_id and s.customer_id = c.customer_id and s.start_date <= $1 and s.cancelled_on is null
      and (s.end_date is null or s.end_date > $1)
      and (s.pending_kind is distinct from 'cancellation' or s.pending_on > $1)) as "activeSubscriptions",
  coalesce((select t.receivable_minor from customer_totals t
    where t.account_id = c.account_id and t.customer_id = c.customer_id and t.currency = c.currency), 0) as "balanceMinor"
from (
  select * from customers c where c.account_id = $2 and c.customer_id >= $3 order by c.customer_id offset 0 limit $4) c
order by c.customer_id
