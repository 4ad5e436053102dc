-- What became of a move of a test clock: the moment it goes to, what it has answered, or why and on which day it stopped.
alter table billing_runs add column moves_to timestamptz, add column result json, add column failure json;
