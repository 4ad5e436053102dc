-- least: 14
-- A secret key of another account at a gateway is refused while anything is stored there.

alter table gateways add column gateway_account text;
comment on column gateways.gateway_account is 'The account at the gateway that its secret key opens, in its own words. Null: not known.';
