import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { install, PEERS } from './install.ts'
import type { Tool, Command } from './tool.ts'
import type { Work } from './work.ts'

/** It has no criteria and no labels, and only the status can be edited without a model. */
export function makeMaster(): Tool {
  const script = install(PEERS.taskMaster, 'node_modules/task-master-ai/dist/task-master.js')
  const { name, version } = PEERS.taskMaster
  return {
    name,
    version,
    store: '.taskmaster/tasks/tasks.json',
    prepare,
    argv: (command, target, turn) => ['node', script, ...argsOf(command, target, turn)],
    claim: ({ number }) => ['node', script, 'set-status', String(number), 'in-progress'],
    ids: (stored) => (JSON.parse(stored) as Stored).master.tasks.map(({ id }) => String(id)),
    env: () => ({ TASKMASTER_SKIP_AUTO_UPDATE: '1', TM_HIDE_BANNER: '1' }),
  }
}

interface Stored {
  readonly master: { readonly tasks: readonly { readonly id: number | string }[] }
}

const CONFIG = {
  models: {},
  global: { projectName: 'bench', anonymousTelemetry: false, defaultTag: 'master' },
  storage: { type: 'file' },
}

function prepare(project: string, tasks: readonly Work[]): void {
  mkdirSync(join(project, '.taskmaster/tasks'), { recursive: true })
  const at = '2026-01-20T10:00:00.000Z'
  const metadata = { created: at, updated: at, description: 'tasks' }
  const write = (name: string, value: unknown) =>
    writeFileSync(join(project, '.taskmaster', name), JSON.stringify(value, null, 2))
  write('config.json', CONFIG)
  write('state.json', { currentTag: 'master', lastSwitched: at, branchTagMapping: {} })
  write('tasks/tasks.json', { master: { tasks: tasks.map(toJson), metadata } })
}

function toJson({ number, title, description, criteria, dependencies, isDone }: Work) {
  return {
    id: number,
    title,
    description,
    details: criteria.join('\n'),
    testStrategy: '',
    status: isDone ? 'done' : 'pending',
    dependencies,
    priority: 'medium',
    subtasks: [],
  }
}

function argsOf(command: Command, target: Work, turn: number): string[] {
  const id = String(target.number)
  const details = target.criteria.join('\n')
  switch (command) {
    case 'start':
      return ['--version']
    case 'list':
      return ['list', '--compact']
    case 'ready':
      return ['list', '--ready', '--compact']
    case 'view':
      return ['show', id, '--json']
    case 'edit':
      return ['set-status', id, turn % 2 === 0 ? 'in-progress' : 'pending']
    case 'create':
      return [
        'add-task',
        '--title',
        target.title,
        '--description',
        target.description,
        '--details',
        details,
      ]
  }
}
