import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { RunEvent } from '../../src/records/events/schema.ts'
import { inProject, makeBranchProject, startBranches } from './branches.ts'
import { forkhestra, Running } from './forkhestra.ts'
import { sh } from './project.ts'
import { journalOf, ofType, runsOf } from './record.ts'
import { git } from './repository.ts'
import { until } from './until.ts'

// Random chains with branches, killed at random moments.

const GATE = '! ls red-* > /dev/null 2>&1'

/** Commits as `MODE` says; told that its work was refused, it repairs that. The marker comes in iteration `LAST`. */
const AGENT = sh(
  'at=$(echo "$FORKHESTRA_STEP-$FORKHESTRA_SCOPE" | tr / -)-$FORKHESTRA_ITERATION',
  'case "$*" in',
  '*"cannot be merged"*)',
  "  target=$(printf '%s' \"$*\" | sed -n 's/^Run git merge \\([^,]*\\),.*/\\1/p' | head -1)",
  '  git merge -q --no-edit "$target" > /dev/null 2>&1',
  '  if [ -e shared ]; then grep -v "^[<=>]" shared > both; mv both shared; fi',
  '  git add -A; git commit -qm "resolve $at";;',
  '*"this check failed"*) git rm -q -f red-* > /dev/null 2>&1; rm -f red-*; git commit -qm "repair $at";;',
  'esac',
  'case "$MODE" in',
  'same) echo "$at" >> shared;;',
  'red) [ "$FORKHESTRA_ITERATION" = 1 ] && touch "red-$at";;',
  'esac',
  'echo "$at" > "file-$at"',
  '[ "$MODE" = messy ] || { git add -A; git commit -qm "work $at"; }',
  '[ "$FORKHESTRA_ITERATION" -ge "$LAST" ] && echo ORCHESTRA_COMPLETE',
  '[ "$MODE" = fail ] && [ "$FORKHESTRA_ITERATION" = 1 ] && exit 3',
  'exit 0',
)

type Random = () => number

const MODES = ['add', 'add', 'same', 'fail', 'red', 'messy']

function pick<Item>(items: readonly Item[], random: Random): Item {
  return items[Math.floor(random() * items.length)]!
}

/** A step or group; deeper ones are smaller. */
function randomItem(random: Random, modes: readonly string[], depth: number): object {
  const last = 1 + Math.floor(random() * 2)
  const step = {
    agent: './agent',
    prompt: 'Work.',
    // More than enough for every repair.
    iterations: last + 6,
    env: { MODE: pick(modes, random), LAST: String(last) },
  }
  const inside = () => randomItem(random, modes, depth + 1)
  const kind = random()
  // Before others start, nothing may be uncommitted.
  if (depth > 1 || kind < 0.3) return { ...step, env: { ...step.env, MODE: 'add' } }
  if (kind < 0.6) return { ...step, copies: 2 + Math.floor(random() * 2) }
  if (kind < 0.85) return { parallel: [inside(), inside()] }
  return { sequence: [inside(), inside()], iterations: 2 }
}

interface Scenario {
  readonly steps: readonly object[]
  /** Whether the result does not depend on the order in which branches are merged. */
  readonly isOrderless: boolean
}

function randomScenario(random: Random): Scenario {
  const isOrderless = random() < 0.5
  const modes = isOrderless ? ['add', 'messy'] : MODES
  const steps = [randomItem(random, modes, 0), randomItem(random, modes, 0)]
  return { steps, isOrderless }
}

interface Soaked {
  readonly cwd: string
  readonly kills: number
  readonly code: number
  readonly output: string
}

/** Runs a random chain that is killed up to `most` times, and returns what it broke of its promises. */
export async function soakOnce(
  random: Random,
  most: number,
): Promise<{ readonly kills: number; readonly problems: readonly string[] }> {
  const scenario = randomScenario(random)
  const { cwd, kills, code, output } = await runWithKills(scenario, random, most)
  const problems = await brokenPromises(cwd)
  if (output.includes('internal error')) problems.push(output)
  if (scenario.isOrderless) {
    if (code !== 0) problems.push(`exit code ${code}: ${output}`)
    if (!Bun.deepEquals(filesOn(cwd, 'main'), await filesUndisturbed(scenario)))
      problems.push('other files than without kills')
  }
  return { kills, problems }
}

/** Runs a scenario, kills it up to `most` times, and resumes it each time. */
async function runWithKills({ steps }: Scenario, random: Random, most: number): Promise<Soaked> {
  const cwd = makeBranchProject(steps, { agent: AGENT, shared: 'begin\n' }, { verify: GATE })
  let kills = 0
  for (let running = startBranches(cwd); ;) {
    if (kills < most) void killSoon(running, cwd, random)
    const { code, stdout, stderr } = await running.finished
    if (code !== 137) return { cwd, kills, code, output: stdout + stderr }
    kills += 1
    running = begunRun(cwd) !== undefined ? resume(cwd) : startBranches(cwd, '--kill-orphans')
  }
}

const MOST_EVENTS = 12
const LATEST_MS = 30

/** Kills a run a moment after a few more of its events, however long the machine takes for these. */
async function killSoon(running: Running, cwd: string, random: Random): Promise<void> {
  let hasEnded = false
  void running.finished.then(() => (hasEnded = true))
  const count = () => runsOf(cwd).reduce((sum, run) => sum + journalOf(cwd, run).length, 0)
  const last = count() + Math.floor(random() * MOST_EVENTS)
  const rest = random() * LATEST_MS
  await until(() => hasEnded || count() >= last)
  await Bun.sleep(rest)
  if (!hasEnded) running.signal('SIGKILL')
}

/** The run, unless it was killed before its first event. */
function begunRun(cwd: string): string | undefined {
  return runsOf(cwd).find((run) => journalOf(cwd, run).length > 0)
}

function resume(cwd: string): Running {
  return new Running(['resume', '--kill-orphans'], { cwd })
}

/** The files that a scenario leaves on the branch if nobody disturbs it. */
async function filesUndisturbed({ steps }: Scenario): Promise<string[]> {
  const cwd = makeBranchProject(steps, { agent: AGENT, shared: 'begin\n' }, { verify: GATE })
  await inProject(cwd, '--chain', 'c')
  return filesOn(cwd, 'main')
}

function filesOn(cwd: string, commit: string): string[] {
  return git(cwd, 'ls-tree', '-r', '--name-only', commit).split('\n').toSorted()
}

/** What a run broke of its promises; empty if nothing. */
export async function brokenPromises(cwd: string): Promise<string[]> {
  const events = journalOf(cwd, begunRun(cwd)!)
  return [
    ...repeated(events),
    ...unaccounted(cwd, events),
    ...redMoves(cwd, events),
    ...(await unlisted(cwd)),
  ]
}

/** Places that ran again although they were complete. */
function repeated(events: readonly RunEvent[]): string[] {
  const complete = new Set<string>()
  const found: string[] = []
  for (const event of events) {
    if (event.type === 'iteration_started') {
      const place = event.scope.join('/')
      if (complete.has(place)) found.push(`iteration ${place} ran again`)
      const step = event.scope.slice(0, -1).join('/')
      if (complete.has(step)) found.push(`step ${step} ran again after it was complete`)
    }
    if (event.type === 'iteration_ended' && event.again !== true)
      complete.add(event.scope.join('/'))
    if (event.type === 'step_ended' && ['marker', 'until', 'single_run'].includes(event.reason))
      complete.add(event.scope.join('/'))
  }
  return found
}

/** Commits at the end of iterations that are neither on the target branch, as themselves or as copies, nor on another. */
function unaccounted(cwd: string, events: readonly RunEvent[]): string[] {
  const copied = new Map<string, string>()
  for (const event of events)
    if (event.type === 'merge_ended' || event.type === 'merge_moving')
      for (const [original, copy] of event.copies ?? []) copied.set(original, copy)
  const isOnBranch = (commit: string) =>
    git(cwd, 'for-each-ref', `--contains=${commit}`, '--format=%(refname)', 'refs/heads') !== ''
  const isSafe = (commit: string): boolean => {
    const copy = copied.get(commit)
    return (copy !== undefined && isSafe(copy)) || isOnBranch(commit)
  }
  return ofType(events, 'iteration_ended')
    .flatMap(({ tip }) => tip ?? [])
    .filter((tip) => !isSafe(tip))
    .map((tip) => `commit ${tip} is on no branch`)
}

/** Commits to which the target branch was moved although its gate is red. */
function redMoves(cwd: string, events: readonly RunEvent[]): string[] {
  return ofType(events, 'merge_moving')
    .filter(({ to }) => filesOn(cwd, to).some((name) => name.startsWith('red-')))
    .map(({ to }) => `${to} is red`)
}

/** Worktrees and branches that no command lists. */
async function unlisted(cwd: string): Promise<string[]> {
  const { stdout } = await forkhestra(['worktrees', '--json'], { cwd })
  const listed = existsSync(join(cwd, '.git')) ? stdout : ''
  const worktrees = git(cwd, 'worktree', 'list', '--porcelain').split('\n')
  return worktrees
    .filter((line) => line.startsWith('worktree '))
    .slice(1)
    .map((line) => line.slice('worktree '.length))
    .filter((path) => !listed.includes(path))
    .map((path) => `${path} is not listed`)
}
