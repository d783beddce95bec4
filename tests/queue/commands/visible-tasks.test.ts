import { expect, test } from 'bun:test'
import { eventSchema } from '../../../src/records/events/schema.ts'
import { forkhestra } from '../../support/forkhestra.ts'
import { makeProject, sh } from '../../support/project.ts'
import { ask, makeQueueProject, runPrompt } from '../../support/queue.ts'
import { journalOf, ofType, runsOf } from '../../support/record.ts'

const BROKEN = 'echo half of it; echo a warning >&2; exit 3'

/** Two tasks that succeed, one that fails, one that is not started; no result is read. */
function makeMixed(): string {
  return makeQueueProject(
    [
      `/push name=good 'echo all of it'`,
      `/push name=broken '${BROKEN}'`,
      `/push name=weak retry=2 "echo x >> weak; echo try $(wc -l < weak); [ $(wc -l < weak) -ge 2 ] || { echo 'API Error: 529 overloaded_error'; exit 1; }"`,
      '/run',
      'true',
      `/push name=later 'true'`,
    ].join('\n'),
  )
}

test('the output of sixteen concurrent tasks can be told apart line by line', async () => {
  const names = Array.from({ length: 16 }, (_, index) => `t${index}`)
  const talk =
    'printf "begin-"; echo >> begun; until [ $(wc -l < begun) = 16 ]; do sleep 0.05; done; echo end; for i in 1 2 3; do echo line $i; done'
  const cwd = makeQueueProject(
    [...names.map((name) => `/push name=${name} '${talk}'`), '/run', 'true'].join('\n'),
  )
  const { stdout } = await runPrompt(cwd, '-v')
  for (const name of names) {
    const own = stdout.split('\n').filter((line) => line.startsWith(`${name} | `))
    expect(own).toEqual([`${name} | begin-end`, ...[1, 2, 3].map((n) => `${name} | line ${n}`)])
    expect(stdout).toContain(`Task ${name}: started (./agent, for main)\n`)
    expect(stdout).toMatch(new RegExp(`Task ${name}: done \\(.* s\\)\\n`))
  }
})

test('a failed task is reported to its parent and does not fail the run', async () => {
  const cwd = makeMixed()
  const { code, stdout, stderr } = await runPrompt(cwd)
  expect(code).toBe(0)
  expect(stderr).toContain('Task broken: failed (fatal: exit 3)\n')
  expect(stderr).toMatch(/Task weak: failed \(transient: .*529.*\), will retry\n/)
  expect(stdout).toContain('Task weak: started (./agent, for main, attempt 2)\n')
  expect(stdout).toContain('Pipeline complete (1/1 steps)')
  expect(stdout).toContain('Left in the queue: later; to start: forkhestra run-queue\n')
  expect(stdout).toContain('; to read: forkhestra check\n')
  expect(stdout).toMatch(/Unread in the inbox: 3 from (?:(?:good|broken|weak)(?:, )?){3};/)
})

test('JSON output has all details of a task', async () => {
  const cwd = makeMixed()
  const { stdout } = await runPrompt(cwd, '--json')
  const events = stdout
    .trim()
    .split('\n')
    .map((line) => eventSchema.parse(JSON.parse(line)))
  const [started] = ofType(events, 'task_started').filter(({ task }) => task === 'broken')
  const about = { task: 'broken', parent: 'main', agent: './agent', attempt: 1, step: 1 }
  expect(started).toMatchObject(about)
  expect(started?.id).toBeString()
  const [ended] = ofType(events, 'task_ended').filter(({ task }) => task === 'broken')
  const failed = { success: false, class: 'fatal', error: 'exit 3', id: started?.id }
  expect(ended).toMatchObject({ ...about, ...failed })
  const tries = ofType(events, 'task_ended').filter(({ task }) => task === 'weak')
  expect(tries.map(({ attempt, again, success }) => [attempt, again, success])).toEqual([
    [1, true, false],
    [2, undefined, true],
  ])
  expect(ofType(events, 'run_ended')[0]).toMatchObject({
    ok: true,
    exitCode: 0,
    queue: { queued: 1, names: ['later'], unread: 3 },
  })
})

test('show lists the tasks of a run, what is left, and how to continue', async () => {
  const cwd = makeMixed()
  await runPrompt(cwd)
  const [id] = runsOf(cwd)
  const { stdout } = await forkhestra(['show'], { cwd })
  const [, tasks = ''] = stdout.split('\nTasks: ')
  expect(tasks).toStartWith('1 queued, 1 failed, 2 done\n')
  expect(tasks).toMatch(/ {2}later +queued/)
  expect(tasks).toMatch(/ {2}broken +failed \(fatal: exit 3\)/)
  expect(tasks).toMatch(/ {2}weak +done +2 attempts/)
  expect(stdout).toContain(`forkhestra run-queue --run ${id}`)
  expect(stdout).toContain(`forkhestra check --run ${id}`)
  expect(stdout).toContain(`forkhestra logs ${id} --task broken`)
  const shown = await ask<{ tasks: object[]; queue: object }>(cwd, 'show')
  expect(shown.tasks).toMatchObject([
    { name: 'good', state: 'done', attempts: 1, parent: 'main' },
    { name: 'broken', state: 'failed', class: 'fatal', error: 'exit 3', attempts: 1 },
    { name: 'weak', state: 'done', attempts: 2 },
    { name: 'later', state: 'queued', attempts: 0 },
  ])
  expect(shown.queue).toMatchObject({ queued: 1, names: ['later'], unread: 3 })
})

test('show does not mention tasks if there are none', async () => {
  const cwd = makeQueueProject('true')
  await runPrompt(cwd)
  expect((await forkhestra(['show'], { cwd })).stdout).not.toContain('Tasks')
  expect(await ask<object>(cwd, 'show')).not.toHaveProperty('tasks')
})

test('logs prints the output of any attempt of a task', async () => {
  const cwd = makeMixed()
  await runPrompt(cwd)
  const logs = (...more: string[]) => forkhestra(['logs', ...more], { cwd })
  const broken = await logs('--task', 'broken')
  expect(broken.stdout).toContain('broken | half of it\n')
  expect(broken.stdout).toContain('broken | a warning\n')
  expect(broken.stdout).not.toContain('all of it')
  expect((await logs('--task', 'broken', '--raw')).stdout.split('\n').toSorted()).toEqual(
    ['half of it', 'a warning', ''].toSorted(),
  )
  expect((await logs('--task', 'weak', '--raw')).stdout).toContain('try 1\n')
  expect((await logs('--task', 'weak', '--attempt', '2', '--raw')).stdout).toBe('try 2\n')
  const json = (await logs('--task', 'good', '--json')).stdout.trim().split('\n')
  expect(json.map((line) => (JSON.parse(line) as { type: string }).type)).toEqual([
    'task_started',
    'output',
    'task_ended',
  ])
  const nobody = await logs('--task', 'nobody')
  expect(nobody.code).toBe(2)
  expect(nobody.stderr).toContain("has no task 'nobody' that was started")
  const none = await logs('--attempt', '2')
  expect(none.code).toBe(2)
  expect(none.stderr).toContain('--attempt needs --task.')
})

test('the cost of tasks counts for their agent and for the step that queued them', async () => {
  const claude = sh(
    'for last; do :; done',
    'cost=0.25; eval "$last" > /dev/null',
    `printf '{"type":"result","subtype":"success","is_error":false,"result":"ok","total_cost_usd":%s}\\n' $cost`,
  )
  const agents = { lead: { systemPromptText: 'Lead.' }, helper: { systemPromptText: 'Help.' } }
  const prompt = '/push name=one agent=helper "cost=2"\n/run\nforkhestra receive'
  const chains = { work: { steps: [{ agent: 'lead', prompt }] } }
  const config = JSON.stringify({ agents, chains })
  const cwd = makeProject({ claude, 'forge/orch/chains.json': config })
  const run = await forkhestra(['--chain', 'work'], { cwd, env: { IS_SANDBOX: '1' } })
  expect(run.code).toBe(0)
  const rowsBy = async (by: string) => {
    const { rows } = await ask<{ rows: { key: string; costUsd: number }[] }>(
      cwd,
      'cost',
      '--by',
      by,
    )
    return rows.map(({ key, costUsd }) => [key, costUsd])
  }
  expect(await rowsBy('agent')).toEqual([
    ['helper', 2],
    ['lead', 0.25],
  ])
  expect(await rowsBy('step')).toEqual([['work step 1: lead', 2.25]])
  expect(await rowsBy('task')).toEqual([
    ['(sub-agents)', 2],
    ['(no task)', 0.25],
  ])
  const { stdout } = await forkhestra(['show'], { cwd })
  expect(stdout).toMatch(/ {2}one +done .*\$2\.00/)
  expect(stdout).toContain('$2.25')
  const journal = journalOf(cwd, runsOf(cwd)[0]!)
  expect(ofType(journal, 'task_ended')[0]?.usage?.costUsd).toBe(2)
})
