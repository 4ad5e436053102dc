-- least: 11
-- answers as before: do
-- Statements read the mark below which the ledger is summed by day in a subquery, instead of by a function: a function that reads tables may be called on a worker,
-- where an engine that spreads accounts over servers runs the statement. The function stays for programs that call it. The policy only adds: nobody could read
-- the table before.
do $$ begin
  create policy mark on ledger_days_mark for select to perennial_app using (true);
end $$;
grant select on ledger_days_mark to perennial_app;
