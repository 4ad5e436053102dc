-- The one origin whose pages may show the signing page of an embedded eMandate; null: any https page that has its token.
alter table emandates add column auth_origin text;
