import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RunEvent } from '../src/records/events/schema.ts'
import type { Figure } from './figure.ts'
import { makeProject, type Programs } from './project.ts'
import { median } from './queue/median.ts'
import { timeOf } from './process.ts'

const COPIES = 64
const ITERATIONS = 16
const WIDTH = 8
const ROUNDS = 5
const FILES = 10_000
const TASKS = 40

/** Agents that run in parallel, in one folder and in worktrees. */
export function measureParallel(programs: Programs): Figure[] {
  return [
    measureShared(programs),
    ...measureWorktrees(programs, 'a repository of 10 000 files', FILES),
    ...measureWorktrees(programs, 'a small repository', 10),
    measureBuilders(programs),
  ]
}

function measureShared({ forkhestra }: Programs): Figure {
  const cwd = makeProject({ agent: '#!/bin/sh\n' })
  const argv = [forkhestra, `./agent:${ITERATIONS}*${COPIES}`, '--max-parallel', String(WIDTH)]
  const xargs = ['sh', '-c', `seq ${COPIES * ITERATIONS} | xargs -n1 -P${WIDTH} ./agent`]
  const [ours, theirs] = [[] as number[], [] as number[]]
  for (let round = 0; round < ROUNDS; round += 1) {
    // Without a marker the loops end incomplete.
    ours.push(timeOf(argv, cwd, 1))
    theirs.push(timeOf(xargs, cwd))
  }
  return {
    group: 'parallel',
    name: `${COPIES} copies of ${ITERATIONS} empty iterations, ${WIDTH} at a time, against xargs`,
    measured: Math.min(...ours) / 1000,
    base: Math.min(...theirs) / 1000,
    unit: 's',
    limit: 3,
  }
}

/** From the events: how long a worktree takes, and a merge, compared with the same commands by hand. */
function measureWorktrees({ forkhestra }: Programs, where: string, files: number): Figure[] {
  const cwd = makeRepository(files, {
    agent:
      '#!/bin/sh\necho "$FORKHESTRA_SCOPE" > "$(echo $FORKHESTRA_SCOPE | tr / -)"\ngit add -A\ngit commit -qm work\necho ORCHESTRA_COMPLETE\n',
  })
  const made: number[] = []
  const merged: number[] = []
  const [adds, merges] = [[] as number[], [] as number[]]
  for (let round = 0; round < ROUNDS; round += 1) {
    timeOf([forkhestra, './agent:1*3', '--max-parallel', '1'], cwd)
    const events = newestEvents(cwd)
    made.push(...between(events, 'branch_started', 'step_started'))
    // The first merge also makes the worktree for merges.
    merged.push(...between(events, 'merge_started', 'merge_ended').slice(1))
    adds.push(timeOf(['git', 'worktree', 'add', '-q', '-b', `b${round}`, '../w'], cwd))
    const work = 'cd ../w && echo x > "x$0" && git add -A && git commit -qm x'
    timeOf(['sh', '-c', work, String(round)], cwd)
    timeOf(['sh', '-c', 'echo y > "y$0" && git add -A && git commit -qm y', String(round)], cwd)
    const byHand = `cd ../w && git rebase -q main && cd - > /dev/null && git merge -q --ff-only b${round}`
    merges.push(timeOf(['sh', '-c', byHand], cwd))
    timeOf(['git', 'worktree', 'remove', '--force', '../w'], cwd)
  }
  const figure = { group: 'parallel', unit: 'ms' as const }
  return [
    {
      ...figure,
      name: `a worktree in ${where}, against git worktree add`,
      measured: median(made),
      base: median(adds),
      limit: 1.15,
    },
    {
      ...figure,
      name: `a merge in ${where}, against git rebase and merge`,
      measured: median(merged),
      base: median(merges),
      limit: 1.5,
    },
  ]
}

/** Builders that wait, as models do: four against one. */
function measureBuilders({ forkhestra }: Programs): Figure {
  const seconds = (copies: number | undefined) => {
    const cwd = makeRepository(1, {
      agent: `#!/bin/sh
brief=$(forkhestra tasks next --claim --plain) || exit 0
id=$(printf '%s\\n' "$brief" | sed -n 's/^id: //p' | head -1)
sleep 1.5
echo "$id" > "$id"
forkhestra tasks edit "$id" -s done > /dev/null
git add -A
git commit -qm "$id"
`,
      'forge/orch/chains.json': JSON.stringify({
        agents: { './agent': { tasks: true } },
        chains: { c: { steps: [{ agent: './agent', iterations: 50, copies }] } },
      }),
    })
    for (let task = 0; task < TASKS; task += 1)
      timeOf([forkhestra, 'tasks', 'create', `Task ${task}`], cwd)
    timeOf(['sh', '-c', 'git add -A && git commit -qm tasks'], cwd)
    return timeOf([forkhestra, '--chain', 'c'], cwd) / 1000
  }
  return {
    group: 'parallel',
    name: `${TASKS} tasks by 4 builders that wait 1.5 s each, against one builder`,
    measured: seconds(4),
    base: seconds(undefined),
    unit: 's',
    limit: 1 / 3.2,
  }
}

function makeRepository(files: number, more: Readonly<Record<string, string>>): string {
  const outer = makeProject({})
  const cwd = join(outer, 'project')
  const content = Object.fromEntries(
    Array.from({ length: files }, (_, at) => [`folder-${at % 100}/file-${at}.txt`, `file ${at}\n`]),
  )
  const made = makeProject({
    ...content,
    ...more,
    'forge/keep': '',
    '.gitignore': '.state\n.config\n',
  })
  Bun.spawnSync(['mv', made, cwd])
  for (const command of [
    'git init -q -b main',
    'git config user.name bench',
    'git config user.email bench@example.org',
    'git add -A',
    'git commit -qm begin',
  ])
    timeOf(['sh', '-c', command], cwd)
  return cwd
}

function newestEvents(cwd: string): RunEvent[] {
  const folder = join(cwd, 'forge/orch/runs')
  const run = readdirSync(folder)
    .filter((name) => !name.startsWith('.'))
    .toSorted()
    .at(-1)!
  const lines = readFileSync(join(folder, run, 'events.ndjson'), 'utf8')
    .trimEnd()
    .split('\n')
  return lines.map((line) => JSON.parse(line) as RunEvent)
}

/** The times from each event of one type to the next of the other type in the same branch. */
function between(
  events: readonly RunEvent[],
  from: RunEvent['type'],
  to: RunEvent['type'],
): number[] {
  return events.flatMap((event, at) => {
    if (event.type !== from) return []
    const scope = scopeOf(event)
    const end = events
      .slice(at)
      .find((other) => other.type === to && scopeOf(other).startsWith(scope))
    return end === undefined ? [] : [Date.parse(end.at) - Date.parse(event.at)]
  })
}

function scopeOf(event: RunEvent): string {
  return 'scope' in event ? (event.scope ?? []).join('/') : ''
}
