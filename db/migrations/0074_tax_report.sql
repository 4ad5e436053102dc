/* The report of taxes finds what was cancelled in a period, what was taken back of taxes, and the notes of callers by their days. */
drop index invoices_cancelled;
create index invoices_cancelled on invoices (account_id, (greatest(cancelled_on, invoice_date))) where cancelled_on is not null;
create index ledger_entries_of_taken_taxes on ledger_entries (account_id, dated)
  where event in ('credit_note_made', 'tax_taken_back', 'bad_debt_tax_relieved') and tax_name is not null;
create index negative_adjustments_unsettled on negative_adjustments (account_id, dated) where kind = 'credit_note' and invoice_id is null;
