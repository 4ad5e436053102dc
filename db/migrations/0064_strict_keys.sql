-- Keys whose requests are refused where they have names that nobody knows. The programs of the keys there are were written without that.
alter table api_keys add column is_strict boolean not null default false;
