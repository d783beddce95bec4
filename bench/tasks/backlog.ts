import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { install, PEERS } from './install.ts'
import type { Tool, Command } from './tool.ts'
import type { Work } from './work.ts'

/** The compiled program, not the script that npm links, which would add a start of Node. */
export function makeBacklog(): Tool {
  const program = install(PEERS.backlog, `node_modules/backlog.md-linux-${process.arch}/backlog`)
  const { name, version } = PEERS.backlog
  return {
    name,
    version,
    store: 'backlog/tasks',
    prepare,
    argv: (command, target, turn) => [program, ...argsOf(command, target, turn)],
    claim: ({ number }, agent) => [
      program,
      'task',
      'edit',
      String(number),
      '--status',
      'In Progress',
      '--assignee',
      agent,
      '--plain',
    ],
    ids: (stored) => [...stored.matchAll(/^id: (\S+)$/gm)].map((match) => match[1]!),
  }
}

// What `backlog init --defaults` writes, but without the network.
const CONFIG = `project_name: "bench"
default_status: "To Do"
statuses: ["To Do", "In Progress", "Done"]
labels: []
date_format: yyyy-mm-dd
max_column_width: 20
auto_open_browser: false
default_port: 6420
remote_operations: false
auto_commit: false
filesystem_only: false
bypass_git_hooks: false
check_active_branches: true
active_branch_days: 30
task_prefix: "task"
`

function prepare(project: string, tasks: readonly Work[]): void {
  const folder = join(project, 'backlog/tasks')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(project, 'backlog/config.yml'), CONFIG)
  for (const task of tasks) {
    const name = `task-${task.number} - ${task.title.replaceAll(' ', '-')}.md`
    writeFileSync(join(folder, name), render(task))
  }
}

function render(task: Work): string {
  const { number, title, description, criteria, labels, dependencies, isDone } = task
  return `---
id: TASK-${number}
title: ${title}
status: ${isDone ? 'Done' : 'To Do'}
assignee: []
created_date: '2026-01-20 10:00'
labels:
${labels.map((label) => `  - ${label}`).join('\n')}
dependencies: [${dependencies.map((id) => `TASK-${id}`).join(', ')}]
ordinal: ${number * 1000}
---

## Description

<!-- SECTION:DESCRIPTION:BEGIN -->
${description}
<!-- SECTION:DESCRIPTION:END -->

## Acceptance Criteria
<!-- AC:BEGIN -->
${criteria.map((text, index) => `- [ ] #${index + 1} ${text}`).join('\n')}
<!-- AC:END -->
`
}

function argsOf(command: Command, target: Work, turn: number): string[] {
  const id = String(target.number)
  switch (command) {
    case 'start':
      return ['--version']
    case 'list':
      return ['task', 'list', '--plain']
    case 'ready':
      return ['task', 'list', '--ready', '--plain']
    case 'view':
      return ['task', 'view', id, '--plain']
    case 'edit':
      return ['task', 'edit', id, '--priority', turn % 2 === 0 ? 'high' : 'low', '--plain']
    case 'create':
      return [
        'task',
        'create',
        target.title,
        '--description',
        target.description,
        ...target.criteria.flatMap((text) => ['--ac', text]),
        '--labels',
        target.labels.join(','),
        '--plain',
      ]
  }
}
