import { afterEach, expect, test } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brokenPromises } from '../support/branch-soak.ts'
import {
  inProject,
  leftovers,
  makeBranchProject,
  startBranches,
  subjectsOf,
} from '../support/branches.ts'
import { startChain } from '../support/chains.ts'
import { sh } from '../support/project.ts'
import { journalOf, ofType, runsOf } from '../support/record.ts'
import { removeWorktrees, worktreesOf } from '../support/repository.ts'
import { until } from '../support/until.ts'

afterEach(removeWorktrees)

const AGENT = sh(
  'name=$(echo "$FORKHESTRA_SCOPE" | tr / -)',
  'echo "$name" > "file-$name"; git add -A; git commit -qm "work $FORKHESTRA_SCOPE"',
  'echo ORCHESTRA_COMPLETE',
)
const STEP = { agent: './agent', name: 'a', iterations: 2, copies: 2, prompt: 'Work.' }

/** Kills a run as soon as something is so, resumes it, and expects that each copy worked once. */
async function killWhen(cwd: string, isSo: (run: string) => boolean): Promise<void> {
  const running = startBranches(cwd)
  await until(() => runsOf(cwd).length > 0 && isSo(runsOf(cwd)[0]!))
  running.signal('SIGKILL')
  expect((await running.finished).code).toBe(137)
  const resumed = await inProject(cwd, 'resume', '--kill-orphans')
  expect([resumed.code, resumed.stderr]).toEqual([0, expect.not.stringContaining('internal error')])
  const commits = subjectsOf(cwd).filter((subject) => subject.startsWith('work '))
  expect(new Set(commits)).toEqual(new Set(['work s1/c1/i1', 'work s1/c2/i1']))
  expect(await brokenPromises(cwd)).toEqual([])
  expect(leftovers(cwd)).toEqual([])
  expect((await inProject(cwd, 'worktrees')).stdout).toBe(
    'No worktrees or branches of runs are left.\n',
  )
}

const hasEvent = (cwd: string, type: string) => (run: string) => {
  const path = join(cwd, 'forge/orch/runs', run, 'events.ndjson')
  return existsSync(path) && readFileSync(path, 'utf8').includes(`"type":"${type}"`)
}

test.each(['branch_started', 'merge_started', 'merge_moving', 'merge_ended', 'branch_ended'])(
  'kill -9 right after %s',
  async (type) => {
    const cwd = makeBranchProject([STEP], { agent: AGENT })
    await killWhen(cwd, hasEvent(cwd, type))
  },
)

test('an iteration whose work git was just committing when everything was killed is repeated', async () => {
  const git = [
    'case "$*" in *--git-dir=*)',
    '[ ! -e made ] || [ -e "$HOLD" ] || { touch "$HOLD"; sleep 60; };;',
    'esac',
    `exec ${Bun.which('git')} "$@"`,
  ]
  const agent = sh('echo 1 > made', 'echo ORCHESTRA_COMPLETE')
  const cwd = makeBranchProject([STEP], {
    agent,
    'tools/git': sh(...git),
  })
  const hold = join(cwd, '.state/hold')
  const PATH = `${join(cwd, 'tools')}:${process.env['PATH']}`
  const running = startChain(cwd, { env: { PATH, HOLD: hold } })
  await until(() => existsSync(hold))
  running.signal('SIGQUIT')
  const { code, stdout } = await running.finished
  expect([code, stdout]).toEqual([131, expect.stringContaining('interrupted by SIGQUIT')])
  expect((await inProject(cwd, 'resume')).code).toBe(0)
  const iterations = ofType(journalOf(cwd, runsOf(cwd)[0]!), 'iteration_started')
  expect(iterations.map(({ iteration }) => iteration)).not.toContain(2)
})

test('kill -9 during the setup of a worktree', async () => {
  const setup =
    'touch "$FORKHESTRA_RECORD/in-setup"; [ -e "$FORKHESTRA_RECORD/once" ] || { touch "$FORKHESTRA_RECORD/once"; sleep 60; }'
  const cwd = makeBranchProject([{ ...STEP, setup }], { agent: AGENT })
  await killWhen(cwd, (run) => existsSync(join(cwd, 'forge/orch/runs', run, 'in-setup')))
})

test('kill -9 while git makes a worktree of 5 000 files', async () => {
  const files = Array.from({ length: 5000 }, (_, at) => [`files/${at % 50}/${at}.txt`, `${at}\n`])
  const cwd = makeBranchProject([STEP], { agent: AGENT, ...Object.fromEntries(files) })
  await killWhen(cwd, () =>
    worktreesOf(cwd).some((name) => existsSync(join(`${cwd}.worktrees`, name, 'files'))),
  )
})

test('kill -9 before the work of branches that did not complete is merged', async () => {
  const verify =
    'case "$PWD" in *.merge*) touch "$FORKHESTRA_RECORD/begun"; [ -e "$FORKHESTRA_RECORD/go" ] || exec sleep 60;; esac'
  const agent = AGENT.replace('echo ORCHESTRA_COMPLETE', 'exit 3')
  const cwd = makeBranchProject([{ ...STEP, iterations: 1 }], { agent }, { verify })
  const running = startBranches(cwd)
  const inRecord = (name: string) => join(cwd, 'forge/orch/runs', runsOf(cwd)[0] ?? '', name)
  const ends = () => ofType(journalOf(cwd, runsOf(cwd)[0] ?? ''), 'step_ended')
  await until(() => existsSync(inRecord('begun')) && ends().length === 2)
  running.signal('SIGKILL')
  await running.finished
  writeFileSync(inRecord('go'), '')
  expect((await inProject(cwd, 'resume', '--kill-orphans')).code).toBe(1)
  expect(subjectsOf(cwd).toSorted()).toEqual(['begin', 'work s1/c1/i1', 'work s1/c2/i1'])
  expect(ends()).toHaveLength(2)
  expect(leftovers(cwd)).toEqual([])
})
