import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { install, PEERS } from './install.ts'
import type { Tool, Command } from './tool.ts'
import type { Work } from './work.ts'

/** Its tasks have no body: description and criteria are annotations. Its export is faster than its tables. */
export function makeWarrior(): Tool {
  const program = install(PEERS.taskwarrior, 'usr/bin/task')
  const { name, version } = PEERS.taskwarrior
  return {
    name,
    version,
    store: 'task/pending.data',
    prepare,
    argv: (command, target, turn) => [program, ...argsOf(command, target, turn)],
    claim: ({ number }) => [program, uuidOf(number), 'start'],
    ids: (stored) => [...stored.matchAll(/uuid:"([^"]+)"/g)].map((match) => match[1]!),
    env: (project) => ({ TASKRC: join(project, 'taskrc'), TASKDATA: join(project, 'task') }),
  }
}

function prepare(project: string, tasks: readonly Work[]): void {
  mkdirSync(join(project, 'task'))
  writeFileSync(join(project, 'taskrc'), 'confirmation=off\nverbose=nothing\n')
  const linesOf = (isDone: boolean) =>
    tasks.filter((task) => task.isDone === isDone).map((task) => `${render(task)}\n`)
  writeFileSync(join(project, 'task/pending.data'), linesOf(false).join(''))
  writeFileSync(join(project, 'task/completed.data'), linesOf(true).join(''))
}

function render({
  number,
  title,
  description,
  criteria,
  labels,
  dependencies,
  isDone,
}: Work): string {
  const at = 1_768_900_000 + number
  const uuids = dependencies.map(uuidOf)
  const fields = {
    ...Object.fromEntries(
      [description, ...criteria].map((text, index) => [`annotation_${at + index}`, text]),
    ),
    ...Object.fromEntries(uuids.map((uuid) => [`dep_${uuid}`, 'x'])),
    ...(uuids.length === 0 ? {} : { depends: uuids.join(',') }),
    description: title,
    ...(isDone ? { end: at } : {}),
    entry: at,
    modified: at,
    status: isDone ? 'completed' : 'pending',
    tags: labels.join(','),
    ...Object.fromEntries(labels.map((label) => [`tags_${label}`, 'x'])),
    uuid: uuidOf(number),
  }
  const pairs = Object.entries(fields).map(([key, value]) => `${key}:"${value}"`)
  return `[${pairs.join(' ')}]`
}

function argsOf(command: Command, target: Work, turn: number): string[] {
  const uuid = uuidOf(target.number)
  switch (command) {
    case 'start':
      return ['--version']
    case 'list':
      return ['export']
    case 'ready':
      return ['export', 'ready']
    case 'view':
      return [uuid, 'info']
    case 'edit':
      return [uuid, 'modify', `priority:${turn % 2 === 0 ? 'H' : 'L'}`]
    case 'create':
      return ['add', ...target.labels.map((label) => `+${label}`), '--', target.title]
  }
}

function uuidOf(number: number): string {
  return `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`
}
