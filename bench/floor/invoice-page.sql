-- Frozen on 2026-11-22: the rows that the page of an invoice shows, by their keys. $1 is today, $2 the account, $3 the invoice.
select i.*, c.name, c.last_name, c.locale, $1::date as today, l.name as line, l.description, l.quantity, l.net_minor
  from invoices i
  join customers c on c.account_id = $2 and c.customer_id = i.customer_id
  join charge_rows l on l.account_id = $2 and l.invoice_id = i.invoice_id
 where i.account_id = $2 and i.invoice_id = $3
