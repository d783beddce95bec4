import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { install, PEERS } from './install.ts'
import type { Tool, Command } from './tool.ts'
import type { Work } from './work.ts'

/** It has no criteria and no labels: they go into the description. */
export function makeDex(): Tool {
  const script = install(PEERS.dex, 'node_modules/@zeeg/dex/dist/index.js')
  const { name, version } = PEERS.dex
  return {
    name,
    version,
    store: '.dex',
    prepare,
    argv: (command, target, turn) => ['node', script, ...argsOf(command, target, turn)],
    claim: ({ number }) => ['node', script, 'start', idOf(number)],
    ids: (stored) => [...stored.matchAll(/^\{"id":"(\w+)"/gm)].map((match) => match[1]!),
  }
}

function prepare(project: string, tasks: readonly Work[]): void {
  const blocks = new Map<number, string[]>()
  for (const { number, dependencies } of tasks) {
    for (const id of dependencies) blocks.set(id, [...(blocks.get(id) ?? []), idOf(number)])
  }
  const lines = tasks.map((task) => JSON.stringify(toJson(task, blocks.get(task.number) ?? [])))
  mkdirSync(join(project, '.dex'))
  writeFileSync(join(project, '.dex/tasks.jsonl'), lines.map((line) => `${line}\n`).join(''))
}

function toJson(task: Work, blocks: readonly string[]) {
  const at = '2026-01-20T10:00:00.000Z'
  return {
    id: idOf(task.number),
    parent_id: null,
    name: task.title,
    description: textOf(task),
    priority: 1,
    completed: task.isDone,
    result: task.isDone ? 'done' : null,
    metadata: null,
    created_at: at,
    updated_at: at,
    started_at: null,
    completed_at: task.isDone ? at : null,
    blockedBy: task.dependencies.map(idOf),
    blocks,
    children: [],
  }
}

function argsOf(command: Command, target: Work, turn: number): string[] {
  const id = idOf(target.number)
  switch (command) {
    case 'start':
      return ['--version']
    case 'list':
      return ['list', '--all', '--flat']
    case 'ready':
      return ['list', '--ready', '--flat']
    case 'view':
      return ['show', id]
    case 'edit':
      return ['edit', id, '--priority', String(2 + (turn % 2))]
    case 'create':
      return ['create', target.title, '--description', textOf(target)]
  }
}

function textOf({ description, criteria, labels }: Work): string {
  const list = criteria.map((text, index) => `- [ ] #${index + 1} ${text}`)
  return [description, ...list, labels.join(', ')].join('\n')
}

function idOf(number: number): string {
  return `d${String(number).padStart(7, '0')}`
}
