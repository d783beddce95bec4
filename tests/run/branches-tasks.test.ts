import { expect, test } from 'bun:test'
import { join } from 'node:path'
import {
  inProject,
  leftovers,
  makeBranchProject,
  runBranches,
  startBranches,
  subjectsOf,
} from '../support/branches.ts'
import { FORKHESTRA } from '../support/forkhestra.ts'
import { sh } from '../support/project.ts'
import { journalOf, ofType, runsOf } from '../support/record.ts'
import { git } from '../support/repository.ts'

const FORGE_TASKS = join(FORKHESTRA, '../forge-tasks')

/** Takes a task, writes a file for it, and commits both. */
const BUILDER = sh(
  'brief=$(forge-tasks next --claim --plain 2>/dev/null) || { echo ORCHESTRA_COMPLETE; exit 0; }',
  'id=$(printf "%s\\n" "$brief" | sed -n "s/^id: //p" | head -1)',
  'echo "$FORKHESTRA_SCOPE" > "built-$id"',
  'forge-tasks edit "$id" -s done > /dev/null',
  'git add -A && git commit -qm "$id"',
)

/** Each task waits for one or two earlier ones. */
function createTasks(cwd: string, count: number): void {
  const lines = Array.from({ length: count }, (_, at) => {
    const on = [Math.floor(at / 2), Math.floor((at * 2) / 3)].filter((before) => before < at)
    const waits = [...new Set(on)].map((before) => `@t${before}`)
    return JSON.stringify({ key: `t${at}`, title: `Task ${at}`, dependsOn: waits })
  })
  const stdin = Buffer.from(lines.join('\n'))
  const made = Bun.spawnSync([FORGE_TASKS, 'create', '--batch'], { cwd, stdin })
  if (made.exitCode !== 0) throw new Error(made.stderr.toString())
}

async function buildTasks(count: number, copies: number): Promise<void> {
  const step = { agent: './builder', iterations: count, copies }
  const verify = '! grep -rlE "^(<<<<<<<|>>>>>>>)" forge/tasks'
  const agents = { './builder': { tasks: true } }
  const cwd = makeBranchProject([step], { builder: BUILDER }, { verify }, agents)
  createTasks(cwd, count)
  const { code, events, stdout } = await runBranches(cwd, '--max-parallel', String(copies))
  expect([code, stdout]).toEqual([0, stdout])
  const built = subjectsOf(cwd).filter((subject) => subject.startsWith('TASK-'))
  expect([built.length, new Set(built).size]).toEqual([count, count])
  const done = git(cwd, 'grep', '-l', '^status: Done', '--', 'forge/tasks')
  expect(done.split('\n')).toHaveLength(count)
  expect(leftovers(cwd)).toEqual([])
  // An agent is started only if there is a task for it.
  const started = ofType(events, 'iteration_started').length
  expect(started).toBeLessThanOrEqual(count + copies)
}

test('many copies build tasks that depend on each other, each of them once', async () => {
  await buildTasks(60, 16)
}, 300_000)

test('a copy without a task says that it waits, and so does show', async () => {
  const lines = [
    'cd "$FORKHESTRA_RECORD/../../../.."',
    'while [ -d .git ] && [ ! -e .state/go ]; do sleep 0.02; done',
    'cd "$OLDPWD"',
  ]
  const builder = BUILDER.replace(/^echo/m, `${lines.join('\n')}\necho`)
  const step = { agent: './builder', iterations: 4, copies: 2 }
  const agents = { './builder': { tasks: true } }
  const cwd = makeBranchProject([step], { builder }, { verify: 'true' }, agents)
  createTasks(cwd, 2)
  const running = startBranches(cwd)
  await running.printed('No task is ready yet: waiting for the other agents')
  const live = await inProject(cwd, 'show')
  expect(live.stdout).toMatch(/#\d: before its first iteration, waiting for a task\n/)
  running.signal('SIGKILL')
  await running.finished
  const dead = await inProject(cwd, 'show')
  expect(dead.stdout).toMatch(/#\d: interrupted before its first iteration\n/)
  await Bun.write(join(cwd, '.state/go'), '')
  const { code, stdout } = await inProject(cwd, 'resume', '--kill-orphans')
  expect([code, stdout]).toEqual([0, stdout])
  expect(stdout).toContain('Merging into main, checked by true\n')
  const waits = ofType(journalOf(cwd, runsOf(cwd).at(-1)!), 'awaiting_task')
  // Once for each wait, however often it looks.
  expect(waits.length).toBeLessThanOrEqual(4)
})
