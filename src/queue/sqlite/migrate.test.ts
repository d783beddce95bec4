import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { makeProject } from '../../../tests/support/project.ts'
import { openSqliteStore } from '../sqlite-store.ts'

const RUN = 'r'
const LONG = 'word '.repeat(100)

test('a store of version 1 is migrated without losing anything', async () => {
  const path = join(makeProject(), 'queue.db')
  makeFirst(path)
  const store = await openSqliteStore(path)
  const names = (await store.list(RUN)).map(({ name, state }) => [name, state])
  expect(names).toEqual([
    ['done', 'ended'],
    ['short', 'ready'],
    ['long', 'ready'],
  ])
  const lease = await store.lease(RUN, 'main', {}, 'reader')
  expect(lease.map(({ message }) => message.from)).toEqual(['done'])
  expect(await store.ack(lease)).toEqual([true])
  for (const prompt of ['Do it', LONG]) {
    const claim = (await store.claim(RUN, 'worker'))!
    expect(claim.task.prompt).toBe(prompt)
    expect(await store.settle(claim, { success: true, output: 'done' })).toBe('ended')
  }
  expect(await store.verify(RUN)).toEqual([])
  await store.close()
  const db = new DatabaseSync(path)
  expect(db.prepare('pragma user_version').get()).toEqual({ user_version: 2 })
  db.close()
})

/** A store of version 1 with an ended task, whose result is unread, and two that are drained. */
function makeFirst(path: string): void {
  const db = new DatabaseSync(path)
  db.exec(FIRST)
  db.exec('pragma application_id = 0x666b7175; pragma user_version = 1; pragma journal_mode = wal')
  const task =
    db.prepare(`insert into task (id, run, parent, name, beginning, options, retry, depth,
    state, at, since, attempt, is_drained, drain_width, outcome, end)
    values (?, 'r', ?, ?, ?, '{}', 0, ?, ?, 0, 0, ?, ?, ?, ?, ?)`)
  task.run('r.main', null, 'main', '', 0, 'running', 0, 0, 2, null, null)
  const end = JSON.stringify({ success: true, output: 'yes' })
  task.run('a', 'r.main', 'done', 'Do', 1, 'ended', 1, 0, null, '{"success":true}', end)
  task.run('b', 'r.main', 'short', 'Do it', 1, 'ready', 0, 1, null, null, null)
  task.run('c', 'r.main', 'long', LONG.slice(0, 200), 1, 'ready', 0, 1, null, null, null)
  const prompt = db.prepare('insert into prompt (task, text) values (?, ?)')
  for (const [seq, text] of [
    [2, 'Do'],
    [3, 'Do it'],
    [4, LONG],
  ] as const)
    prompt.run(seq, text)
  db.exec(`insert into message (id, run, recipient, sender, task, body, at)
    values ('a.result', 'r', 'r.main', 'done', 'a', '', 0)`)
  const note = db.prepare(`insert into history (at, run, what, subject, attempt, detail)
    values (0, 'r', ?, ?, ?, '')`)
  note.run('main', 'r.main', 0)
  for (const id of ['a', 'b', 'c']) note.run('pushed', id, 0)
  for (const id of ['a', 'b', 'c']) note.run('started', id, 0)
  for (const what of ['claimed', 'over']) note.run(what, 'a', 1)
  note.run('ended', 'a', 0)
  note.run('sent', 'a.result', 0)
  db.close()
}

const FIRST = `
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
create index task_by_state on task (run, state, is_drained);
create index task_by_parent on task (parent, state);
create unique index task_by_name on task (run, name) where state <> 'ended';
create index task_draining on task (run) where drain_width is not null;
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

create table message (
  seq integer primary key,
  id text not null unique,
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
create index message_by_reader on message (reader) where reader is not null;

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
