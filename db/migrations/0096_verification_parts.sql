/*
 * A large account is verified in parts (decision 32): where the last clean night left off, and which part is next. Null begins with everything.
 */
alter table verifications add column progress jsonb;
