/** Increased with each change of the schema; a store of a higher version is refused. */
export const SCHEMA_VERSION = 2

/** 'fkqu': identifies the file as a queue store. */
export const APPLICATION_ID = 0x666b7175

/**
 * Only one index has `state`, because each change of it rewrites all indexes that have it. A name can be
 * reused once its task has an outcome.
 */
const TASK_INDEXES = `
create index task_by_state on task (run, state, is_drained, parent);
create index task_by_parent on task (parent);
create unique index task_by_name on task (run, name) where outcome is null;
`

/** The id is not unique here: the history, which also has deleted messages, prevents duplicates. */
const MESSAGE = `
create table message (
  seq integer primary key,
  id text not null,
  run text not null,
  recipient text not null,
  sender text not null,
  addressee text,
  task text,
  at integer not null,
  delivery integer not null default 0,
  reader text,
  lease_until integer,
  body text not null
);
create index message_by_recipient on message (recipient);
create index message_by_sender on message (recipient, sender);
create index message_by_reader on message (reader, id) where reader is not null;
`

/** The changes from each version to the next. */
export const MIGRATIONS: Readonly<Record<number, string>> = {
  1: `
drop index task_by_state;
drop index task_by_parent;
drop index task_by_name;
${TASK_INDEXES}
alter table message rename to old_message;
drop index message_by_recipient;
drop index message_by_sender;
drop index message_by_reader;
${MESSAGE}
insert into message select * from old_message;
drop table old_message;
`,
}

/**
 * `seq` is the order of insertion. `history` is append-only, and its index prevents events that can happen
 * only once from being recorded twice. The result of a task is stored with the task, and its message refers
 * to it. Long texts are in the last column or in a separate table, because most queries do not read them:
 * `prompt` has the prompts that are longer than `beginning`.
 */
export const SCHEMA = `
create table task (
  seq integer primary key,
  id text not null unique,
  run text not null,
  parent text,
  name text not null,
  beginning text not null,
  options text not null,
  retry integer not null,
  depth integer not null,
  state text not null,
  at integer not null,
  since integer not null,
  attempt integer not null default 0,
  not_before integer not null default 0,
  paused_at integer not null default 0,
  worker text,
  lease_until integer,
  is_drained integer not null default 0,
  drain_width integer,
  cancelled text,
  outcome text,
  end text
);
${TASK_INDEXES}create index task_draining on task (run) where drain_width is not null;
create index task_pausing on task (run, not_before) where state = 'ready' and not_before > 0;
create index task_paused on task (run, paused_at) where state = 'ready' and not_before > 0;

create table prompt (
  task integer primary key,
  text text not null
);

create table answer (
  id text primary key,
  run text not null,
  answer text not null
) without rowid;

${MESSAGE}
create table waiting (
  agent text not null,
  reader text not null,
  run text not null,
  senders text not null,
  until integer not null,
  deadlock text,
  primary key (agent, reader)
) without rowid;

create table history (
  seq integer primary key,
  at integer not null,
  run text not null,
  what text not null,
  subject text not null,
  attempt integer not null,
  detail text not null
);
create unique index history_once on history (subject, what, attempt)
  where what in ('pushed', 'claimed', 'over', 'ended', 'sent', 'acked');
create trigger history_is_not_changed before update on history
  begin select raise(abort, 'history is only appended to'); end;
create trigger history_is_not_cut before delete on history
  begin select raise(abort, 'history is only appended to'); end;
`
