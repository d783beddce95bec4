import { afterEach, expect, test } from 'bun:test'
import { forkhestra, Running, shell } from '../../support/forkhestra.ts'
import { makeProject, sh } from '../../support/project.ts'
import { tasksOf } from '../../support/queue.ts'
import { makeRepository, removeWorktrees } from '../../support/repository.ts'
import { fileIn } from '../../support/until.ts'

afterEach(removeWorktrees)

const SLEEPER = sh('touch "up-$FORKHESTRA_AGENT_NAME"; [ -e awake ] || exec sleep 60')

function project(): string {
  return makeProject({ 'forge/.keep': '', sleeper: SLEEPER })
}

const push = (cwd: string, ...words: string[]) =>
  forkhestra(['push', 'agent=./sleeper', ...words, 'x'], { cwd })

test('a number that is too large is refused with the allowed range', async () => {
  const cwd = project()
  await push(cwd)
  const { code, stderr } = await forkhestra(['check', '--max', '10000000'], { cwd })
  expect(code).toBe(2)
  expect(stderr).toContain('max is "10000000", expected a whole number from 1 to 1000000.')
})

test('cancel main explains how to stop the run', async () => {
  const cwd = project()
  await push(cwd)
  const { stderr } = await forkhestra(['cancel', 'main'], { cwd })
  expect(stderr).toContain('forkhestra stop')
})

test('the refusal of a task beyond the depth limit says what to do', async () => {
  const cwd = makeProject({
    'forge/.keep': '',
    'forge/orch/chains.json': '{"agents":{},"chains":{},"queueLimits":{"depth":1}}',
    deep: sh('forkhestra push below 2>&1 || exit 0'),
  })
  await forkhestra(['push', 'agent=./deep', 'x'], { cwd })
  await forkhestra(['run-queue'], { cwd })
  expect((await forkhestra(['check'], { cwd })).stdout).toContain('queueLimits.depth')
})

test('after Ctrl-C, run-queue lists what must be pushed again and what can be resumed', async () => {
  const cwd = project()
  await push(cwd, 'name=once')
  await push(cwd, 'name=again', 'retry=1')
  const running = new Running(['run-queue'], { cwd })
  for (const name of ['once', 'again']) await fileIn(cwd, `up-${name}`)
  running.signal('SIGINT')
  const { code, stderr } = await running.finished
  expect(code).toBe(130)
  expect(stderr).toContain(
    '[forkhestra] Lost and not retried: once; to push again: forkhestra push',
  )
  expect(stderr).toContain('[forkhestra] Not finished: again; resume with: forkhestra run-queue\n')
})

test('each lost task is listed with its agent and its options, at most three of them', async () => {
  const cwd = project()
  await push(cwd, 'name=a', 'timeout=90', 'isolation=shared', 'on_parent_end=wait')
  for (const name of ['b', 'c', 'd', 'e']) await push(cwd, `name=${name}`)
  const running = new Running(['run-queue'], { cwd })
  for (const name of ['a', 'b', 'c', 'd', 'e']) await fileIn(cwd, `up-${name}`)
  running.signal('SIGINT')
  const { stderr } = await running.finished
  const lost = '[forkhestra] Lost and not retried: '
  expect(stderr).toContain(
    `${lost}a; to push again: forkhestra push name=a agent=./sleeper timeout=90s isolation=shared on_parent_end=wait retry=1 "PROMPT"\n`,
  )
  expect(stderr).toContain(`${lost}c; to push again: forkhestra push name=c agent=./sleeper`)
  expect(stderr).toMatch(/Lost and not retried: 2 more; see: forkhestra show \S+\n/)
  expect(stderr).not.toContain(`${lost}d`)
})

test('the hints of a task that cannot start are sentences, one after the other', async () => {
  const cwd = project()
  const env = { PATH: `${cwd}:/usr/bin:/bin` }
  await forkhestra(['push', 'name=x', 'x'], { cwd, env })
  const { stderr } = await forkhestra(['run-queue'], { cwd, env })
  expect(stderr).toMatch(/'claude' on PATH\. .*The task does not name another agent\.\)\n/)
  const { stdout } = await forkhestra(['check'], { cwd, env })
  expect(stdout).toContain(' The task does not name another agent.\n')
  expect(stdout).toMatch(/\nInstall it with npm .*\nOr name another agent: push --agent\.\n/)
  expect(stdout).not.toMatch(/doctor +\S/)
})

test('a resume that is refused because of orphans does not claim to continue', async () => {
  const cwd = project()
  await push(cwd, 'name=a', 'retry=1')
  const running = new Running(['run-queue'], { cwd })
  await fileIn(cwd, 'up-a')
  running.signal('SIGKILL')
  await running.finished
  const { code, stdout, stderr } = await forkhestra(['resume'], { cwd })
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toContain('--kill-orphans')
  await Bun.write(`${cwd}/awake`, '')
  const gone = await forkhestra(['resume', '--kill-orphans'], { cwd })
  expect(gone.stdout).toContain('Continuing: a')
})

test('a second run-queue with nothing to start lists the running tasks', async () => {
  const cwd = project()
  await push(cwd, 'name=a')
  const running = new Running(['run-queue'], { cwd })
  await fileIn(cwd, 'up-a')
  const { code, stdout } = await forkhestra(['run-queue'], { cwd })
  expect([code, stdout]).toEqual([0, 'Nothing was started. Already started: a.\n'])
  running.signal('SIGINT')
  await running.finished
})

test('run-queue reports that started tasks are not running if stdout fails', async () => {
  const cwd = project()
  await push(cwd, 'name=a')
  const { code, stderr } = await shell('forkhestra run-queue > /dev/full', cwd)
  expect(code).toBe(1)
  expect(stderr).toContain('Started, but not running: a; resume with: forkhestra run-queue')
  expect(await tasksOf(cwd)).toMatchObject([{ name: 'a', state: 'ready' }])
})

test('show lists work that is left in worktrees', async () => {
  const cwd = makeRepository()
  const words = ['push', 'agent=./agent', 'isolation=worktree', 'echo new > new.txt']
  await forkhestra(words, { cwd })
  await forkhestra(['run-queue'], { cwd })
  const { stdout } = await forkhestra(['show'], { cwd })
  expect(stdout).toMatch(/^ {2}git worktree list +unmerged work of tasks$/m)
})

const FOLLOWED = 'Begin\n/push name=next agent=./sleeper Go on'

test('run-queue lists tasks that were queued meanwhile, and how to start them', async () => {
  const cwd = project()
  await Bun.write(`${cwd}/awake`, '')
  await push(cwd, 'name=a', FOLLOWED)
  const { code, stdout } = await forkhestra(['run-queue'], { cwd })
  expect(code).toBe(0)
  expect(stdout).toEndWith(
    '\n[forkhestra] Left in the queue: next; to start: forkhestra run-queue\n',
  )
  await push(cwd, 'name=b', FOLLOWED.replace('next', 'last'))
  const json = await forkhestra(['run-queue', '--json'], { cwd })
  const last = json.stdout.trimEnd().split('\n').at(-1)!
  expect(JSON.parse(last)).toMatchObject({ type: 'crew_ended', queued: 1, names: ['last'] })
})

test('the same after a kill, and nothing is listed if nothing is left', async () => {
  const cwd = project()
  await push(cwd, 'name=a', 'Begin\n/push name=next on=failure agent=./sleeper Go on')
  const running = new Running(['run-queue'], { cwd })
  await fileIn(cwd, 'up-a')
  running.signal('SIGKILL')
  await running.finished
  const gone = await forkhestra(['run-queue', '--kill-orphans'], { cwd })
  expect(gone.stdout).toContain('Left in the queue: next; to start: forkhestra run-queue\n')
  await Bun.write(`${cwd}/awake`, '')
  const { stdout } = await forkhestra(['run-queue'], { cwd })
  expect(stdout).not.toContain('Left in the queue')
})
