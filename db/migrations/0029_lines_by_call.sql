-- least: 14
-- Lines of batches that are handed over one by one: when each was sent, so that it is asked about before it is sent again, and how it was refused.

alter table batch_lines add column sent_at timestamptz, add column refusal jsonb;
comment on column batch_lines.sent_at is 'When the line was handed over last, where lines are one by one. Null: it surely was not, or its batch goes as one.';
comment on column batch_lines.refusal is 'How the gateway refused the line, until its batch is submitted and it becomes the result.';
