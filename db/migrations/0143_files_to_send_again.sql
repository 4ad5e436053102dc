/*
 * Files whose lines were taken for known by their bank reference alone, which banks repeat or leave out: their bytes are read once more. The time at which that
 * began is kept, since it goes on where it was. See docs/operate/result-files.md.
 */
alter table result_files
  add column is_to_be_sent_again boolean not null default false,
  add column again_begun_at timestamptz;
update result_files set is_to_be_sent_again = true where finished_at is not null and already_known > 0;
create index result_files_to_send_again on result_files (account_id, result_file_id) where is_to_be_sent_again;

create function count_files_to_send_again() returns bigint
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
begin
  return (select count(*) from result_files where is_to_be_sent_again);
end $$;
revoke all on function count_files_to_send_again from public;
grant execute on function count_files_to_send_again to perennial_app;
