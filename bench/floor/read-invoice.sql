-- Frozen on 2026-11-28: the statement of list-invoices.sql for one invoice, whose lines and taxes are rows. $1 is today, $2 the account, $3 the
-- invoice.
select
  i.invoice_id as "id", i.customer_id as "customerId", i.subscription_id as "subscriptionId", i.recurring_invoice_id as "recurringInvoiceId",
  i.number, coalesce(i.reference, 'I' || i.invoice_id) as "reference", i.po_number as "poNumber", i.currency, i.invoice_date as "invoiceDate",
  i.due_date as "dueDate", i.date_sent as "dateSent", i.last_updated as "lastUpdated", i.issued_at is null as "isDraft",
  i.cancelled_at is not null as "isCancelled", i.source, i.collection_method as "collectionMethod", i.gateway_id as "gatewayId",
  i.payment_method_id as "paymentMethodId", i.tries, i.next_try_date as "nextTryDate",
  nullif(coalesce(i.notes, case when i.account_version = a.version then a.notes else v.document ->> 'notes' end), '') as "notes",
  nullif(coalesce(i.terms, case when i.account_version = a.version then a.terms else v.document ->> 'terms' end), '') as "terms",
  i.total_minor as "totalMinor", i.paid_minor as "paidMinor", i.pending_minor as "pendingMinor", i.negative_minor as "negativeMinor",
  c.reference as "customerReference", c.is_company as "isCompany", c.name, c.last_name as "lastName",
  c.registration_number as "registrationNumber", c.vat_number as "vatNumber", c.company, c.email, c.email_cc as "emailCc",
  c.cell, c.tel, c.fax, c.address1, c.address2, c.city, c.state, c.country, c.country_state as "countryState", c.zip_code as "zipCode",
  c.country_id as "countryId", c.country_state_id as "countryStateId", c.primary_gateway_id as "primaryGatewayId",
  c.currency as "customerCurrency", c.created_at as "createdAt", c.suspended_at as "suspendedAt", c.archived_at as "archivedAt",
  c.paused_on as "pausedOn", c.is_waive_taxes as "isWaiveTaxes", c.payment_method as "paymentMethod",
  c.auto_send_invoice as "autoSendInvoice", c.auto_send_statement as "autoSendStatement", c.payment_term_days as "paymentTermDays", c.locale,
  c.is_collection_hold as "isCollectionHold", c.version,
  (select count(*)::int from subscriptions s
    where s.account_id = c.account_id and s.customer_id = c.customer_id and s.start_date <= $1 and s.cancelled_on is null
      and (s.end_date is null or s.end_date > $1)
      and (s.pending_kind is distinct from 'cancellation' or s.pending_on > $1)) as "activeSubscriptions",
  coalesce((select t.receivable_minor from customer_totals t
    where t.account_id = c.account_id and t.customer_id = c.customer_id and t.currency = c.currency), 0) as "balanceMinor",
  (select json_agg(json_build_array(x.charge_id, x.display_order, x.kind, x.name, x.description, x.quantity, x.unit_price, x.net_minor,
      x.gross_minor, x.period_from, x.period_until, x.whole_from, x.whole_until, x.price, x.brackets, x.subscription_id, x.stretch, x.item_id,
      x.part) order by x.display_order, x.charge_id)
    from charge_rows x where x.account_id = i.account_id and x.invoice_id = i.invoice_id) as "charges",
  (select json_agg(json_build_array(x.invoice_tax_id, x.name, x.rate, x.tax_number, x.base_minor, x.amount_minor) order by x.invoice_tax_id)
    from invoice_tax_rows x where x.account_id = i.account_id and x.invoice_id = i.invoice_id) as "taxes",
  (select json_agg(json_build_array(x.allocation_id, x.given_kind, x.given_id, x.amount_minor) order by x.allocation_id)
    from allocations x where x.account_id = i.account_id and x.owed_kind = 'invoice' and x.owed_id = i.invoice_id and x.ended_on is null) as "applied"
from invoices i
join accounts a on a.account_id = i.account_id
left join account_versions v on v.account_id = i.account_id and v.version = i.account_version and i.account_version <> a.version
join customers c on c.account_id = i.account_id and c.customer_id = i.customer_id
where i.account_id = $2 and i.invoice_id = $3
