import { expect, test } from 'bun:test'
import { sh } from '../support/project.ts'
import {
  blocks,
  builds,
  commits,
  must,
  openRepository,
  PLAN_THREE,
  tasks,
} from './support/project-of-tasks.ts'
import { eventsOf, openStage, outcomes, reasons, withoutSums } from './support/stage.ts'
import { bash, DONE } from './support/writer.ts'

const MORE = { text: 'One page is done.' }

test('build-all plans and builds a project that has only specs', async () => {
  await using stage = await openRepository({
    planner: [[{ tool: PLAN_THREE }, DONE]],
    builder: [
      [...builds(1), MORE],
      [...builds(2), MORE],
      [...builds(3), DONE],
    ],
  })
  const { code, stdout, stderr } = await stage.run('--chain', 'build-all')
  expect(withoutSums(stdout)).toEndWith(`[forkhestra] Complete after 3 iterations

  1. planner: complete (1/3 iterations, marker)
  2. builder: complete (3/20 iterations, marker)
[forkhestra] Chain complete (2/2 steps)
[forkhestra] Spent: …
`)
  expect([code, stderr]).toEqual([0, ''])
  expect(await commits(stage)).toEqual([
    'Plan three pages',
    'TASK-001: Add page 1',
    'TASK-002: Add page 2',
    'TASK-003: Add page 3',
  ])
  expect(await tasks(stage)).toEqual([
    'TASK-001 | Done | - | Page 1',
    'TASK-002 | Done | - | Page 2',
    'TASK-003 | Done | - | Page 3',
  ])
  expect(await must(stage, 'git status --porcelain')).toBe('')
  expect(await must(stage, 'git ls-files -- page-* forge/orch')).toBe(
    'forge/orch/specs/SPECS.md\npage-1.txt\npage-2.txt\npage-3.txt',
  )
  const claims = stage.asks.flatMap(({ results }) => (results.length === 1 ? results : []))
  expect(
    claims.filter((result) => result.startsWith('id: ')).map((text) => text.slice(4, 12)),
  ).toEqual(['TASK-001', 'TASK-002', 'TASK-003'])
})

test('an early marker of a builder is refused, and the loop continues', async () => {
  await using stage = await openRepository({
    planner: [[{ tool: PLAN_THREE }, DONE]],
    builder: [
      [...builds(1), DONE],
      [...builds(2), DONE],
      [...builds(3), DONE],
    ],
  })
  const result = await stage.runJson('--chain', 'build-all')
  expect(eventsOf(result, 'marker_refused').map(({ iteration, why }) => [iteration, why])).toEqual([
    [1, 'tasks_ready'],
    [2, 'tasks_ready'],
  ])
  expect(outcomes(result).map(({ kind }) => kind)).toEqual(['marker', 'exited', 'exited', 'marker'])
  expect([result.code, reasons(result)]).toEqual([0, ['marker', 'marker']])
})

test('a blocked task makes the run incomplete, with the counts in the summary', async () => {
  await using stage = await openRepository({
    planner: [[{ tool: PLAN_THREE }, DONE]],
    builder: [
      [...builds(1), MORE],
      [...blocks(2), DONE],
    ],
  })
  const { code, stdout } = await stage.run('--chain', 'build-all')
  expect(withoutSums(stdout)).toEndWith(`
  1. planner: complete (1/3 iterations, marker)
  2. builder: incomplete (2/20 iterations, tasks left: 1 blocked, 1 waiting)
[forkhestra] Chain incomplete (1/2 steps)
[forkhestra] Spent: …
[forkhestra] Failed at step 2: builder (blocked: tasks left: 1 blocked, 1 waiting)
`)
  expect(code).toBe(1)
  expect(await tasks(stage)).toEqual([
    'TASK-001 | Done | - | Page 1',
    'TASK-002 | Blocked | - | Page 2',
    'TASK-003 | To Do | - | Page 3',
  ])
  expect((await commits(stage)).at(-1)).toBe('TASK-002: blocked, the picture is missing')
})

test('--json reports the reason blocked for tasks left blocked', async () => {
  await using stage = await openRepository({ builder: [[...blocks(1), DONE]] })
  await must(stage, 'forge-tasks create "Page 1" --ac "page-1.txt exists"')
  const result = await stage.runJson('--chain', 'build')
  expect(eventsOf(result, 'step_ended')[0]).toMatchObject({
    reason: 'blocked',
    detail: 'tasks left: 1 blocked, 0 waiting',
  })
  expect(result.code).toBe(1)
})

test('a task of a builder that dies goes to the next iteration', async () => {
  const die = [...builds(1).slice(0, 1), { tool: bash('kill -KILL $PPID') }]
  await using stage = await openRepository({ builder: [die, [...builds(1), DONE]] })
  await must(stage, 'forge-tasks create "Page 1" --ac "page-1.txt exists"')
  const result = await stage.runJson('--chain', 'build')
  expect(outcomes(result)).toEqual([{ kind: 'signalled', signal: 'SIGKILL' }, { kind: 'marker' }])
  expect(await tasks(stage)).toEqual(['TASK-001 | Done | - | Page 1'])
})

test('a builder that leaves its task unfinished is not done', async () => {
  const forget = [...builds(1).slice(0, 1), DONE]
  await using stage = await openRepository({ builder: [forget, [...builds(1), DONE]] })
  await must(stage, 'forge-tasks create "Page 1" --ac "page-1.txt exists"')
  const { code, stdout } = await stage.run('--chain', 'build')
  expect(stdout).toContain('[forkhestra] Marker ignored: tasks are still ready\n')
  expect(stdout).toContain('[forkhestra] Complete after 2 iterations')
  expect(code).toBe(0)
})

test("build-all continues without the planner's marker if tasks exist", async () => {
  const unsure = [{ text: 'There may be more.' }]
  await using stage = await openRepository({
    planner: [[{ tool: PLAN_THREE }, ...unsure], unsure, unsure],
    builder: [
      [...builds(1), MORE],
      [...builds(2), MORE],
      [...builds(3), DONE],
    ],
  })
  const result = await stage.runJson('--chain', 'build-all')
  expect([result.code, reasons(result)]).toEqual([0, ['until', 'marker']])
})

test('build-all stops if the planner gives no marker and creates no task', async () => {
  const unsure = [{ text: 'I do not understand the specs.' }]
  await using stage = await openRepository({ planner: [unsure, unsure, unsure] })
  const result = await stage.runJson('--chain', 'build-all')
  expect([result.code, reasons(result)]).toEqual([1, ['max_iterations', 'skipped']])
})

test.each(['build-all', 'plan', 'ralph'])(
  'without specs %s says what to write where',
  async (chain) => {
    await using stage = await openStage({ script: [DONE] })
    const { code, stdout, stderr } = await stage.run('--chain', chain)
    const folder = chain === 'ralph' ? 'ralph' : 'forge/orch/specs'
    expect(stderr).toContain(`neither ${folder}/PLAN.md nor ${folder}/SPECS.md exists`)
    expect(stderr).toContain('forkhestra init')
    expect([code, stdout, stage.model.requests]).toEqual([2, '', []])
  },
)

test('the planner is sonnet, has 50 turns and cannot edit files', async () => {
  await using stage = await openRepository(
    { planner: [[DONE]] },
    { env: { ENABLE_TOOL_SEARCH: 'false' } },
  )
  const result = await stage.runJson('--chain', 'plan')
  const [ask] = stage.asks
  expect(ask?.model).toContain('sonnet')
  expect(ask?.tools.toSorted()).toEqual(['Bash', 'Glob', 'Grep', 'Read'])
  expect(ask?.system).toContain('`forge/orch/specs/`')
  const [{ argv = [] } = {}] = eventsOf(result, 'iteration_started')
  expect(argv[argv.indexOf('--max-turns') + 1]).toBe('50')
})

test('a prompt of the project replaces the built-in one', async () => {
  const files = { 'forge/orch/prompts/planner.md': '# Planner of the house\n\nPlan little.\n' }
  await using stage = await openRepository({ planner: [[DONE]] }, { files })
  const { code } = await stage.run('--chain', 'plan')
  expect(stage.asks[0]?.system).toEndWith('# Planner of the house\n\nPlan little.\n')
  expect(stage.asks[0]?.system).not.toContain('Turn specs into tasks.')
  expect(code).toBe(0)
})

test('a configured field overrides that of a built-in agent, and the rest stays', async () => {
  const setting = { agents: { planner: { model: 'opus' } }, env: { ENABLE_TOOL_SEARCH: 'false' } }
  await using stage = await openRepository({ planner: [[DONE]] }, setting)
  const { code } = await stage.run('planner:2')
  expect(stage.asks[0]?.model).toContain('opus')
  expect(stage.asks[0]?.system).toContain('Turn specs into tasks.')
  expect(stage.asks[0]?.tools.toSorted()).toEqual(['Bash', 'Glob', 'Grep', 'Read'])
  expect(code).toBe(0)
})

test('the reviewer runs as an agent of the command line, with all tools and a prompt', async () => {
  await using stage = await openStage({ script: [DONE] })
  const { code } = await stage.run('reviewer:2', '--prompt', 'Only the last commit.')
  const [ask] = stage.asks
  expect(ask?.prompt).toBe('Only the last commit.')
  expect(ask?.system).toContain('# Reviewer')
  expect(ask?.tools).toContain('Edit')
  expect(code).toBe(0)
})

test('ralph plans and builds from ralph/', async () => {
  const files = { 'ralph/PLAN.md': 'Three pages.\n' }
  const planner = [[{ tool: PLAN_THREE }, DONE]]
  const builder = [[...builds(1), ...builds(2), ...builds(3), DONE]]
  await using stage = await openRepository({ planner, builder }, { files })
  const { code, stdout } = await stage.run('--chain', 'ralph')
  expect(stdout).toContain('1. fk:planner: complete (1/3 iterations, marker)')
  expect(stdout).toContain('2. fk:builder: complete (1/20 iterations, marker)')
  for (const { system } of stage.asks) expect(system).toContain('The specs are in `ralph/`:')
  expect(code).toBe(0)
})

test('a built-in agent wins over a program of the same name, with a notice', async () => {
  const files = { planner: sh('echo "I am the program"') }
  await using stage = await openRepository({ planner: [[DONE]] }, { files })
  const { code, stdout, stderr } = await stage.run('planner:1')
  expect(stderr).toContain("'planner' is the built-in agent, not ")
  expect(stdout).not.toContain('I am the program')
  expect(code).toBe(0)
})

test('the files of init are enough to start', async () => {
  await using stage = await openStage({ script: [{ tool: PLAN_THREE }, DONE] })
  await must(
    stage,
    'git init -q -b main && forkhestra init && echo "Three pages." >forge/orch/specs/SPECS.md',
  )
  const { code, stdout } = await stage.run('--chain', 'plan')
  expect(stdout).toContain('[forkhestra] Complete after 1 iteration')
  expect(code).toBe(0)
  expect(await tasks(stage)).toHaveLength(3)
})
