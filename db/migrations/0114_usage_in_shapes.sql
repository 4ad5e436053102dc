-- step by step
/*
 * Lines of metered usage may be kept with a shape as well (decision 42): invoices that a run issues together mostly share them. What callers wrote, and late usage, which
 * is each subscription's own, never is. The constraint is looser than the one before, so no row is looked at while others wait.
 */
set local lock_timeout = '500ms';
alter table shape_charges drop constraint if exists shape_charges_kind_check;
alter table shape_charges add constraint shape_charges_kind_check
  check (kind in ('setup', 'trial', 'package', 'package_extension', 'component', 'component_extension', 'rise', 'metered')) not valid;
-- then
set local lock_timeout = '500ms';
alter table shape_charges validate constraint shape_charges_kind_check;
