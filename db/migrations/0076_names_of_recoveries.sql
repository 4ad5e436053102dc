/* Names that leave room for what is appended to them where tables are distributed. Servers before 18 have no constraint of the second kind. */
alter table bad_debt_recoveries rename constraint bad_debt_recoveries_account_id_negative_adjustment_id_fkey to bad_debt_recoveries_debt_fkey;
do $$
begin
  if exists (select from pg_constraint where conname = 'bad_debt_recoveries_negative_adjustment_id_not_null') then
    alter table bad_debt_recoveries rename constraint bad_debt_recoveries_negative_adjustment_id_not_null to bad_debt_recoveries_debt_not_null;
  end if;
end $$;
