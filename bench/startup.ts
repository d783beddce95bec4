import type { Figure } from './figure.ts'
import { makeProject, type Programs } from './project.ts'
import { timeOf } from './process.ts'

const ROUNDS = 60

const CHAINS = `{
  "$schema": "../../schema/chains.schema.json",
  // Programs of the project, with their default prompts.
  "agents": {
    "manager": { "defaultPromptFile": "prompts/manager.md" },
    "worker": { "defaultPrompt": "Take the next ready task and finish it" },
    "critic": { "defaultPrompt": "Review what changed since the last release" },
  },
  "chains": {
    "build": {
      "description": "From the requirements to reviewed code",
      "steps": [
        { "agent": "manager", "iterations": 3 },
        { "agent": "worker", "iterations": 30, "args": ["--area", "\${AREA}"] },
        /* Once is enough: the worker has run the tests. */
        { "agent": "critic" },
      ],
    },
    "plan": {
      "description": "Only the tasks",
      "promptFile": "prompts/manager.md",
      "steps": [{ "agent": "manager", "iterations": 5 }],
    },
    "review": {
      "description": "A second look at one task",
      "prompt": "Look at \${TASK_ID} again",
      "steps": [{ "agent": "critic", "args": ["--task", "\${TASK_ID}"] }, { "agent": "worker" }],
    },
  },
}
`

/** What a call costs before any agent runs, relative to a program that does nothing. */
export function measureStartup({ forkhestra, empty }: Programs): Figure[] {
  const agent = '#!/bin/sh\n'
  const cwd = makeProject({
    'forge/orch/chains.json': CHAINS,
    'prompts/manager.md': '# Requirements\n\nBreak requirements.md down into atomic tasks.\n',
    manager: agent,
    worker: agent,
    critic: agent,
  })
  const commands = {
    empty: [empty],
    '--version': [forkhestra, '--version'],
    '--help': [forkhestra, '--help'],
    list: [forkhestra, 'list'],
    '--chain build --dry-run': [forkhestra, '--chain', 'build', '--dry-run', 'AREA=parser'],
  }
  const best = fastest(commands, cwd)
  const figure = (name: Exclude<keyof typeof commands, 'empty'>, limit?: number): Figure => ({
    group: 'startup',
    name: `forkhestra ${name}`,
    measured: best[name],
    unit: 'ms',
    base: best.empty,
    ...(limit === undefined ? {} : { limit }),
  })
  return [
    figure('--version', 1.5),
    figure('--chain build --dry-run', 6),
    figure('--help'),
    figure('list'),
  ]
}

/** The minimum time of each command, interleaved so that load on the machine affects all alike. */
export function fastest<Name extends string>(
  commands: Readonly<Record<Name, readonly string[]>>,
  cwd: string,
): Record<Name, number> {
  const entries = Object.entries(commands) as [Name, readonly string[]][]
  const best = Object.fromEntries(entries.map(([name]) => [name, Infinity])) as Record<Name, number>
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, argv] of entries) {
      // Not counted: after another program, the processor's caches would be cold, which affects the
      // empty program more than the others, because it shares its file with none of them.
      timeOf(argv, cwd)
      best[name] = Math.min(best[name], timeOf(argv, cwd))
    }
  }
  return best
}
