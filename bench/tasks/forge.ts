import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { version } from '../../package.json'
import type { Programs } from '../project.ts'
import type { Tool, Command } from './tool.ts'
import type { Work } from './work.ts'

/** File timestamps are coarse, and the index does not trust files as new as itself. */
const SETTLED_MS = 200

export function makeForge({ forkhestra }: Programs): Tool {
  const program = join(dirname(forkhestra), 'forge-tasks')
  if (!existsSync(program)) symlinkSync('forkhestra', program)
  return {
    name: 'forge-tasks',
    version,
    store: 'forge/tasks',
    prepare: (project, tasks) => prepare(program, project, tasks),
    argv: (command, target, turn) => [program, ...argsOf(command, target, turn), ...plain(command)],
    claim: ({ number }, agent) => [program, 'claim', idOf(number), '--as', agent, '--plain'],
    ids: (stored) => [...stored.matchAll(/^id: (\S+)$/gm)].map((match) => match[1]!),
  }
}

/** Makes the next call like the first one after a checkout. */
export function deleteIndex(project: string): void {
  rmSync(indexOf(project), { force: true })
}

export function hasIndex(project: string): boolean {
  return existsSync(indexOf(project))
}

function indexOf(project: string): string {
  return join(project, '.git/forge-tasks/index')
}

function prepare(program: string, project: string, tasks: readonly Work[]): void {
  const folder = join(project, 'forge/tasks')
  mkdirSync(folder, { recursive: true })
  for (const task of tasks) {
    writeFileSync(join(folder, `${idOf(task.number)} - ${task.title}.md`), render(task))
  }
  Bun.sleepSync(SETTLED_MS)
  const { exitCode } = Bun.spawnSync([program, 'list', '--plain'], { cwd: project })
  if (exitCode !== 0) throw new Error(`forge-tasks list ended with ${exitCode}`)
}

function render(task: Work): string {
  const { number, title, description, criteria, labels, dependencies, isDone } = task
  const box = isDone ? '[x]' : '[ ]'
  return `---
id: ${idOf(number)}
title: ${title}
status: ${isDone ? 'Done' : 'To Do'}
labels: [${labels.join(', ')}]
dependencies: [${dependencies.map(idOf).join(', ')}]
createdAt: ${new Date(Date.UTC(2026, 0, 20) + number * 1000).toISOString()}
---

## Description

${description}

## Acceptance Criteria

<!-- AC:BEGIN -->
${criteria.map((text, index) => `- ${box} #${index + 1} ${text}`).join('\n')}
<!-- AC:END -->

## Implementation Plan

## Implementation Notes
`
}

function argsOf(command: Command, target: Work, turn: number): string[] {
  switch (command) {
    case 'start':
      return ['--version']
    case 'list':
      return ['list']
    case 'ready':
      return ['list', '--ready']
    case 'view':
      return ['view', idOf(target.number)]
    case 'edit':
      return ['edit', idOf(target.number), '--priority', turn % 2 === 0 ? 'high' : 'low']
    case 'create':
      return [
        'create',
        target.title,
        '-d',
        target.description,
        ...target.criteria.flatMap((text) => ['--ac', text]),
        ...target.labels.flatMap((name) => ['-l', name]),
      ]
  }
}

function plain(command: Command): string[] {
  return command === 'start' ? [] : ['--plain']
}

function idOf(number: number): string {
  return `TASK-${String(number).padStart(3, '0')}`
}
