-- What is attached to a mail: the document is made when the mail is sent.

alter table outbox
  add column document_kind text check (document_kind in ('invoice', 'credit_note', 'statement')),
  add column document_id bigint,
  add constraint outbox_document_check check ((document_kind is null) = (document_id is null));
