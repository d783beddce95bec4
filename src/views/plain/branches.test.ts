import { expect, test } from 'bun:test'
import { makeStamp, type EventBody, type EventOf } from '../../records/events/event.ts'
import { Paper } from '../../../tests/support/paper.ts'
import { PlainView } from '../plain.ts'

const stamp = makeStamp('r1', 'w-1')

type Started = Pick<EventOf<'run_started'>, 'steps' | 'groups'>

function open(tree: Started, plan: EventOf<'run_started'>['plan'] = {}) {
  const paper = new Paper()
  const view = new PlainView(paper, false)
  const rest = { schema: 1, version: '1', pid: 1, cwd: '/project', record: '/record' } as const
  const show = (...events: EventBody[]) => {
    for (const event of events) view.show(stamp(event))
  }
  show({ type: 'run_started', ...rest, ...tree, plan })
  const say = (place: Place, text: string | Uint8Array, stream: 'out' | 'err' = 'out') =>
    void view.output({ ...at(place), stream, bytes: Buffer.from(text) })
  return { paper, show, say, view }
}

/** Step, scope of the step, iteration. */
type Place = readonly [number, string, number]

const at = ([step, scope, iteration]: Place) => ({
  scope: [...scope.split('/'), `i${iteration}`],
  step,
  iteration,
  attempt: 1,
})
const begin = (step: number, scope: string, maxIterations?: number): EventBody => ({
  type: 'step_started',
  scope: scope.split('/'),
  step,
  agent: '',
  ...(maxIterations === undefined ? {} : { maxIterations }),
})
const iterate = (place: Place): EventBody => ({ type: 'iteration_started', ...at(place), pid: 2 })
const done = (place: Place, code = 0): EventBody => ({
  type: 'iteration_ended',
  ...at(place),
  outcome: { kind: 'exited', code },
  ms: 1000,
  outputBytes: 5,
})

const COPIES: Started = { steps: [{ step: 1, agent: './build', maxIterations: 3, copies: 2 }] }
const [ONE, TWO]: Place[] = [
  [1, 's1/c1', 1],
  [1, 's1/c2', 1],
]

test('copies of a step print whole lines after their names', () => {
  const { paper, show, say } = open(COPIES)
  show(begin(1, 's1/c1', 3), begin(1, 's1/c2', 3), iterate(ONE!), iterate(TWO!))
  say(ONE!, 'reading ')
  say(TWO!, 'one\ntwo\nthr')
  say(ONE!, 'a.ts\n')
  say(TWO!, 'oh no\n', 'err')
  say(TWO!, 'ee')
  show(done(TWO!, 1), done(ONE!))
  expect(paper.text).toBe(`[forkhestra] In parallel: 2 copies of ./build:3
build#1 │ [forkhestra] Starting: ./build (max 3 iterations)
build#2 │ [forkhestra] Starting: ./build (max 3 iterations)
build#1 │ [forkhestra] Iteration 1/3
build#2 │ [forkhestra] Iteration 1/3
build#2 │ one
build#2 │ two
build#1 │ reading a.ts
!build#2 │ oh no
build#2 │ three
!build#2 │ [forkhestra] Iteration 1/3: exit 1
`)
})

test.each([
  [2, '2 copies of ./build:3'],
  [1, '2 copies of ./build:3, at most 1 at once'],
])('with at most %d agents at once, the heading is %p', (maxParallel, heading) => {
  const { paper, show } = open(COPIES, { maxParallel })
  show(begin(1, 's1/c1', 3))
  expect(paper.text).toStartWith(`[forkhestra] In parallel: ${heading}\n`)
})

const GROUP: Started = {
  steps: [
    { step: 1, agent: './plan' },
    { step: 2, agent: './lint', within: 'g1' },
    { step: 3, agent: './longest-name-of-all-agents', within: 'g1' },
    { step: 4, agent: './end' },
  ],
  groups: [{ id: 'g1', kind: 'parallel', first: 2, last: 3 }],
}

test('the names of a parallel group have the same width, and other steps have none', () => {
  const { paper, show, say } = open(GROUP)
  const group = { scope: ['g1', 'r1'], group: 'g1', round: 1 }
  show(begin(1, 's1'), iterate([1, 's1', 1]))
  say([1, 's1', 1], 'plan\n')
  show({ type: 'group_started', ...group })
  show(begin(2, 'g1/r1/s2'), begin(3, 'g1/r1/s3'), iterate([2, 'g1/r1/s2', 1]))
  say([2, 'g1/r1/s2', 1], 'lint\n')
  show({ type: 'message', ...at([3, 'g1/r1/s3', 1]), text: 'first\nsecond' })
  show({ type: 'tool', ...at([3, 'g1/r1/s3', 1]), name: 'Read', brief: 'a.ts' })
  show(done([3, 'g1/r1/s3', 1]), { type: 'group_ended', ...group, reason: 'single_run' })
  show(begin(4, 's4'), iterate([4, 's4', 1]))
  expect(paper.text).toBe(`[forkhestra] Running: ./plan
plan

[forkhestra] In parallel: ./lint & ./longest-name-of-all-agents
lint                 │ [forkhestra] Running: ./lint
longest-name-of-all… │ [forkhestra] Running: ./longest-name-of-all-agents
lint                 │ lint
longest-name-of-all… │ first
longest-name-of-all… │ second
longest-name-of-all… │ [Read] a.ts
longest-name-of-all… │ [forkhestra] Done: ./longest-name-of-all-agents (exit 0)

[forkhestra] Running: ./end
`)
})

test('a very long line is shown before its end, and not cut inside a character', () => {
  const { paper, show, say } = open(COPIES)
  show(begin(1, 's1/c1', 3), iterate(ONE!))
  const from = paper.text.length
  const long = Buffer.from('é'.repeat(40_000))
  say(ONE!, long.subarray(0, 65_537))
  expect(paper.text.slice(from)).toBe(`build#1 │ ${'é'.repeat(32_768)}\n`)
  say(ONE!, long.subarray(65_537))
  show(done(ONE!))
  expect(paper.text.slice(from)).toBe(
    `build#1 │ ${'é'.repeat(32_768)}\nbuild#1 │ ${'é'.repeat(40_000 - 32_768)}\n`,
  )
})

test('a line without an end is shown when its record ends', () => {
  const { paper, show, say, view } = open(COPIES)
  show(begin(1, 's1/c1', 3), iterate(ONE!))
  say(ONE!, 'killed while it said')
  view.end()
  expect(paper.text).toEndWith('build#1 │ killed while it said\n')
})

test('tasks of a branch are shown with its name, and do not end the line of its agent', () => {
  const { paper, show, say } = open(COPIES)
  show(begin(1, 's1/c2', 3), iterate(TWO!))
  const scope = ['s1', 'c2', 'task:docs', 'a1']
  const task = { ...at(TWO!), scope, task: 'docs', id: 't1', parent: 'build#2', agent: 'writer' }
  say(TWO!, 'a whole ')
  show({ type: 'task_started', ...task })
  say(TWO!, 'line\nunfinished')
  show({ type: 'marker_refused', ...at(TWO!), why: 'quotes' })
  expect(paper.text).toEndWith(`
build#2 │ [forkhestra] Task docs: started (writer, for build#2)
build#2 │ a whole line
build#2 │ unfinished
build#2 │ [forkhestra] Marker ignored: in quotes
`)
})

const end = (scope: string, fields: Partial<EventOf<'step_ended'>> = {}): EventBody => ({
  type: 'step_ended',
  scope: scope.split('/'),
  step: 1,
  agent: './build',
  reason: 'marker',
  iterations: 1,
  failures: 0,
  ...fields,
})
const worktree = (copy: number, base = 'abcdef1234') => ({
  type: 'branch_started' as const,
  scope: ['s1', `c${copy}`],
  branch: `forkhestra/r1/s1-c${copy}`,
  path: `/trees/c${copy}`,
  base,
  into: 'main',
})
const removed = (copy: number, kept: Partial<EventOf<'branch_ended'>> = {}): EventBody => {
  const { scope, branch, path } = worktree(copy)
  return { type: 'branch_ended', scope, branch, path, ...kept }
}
const merge = (copy: number, fields: Partial<EventOf<'merge_ended'>>): EventBody => ({
  type: 'merge_ended',
  scope: ['s1', `c${copy}`],
  branch: `forkhestra/r1/s1-c${copy}`,
  result: 'merged',
  tip: '1111111222',
  ...fields,
})
const over = (ok: boolean): EventBody => ({
  type: 'run_ended',
  ok,
  exitCode: ok ? 0 : 1,
  leftovers: [],
})

test('merges are reported at once and in the summary', () => {
  const { paper, show } = open(COPIES)
  for (const copy of [1, 2])
    show(begin(1, `s1/c${copy}`, 3), worktree(copy), iterate([1, `s1/c${copy}`, 1]))
  show(done(ONE!), merge(1, { commit: '2222222333', commits: 3 }), end('s1/c1'))
  show(removed(1), done(TWO!), merge(2, { commit: '3333333444', commits: 1 }), end('s1/c2'))
  show(removed(2), over(true))
  expect(paper.text).toEndWith(`
build#2 │ [forkhestra] Iteration 1/3
build#1 │ [forkhestra] Merged into main (3 commits, 2222222)
build#1 │ [forkhestra] Complete after 1 iteration
build#2 │ [forkhestra] Merged into main (1 commit, 3333333)
build#2 │ [forkhestra] Complete after 1 iteration

  1. ./build: complete (2 copies, 2 iterations)
[forkhestra] Chain complete (1/1 steps)
[forkhestra] Merged into main: 4 commits of 2 branches, now at 3333333
`)
})

test('work that cannot be merged is sent back, and kept if no iteration is left', () => {
  const { paper, show } = open({
    steps: [{ step: 1, agent: './build', maxIterations: 2, copies: 2 }],
  })
  show(begin(1, 's1/c1', 2), worktree(1), begin(1, 's1/c2', 2), worktree(2))
  show(iterate(ONE!), { ...done(ONE!), handsIn: true } as EventBody)
  show(merge(1, { commit: '2222222333', commits: 1 }), end('s1/c1'))
  const files = ['a.ts\n[forkhestra] Merged', 'b.ts', 'c.ts', 'd.ts', 'e.ts']
  show(iterate(TWO!), { ...done(TWO!), handsIn: true } as EventBody)
  const { scope, branch } = worktree(2)
  const checks = ['npm test']
  show({ type: 'merge_started', scope, branch, tip: '1111111222', onto: '2222222333', checks })
  show(merge(2, { result: 'gate_failed', detail: 'npm test: exit 1' }))
  show(iterate([1, 's1/c2', 2]), { ...done([1, 's1/c2', 2]), handsIn: true } as EventBody)
  show(merge(2, { result: 'conflict', files, detail: 'conflicts with main: a.ts' }))
  show(end('s1/c2', { reason: 'conflict', detail: 'conflicts with main: a.ts', iterations: 2 }))
  const kept = 'its work\nis not merged'
  show(removed(1), removed(2, { kept, hasCommits: true }), over(false))
  expect(paper.text).toEndWith(`
build#2 │ [forkhestra] Iteration 1/2
build#2 │ [forkhestra] Merging into main, checked by npm test
!build#2 │ [forkhestra] Sent back: a check failed on top of main: npm test: exit 1
build#2 │ [forkhestra] Iteration 2/2
!build#2 │ [forkhestra] Not merged: conflict in a.ts [forkhestra] Merged, b.ts, c.ts and 2 more
!build#2 │ [forkhestra] Worktree kept: /trees/c2 (its work is not merged)

  1. ./build: 1 of 2 copies complete (3 iterations); #2: conflicts with main: a.ts
[forkhestra] Chain incomplete (0/1 steps)
[forkhestra] Merged into main: 1 commit of 1 branch, now at 2222222
![forkhestra] Not merged: build#2 (conflict in a.ts [forkhestra] Merged, b.ts, c.ts and 2 more); its worktree is /trees/c2
![forkhestra] To merge build#2 by hand: git merge forkhestra/r1/s1-c2
[forkhestra] Failed at step 1: ./build#2 (conflicts with main: a.ts)
![forkhestra] Resume to let the agent try again, or merge the branch yourself
![forkhestra] Record of the run: /record
![forkhestra] To resume: forkhestra resume record
`)
})

test('if the target cannot be moved, the summary says how to do it', () => {
  const { paper, show } = open(COPIES)
  show(begin(1, 's1/c1', 3), worktree(1), iterate(ONE!), done(ONE!))
  show(begin(1, 's1/c2', 3), worktree(2), iterate(TWO!), done(TWO!), end('s1/c2'))
  const aside =
    'error: Your local changes would be overwritten by merge:\n\ta.ts\nPlease commit your changes or stash them before you merge.\nAborting\n'
  show(merge(1, { commit: '2222222333', commits: 3, aside }), end('s1/c1'))
  const branch = 'forkhestra/r1/merged'
  const left = [
    { branch, into: 'main', place: '/project' },
    { branch, into: 'main', place: '/else where' },
    { branch, into: 'main', isDiverged: true },
    { branch, into: 'gone', isDeleted: true },
  ]
  show({ type: 'run_ended', ok: true, exitCode: 0, leftovers: [], aside: left })
  expect(paper.text).toEndWith(`
!build#1 │ [forkhestra] Merged into forkhestra/r1/merged (3 commits, 2222222): main cannot be moved: Your local changes would be overwritten by merge: a.ts; commit your changes or stash them first
build#1 │ [forkhestra] Complete after 1 iteration

  1. ./build: complete (2 copies, 2 iterations)
[forkhestra] Chain complete (1/1 steps)
[forkhestra] Merged: 3 commits of 1 branch, now at 2222222
![forkhestra] Merged work is on forkhestra/r1/merged, not yet on main: Your local changes would be overwritten by merge: a.ts; commit your changes or stash them first
![forkhestra] To bring it to main: git merge --ff-only --no-overwrite-ignore forkhestra/r1/merged
![forkhestra] Merged work is on forkhestra/r1/merged, not yet on main: Your local changes would be overwritten by merge: a.ts; commit your changes or stash them first
![forkhestra] To bring it to main: git -C '/else where' merge --ff-only --no-overwrite-ignore forkhestra/r1/merged
![forkhestra] Merged work is on forkhestra/r1/merged, not yet on main: Your local changes would be overwritten by merge: a.ts; commit your changes or stash them first
![forkhestra] To bring it to main: git switch main && git merge forkhestra/r1/merged
![forkhestra] Merged work is on forkhestra/r1/merged, not yet on gone
![forkhestra] To bring it to gone: git branch gone forkhestra/r1/merged
![forkhestra] Worktrees kept for a resume: build#1, build#2
`)
})
