import { expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
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
import { ofType } from '../support/record.ts'
import { git } from '../support/repository.ts'

const FORGE_TASKS = join(FORKHESTRA, '../forge-tasks')
const VERIFY = '! test -e bad'

/** Takes a task and leaves a file that fails the check; told so, it removes it at the third try. */
const BUILDER = sh(
  'case "$*" in *"this check failed"*)',
  '  echo x >> tries; [ $(wc -l < tries) -ge 3 ] && rm -f bad',
  '  git add -A; git commit -qm "Repair"; exit;;',
  'esac',
  'id=$(forge-tasks next --claim --plain 2>/dev/null | sed -n "s/^id: //p" | head -1)',
  '[ -n "$id" ] || exit 0',
  'touch bad; forge-tasks edit "$id" -s done > /dev/null',
  'git add -A && git commit -qm "$id"',
)

function makeProject(builder: string, step: object = {}): string {
  const steps = [{ agent: './builder', iterations: 9, copies: 2, prompt: 'Build.', ...step }]
  const agents = { './builder': { tasks: true } }
  return makeBranchProject(steps, { builder }, { verify: VERIFY }, agents)
}

function tasks(cwd: string, ...args: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync([FORGE_TASKS, ...args], { cwd })
  if (exitCode !== 0) throw new Error(stderr.toString())
}

test('the last task is sent back until its check passes, although no other is left', async () => {
  const cwd = makeProject(BUILDER)
  tasks(cwd, 'create', 'Only')
  const { code, events, stdout } = await runBranches(cwd)
  expect([code, stdout]).toEqual([0, stdout])
  const results = ofType(events, 'merge_ended').map(({ result }) => result)
  expect(results).toEqual(['gate_failed', 'gate_failed', 'gate_failed', 'merged'])
  expect(subjectsOf(cwd).slice(-4)).toEqual(['TASK-001', 'Repair', 'Repair', 'Repair'])
  expect(leftovers(cwd)).toEqual([])
})

test('an agent that changes nothing about a refused merge stalls', async () => {
  const idle = BUILDER.replace('echo x >> tries;', 'exit;')
  const cwd = makeProject(idle, { stall: 2 })
  tasks(cwd, 'create', 'Only')
  const { code, events, stdout, stderr } = await runBranches(cwd)
  expect(code).toBe(1)
  expect(ofType(events, 'iteration_started')).toHaveLength(3)
  const ends = ofType(events, 'step_ended').map(({ reason }) => reason)
  expect(ends.toSorted()).toEqual(['blocked', 'stalled'])
  expect(subjectsOf(cwd)).not.toContain('TASK-001')
  // Said when it happens, and named as the cause, rather than the copy that had nothing to do.
  expect(stderr).toMatch(/^builder#\d │ \[forkhestra\] Ended: stalled: /m)
  expect(stdout).toMatch(/^\[forkhestra\] Failed at step 1: \S+#\d \(stalled: /m)
})

test('checks that fail without ignored files say how to continue', async () => {
  const steps = [{ agent: './builder', iterations: 9, copies: 2, prompt: 'Build.' }]
  const files = { '.gitignore': '.state\n.config\ndeps\n', 'deps/one': '', builder: BUILDER }
  const agents = { './builder': { tasks: true } }
  const cwd = makeBranchProject(steps, files, { verify: 'ls deps' }, agents)
  tasks(cwd, 'create', 'Only')
  const { code, stdout, stderr } = await runBranches(cwd)
  expect(code).toBe(1)
  expect(stdout).toMatch(/builder#\d \(error: the checks already fail on main: ls deps: exit 2\)\n/)
  expect(stderr).toContain(
    '[forkhestra] Run the check in a clean clone, fix what it reports, then resume; if it needs ignored files: forkhestra resume --verify "SETUP && CHECK"\n',
  )
  const show = await inProject(cwd, 'show')
  expect(show.stdout).toMatch(
    /  forkhestra resume \S+ --verify "SETUP && CHECK" +if the check needs/,
  )
  expect(show.stdout).not.toContain('forkhestra doctor')
  const resumed = await inProject(cwd, 'resume', '--verify', 'mkdir -p deps && ls deps')
  expect([resumed.code, resumed.stdout]).toEqual([0, resumed.stdout])
  expect(leftovers(cwd)).toEqual([])
})

test('a check that fails although all tasks are done is repaired', async () => {
  const cwd = makeProject(sh('git rm -q bad; git commit -qm "Repair"'))
  tasks(cwd, 'create', 'Only')
  tasks(cwd, 'edit', '1', '-s', 'done', '--force')
  await Bun.write(join(cwd, 'bad'), '')
  git(cwd, 'add', '-A')
  git(cwd, 'commit', '-qm', 'Break it')
  const { code, stdout } = await runBranches(cwd)
  expect([code, stdout]).toEqual([0, stdout])
  expect(subjectsOf(cwd).at(-1)).toBe('Repair')
  expect(leftovers(cwd)).toEqual([])
})

test('an iteration that was cut off is repeated at once, not when all others have ended', async () => {
  // Cut off with a task that is done and not committed. Another one waits for it, and for work of the other branch.
  const builder = sh(
    'id=$(forge-tasks next --claim --plain 2>/dev/null | sed -n "s/^id: //p" | head -1)',
    '[ -z "$id" ] || forge-tasks edit "$id" -s done > /dev/null',
    'if [ "$id" = TASK-001 ] && [ -e "$FORKHESTRA_RECORD/../../../../.state/hold" ]; then echo held; exec sleep 600; fi',
    '[ -z "$(git status --porcelain)" ] || { git add -A; git commit -qm "Work $id"; }',
  )
  const cwd = makeProject(builder)
  for (const args of [['One'], ['Two'], ['Three', '--depends-on', '1,2']])
    tasks(cwd, 'create', ...args)
  const hold = join(cwd, '.state/hold')
  await Bun.write(hold, '')
  const running = startBranches(cwd)
  await running.printed('held')
  await running.printed('Merged into main')
  running.signal('SIGINT')
  expect((await running.finished).code).toBe(130)
  rmSync(hold)
  const { code, stdout } = await inProject(cwd, 'resume')
  expect([code, stdout]).toEqual([0, stdout])
  expect(git(cwd, 'grep', '-l', '^status: Done', '--', 'forge/tasks').split('\n')).toHaveLength(3)
  expect(leftovers(cwd)).toEqual([])
})

test('a task that an iteration did not finish leaves no change in its worktree', async () => {
  const builder = sh(
    'git status --porcelain | sed "s/^/left: /"',
    'id=$(forge-tasks next --claim --plain 2>/dev/null | sed -n "s/^id: //p" | head -1)',
    '[ "$FORKHESTRA_ITERATION" = 1 ] && exit 1',
    'forge-tasks view "$id" --plain | grep attempt',
    'forge-tasks edit "$id" -s done > /dev/null; git add -A; git commit -qm "$id"',
  )
  const cwd = makeProject(builder, { copies: undefined })
  tasks(cwd, 'create', 'Only')
  const { code, stdout } = await runBranches(cwd, '--worktree')
  expect([code, stdout]).toEqual([0, stdout])
  expect(stdout).not.toContain('left:')
  expect(stdout).toContain('its iteration ended (exited)')
  expect(git(cwd, 'log', '-p')).not.toContain('without a result')
})
