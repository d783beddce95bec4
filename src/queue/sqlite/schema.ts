/** Raised whenever a table changes; a store of a higher version is left alone. */
export const SCHEMA_VERSION = 2

/** 'fkqu': by this a file is known to be ours. */
export const APPLICATION_ID = 0x666b7175

/**
 * What a task goes through changes `state` only, and each index that holds it is written again with
 * each step: so it is in one of them. A name is free again with the outcome.
 */
const TASK_INDEXES = `
create index task_by_state on task (run, state, is_drained, parent);
create index task_by_parent on task (parent);
create unique index task_by_name on task (run, name) where outcome is null;
`

/** That no id is used twice is seen to by the history, which still knows those that were read. */
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

/** From each version to the next. */
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
 * `seq` is the store's own number, and the order of all that it took in. `history` is only ever
 * appended to; what can happen once in the life of its subject is kept from happening twice by an
 * index. The result of a task is kept with the task, its message only points there. What may be long
 * comes last or has a table of its own, so that nobody reads it who does not ask for it: a prompt is
 * in `prompt` where it is longer than its beginning.
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
