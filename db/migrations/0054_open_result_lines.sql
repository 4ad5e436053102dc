-- How many lines of a file still wait for a person is answered with the file.
create index result_lines_open on result_lines (account_id, result_file_id) where state = 'open';
