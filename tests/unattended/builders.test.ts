import { describe, expect, test } from 'bun:test'
import { chmodSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { processIdentity } from '../../src/base/linux/process-identity.ts'
import {
  BUILD,
  claude,
  PLAN,
  run,
  statuses,
  tasks,
  runJson,
  withTasks,
} from '../support/builders.ts'
import { WITHOUT_PRIVILEGES } from '../support/forge-tasks.ts'
import { shell } from '../support/forkhestra.ts'
import { makeProject, type Files } from '../support/project.ts'

// Agents that build from forge-tasks are done when the tasks are done, whatever they print.

const STILL_READY = '[forkhestra] Marker ignored: tasks are still ready\n'

const configured = (agents: object, chains: object = {}): Files => ({
  'forge/orch/chains.json': JSON.stringify({ agents, chains }),
})

/** Configuration and prompts from the first version of the documentation. */
const RALPH: Files = {
  'ralph/PLAN.md': 'Three pages.\n',
  'ralph/SPECS.md': 'Page one, page two, page three.\n',
  'forge/chains.json': JSON.stringify({
    agents: {
      'fk:planner': {
        systemPrompt: 'system-prompts/fk/planner.md',
        model: 'sonnet',
        maxTurns: 50,
        allowedTools: ['Read', 'Grep', 'Glob', 'Bash'],
      },
      'fk:builder': {
        systemPrompt: 'system-prompts/fk/builder.md',
        model: 'sonnet',
        maxTurns: 100,
      },
    },
    chains: {
      ralph: {
        description: 'Ralph Wiggum style: plan from ralph/, then build tasks',
        steps: [
          { agent: 'fk:planner', iterations: 3 },
          { agent: 'fk:builder', iterations: 20 },
        ],
      },
      build: {
        description: 'Just build - assumes tasks already exist',
        steps: [{ agent: 'fk:builder', iterations: 30 }],
      },
    },
  }),
  'system-prompts/fk/planner.md': `# Forkhestra Planner

You analyze requirements and create tasks. You do NOT implement.

## Each Iteration

1. Read ralph/PLAN.md and ralph/SPECS.md
2. Check existing tasks: \`forge-tasks list --plain\`
3. Identify gaps (requirements not covered by tasks)
4. Create tasks for gaps found
5. Output FORKHESTRA_COMPLETE

If no gaps remain, just output FORKHESTRA_COMPLETE.
`,
  'system-prompts/fk/builder.md': `# Forkhestra Builder

You implement exactly ONE task per iteration, then exit.

## Each Iteration

1. Read ralph/AGENTS.md for project conventions
2. Find work: \`forge-tasks list --ready --plain\`
3. If no ready tasks → output FORKHESTRA_COMPLETE and exit
4. Pick ONE task (highest priority)
5. Read task details: \`forge-tasks view TASK-XXX --plain\`
6. Mark in progress: \`forge-tasks edit TASK-XXX --status "In Progress"\`
7. Implement all acceptance criteria
8. Check off ACs: \`forge-tasks edit TASK-XXX --check-ac 1\`
11. Mark done: \`forge-tasks edit TASK-XXX --status done\`
12. Output FORKHESTRA_COMPLETE
`,
}

const FORGE: Files = {
  'forge/orch/specs/PLAN.md': '# User API Plan\nBuild CRUD endpoints for users\n',
  'forge/orch/chains.json': JSON.stringify({
    agents: {
      planner: {
        systemPrompt: 'forge/orch/prompts/planner.md',
        model: 'sonnet',
        allowedTools: ['Read', 'Grep', 'Glob', 'Bash'],
      },
      builder: { systemPrompt: 'forge/orch/prompts/builder.md', model: 'sonnet' },
    },
    chains: {
      'build-all': {
        description: 'Planning and building workflow',
        steps: [
          { agent: 'planner', iterations: 3 },
          { agent: 'builder', iterations: 20 },
        ],
      },
      build: { steps: [{ agent: 'builder', iterations: 30 }] },
    },
  }),
  'forge/orch/prompts/planner.md': 'Create tasks for uncovered requirements.\n',
  'forge/orch/prompts/builder.md':
    'Implement one task, mark it complete, output ORCHESTRA_COMPLETE.\n',
}

const builtBy = (cwd: string) => readFileSync(join(cwd, 'built'), 'utf8').trim().split('\n')

describe('the setups from the documentation', () => {
  test.each([
    ['ralph', RALPH, 'fk:planner', 'fk:builder'],
    ['build-all', FORGE, 'planner', 'builder'],
  ])('%s builds all tasks, not only the first one', async (chain, files, planner, builder) => {
    const cwd = makeProject({ ...files, ...claude({ [planner]: PLAN, [builder]: BUILD }) })
    const { code, stdout, stderr } = await run(cwd, '--chain', chain)
    expect(stdout.split(STILL_READY)).toHaveLength(3)
    expect(stdout).toEndWith(`  1. ${planner}: complete (1/3 iterations, marker)
  2. ${builder}: complete (3/20 iterations, marker)
[forkhestra] Chain complete (2/2 steps)
`)
    expect([code, stderr, statuses(cwd)]).toEqual([0, '', ['Done', 'Done', 'Done']])
    expect(builtBy(cwd)).toEqual(['TASK-001', 'TASK-002', 'TASK-003'])
  })

  test.each([
    ['fk:builder', RALPH],
    ['builder', FORGE],
  ])('a %s that ends with open tasks is not complete', async (builder, files) => {
    const cwd = withTasks(['One', 'Two', 'Three'], { ...files, ...claude({ [builder]: BUILD }) })
    const { code, stdout, stderr } = await run(cwd, `${builder}:2`)
    expect(stdout).toContain(`Failed at step 1: ${builder} (gate failed: 1 task is still ready)\n`)
    expect(stderr).toContain('[forkhestra] Resume to build the rest')
    expect(code).toBe(1)
  })

  test('a task that an agent set In Progress and did not finish becomes ready again', async () => {
    const dies = ['test -e died || { touch died; forge-tasks edit 1 -s in-progress; kill -9 $$; }']
    const cwd = withTasks(['One', 'Two'], { ...FORGE, ...claude({ builder: [...dies, ...BUILD] }) })
    const { code, ends } = await runJson(cwd, '--chain', 'build')
    expect([code, ends]).toEqual([0, [['marker', 3]]])
    expect(statuses(cwd)).toEqual(['Done', 'Done'])
  })

  test('a planner without a marker does not stop the chain if tasks exist', async () => {
    const planner = PLAN.slice(0, 1).map((line) => `test -e forge/tasks || { ${line}; }`)
    const cwd = makeProject({ ...FORGE, ...claude({ planner, builder: BUILD }) })
    const { code, ends } = await runJson(cwd, '--chain', 'build-all')
    expect([code, ends]).toEqual([
      0,
      [
        ['until', 3],
        ['marker', 3],
      ],
    ])
  })
})

describe('a planner before a builder', () => {
  const planner = [`test -e forge/tasks || { ${PLAN[0]!}; }`]
  const chain = (step: object) =>
    configured(
      {},
      {
        c: {
          steps: [
            { agent: 'planner', ...step },
            { agent: 'builder', iterations: 9 },
          ],
        },
      },
    )
  const files = { 'forge/orch/specs/PLAN.md': 'A page.\n', ...claude({ planner, builder: BUILD }) }

  test('hands its tasks over if it makes no more progress', async () => {
    const cwd = makeProject({ ...files, ...chain({ iterations: 5, stall: 2 }) })
    const { ends } = await runJson(cwd, '--chain', 'c')
    expect(ends).toEqual([
      ['until', 3],
      ['marker', 3],
    ])
  })

  test('hands its tasks over in a chain from the command line', async () => {
    expect((await runJson(makeProject(files), 'planner:2 -> builder:9')).ends[0]).toEqual([
      'until',
      2,
    ])
  })

  test('is reported without a marker, with how to check the plan', async () => {
    const cwd = makeProject({ ...files, ...chain({ iterations: 2 }) })
    const { code, stdout, stderr } = await run(cwd, '--chain', 'c')
    const words = '2/2 iterations without the marker; continued because there are tasks to do (3)\n'
    expect(stdout).toContain(`\n  1. planner: ${words}  2. builder: complete (`)
    expect([code, stderr]).toEqual([0, '[forkhestra] To check the plan: forkhestra --chain plan\n'])
    const shown = await run(cwd, 'show')
    expect(shown.stdout).toContain(`\nStep 1: planner: ${words}`)
    expect(shown.stdout).toMatch(/^ {2}forkhestra --chain plan +check the plan$/m)
    const status = await run(cwd, 'status')
    expect(status.stdout).toContain(`\n    1. planner: ${words}`)
    expect(status.stdout).toContain('\nNext: forkhestra --chain plan\n')
  })

  test.each<['max_iterations' | 'stalled', number, object]>([
    ['max_iterations', 2, { iterations: 2 }],
    ['stalled', 2, { iterations: 9, stall: 2 }],
  ])('is not complete if it touched no task: %s', async (reason, count, step) => {
    const idle = claude({ planner: ['echo Hm'], builder: BUILD })
    const cwd = withTasks(['One'], { ...files, ...idle, ...chain(step) })
    const { code, ends } = await runJson(cwd, '--chain', 'c')
    expect([code, ends]).toEqual([
      1,
      [
        [reason, count],
        ['marker', 1],
      ],
    ])
    expect(statuses(cwd)).toEqual(['Done'])
  })

  test('stops the chain if all of its iterations failed', async () => {
    const failing = claude({ planner: ['exit 3'], builder: BUILD })
    const cwd = withTasks(['One'], { ...files, ...failing, ...chain({ iterations: 2 }) })
    const { code, ends } = await runJson(cwd, '--chain', 'c')
    expect([code, ends[1]]).toEqual([1, ['skipped', 0]])
  })

  test('stops the chain if its step has an onFail', async () => {
    const cwd = makeProject({ ...files, ...chain({ iterations: 2, onFail: 'continue' }) })
    expect((await runJson(cwd, '--chain', 'c')).ends[0]).toEqual(['max_iterations', 2])
  })
})

describe('which agents are checked', () => {
  const ends = async (agents: object, ...args: string[]): Promise<unknown> => {
    const play = { '*': ['echo ORCHESTRA_COMPLETE'] }
    const cwd = withTasks(['One'], { ...configured(agents), ...claude(play) })
    const result = await runJson(cwd, ...args)
    return [result.ends[0]?.[0], result.refusals.length]
  }
  const CHECKED = ['gate_failed', 1]
  const BELIEVED = ['marker', 0]

  test.each([
    ['Run `forge-tasks next --claim`, then build.', {}, CHECKED],
    ['Run `forge-tasks list --ready --plain`.', {}, CHECKED],
    ['Run `forge-tasks ls --plain --ready`.', {}, CHECKED],
    ['Run `forkhestra tasks next --claim`.', {}, CHECKED],
    ['Call mcp__forge-tasks__next with claim, then build.', {}, CHECKED],
    ['Call mcp__forkhestra__task_next with claim, then build.', {}, CHECKED],
    ['Build what the prompt says.', { tasks: true }, CHECKED],
    ['Build what the prompt says.', {}, BELIEVED],
    ['Build what the prompt says.', { defaultPrompt: 'Use forge-tasks next' }, BELIEVED],
    ['Run `forge-tasks next --claim`.', { tasks: false }, BELIEVED],
    ['Run `forge-tasks list --ready --explain`.', {}, BELIEVED],
    // It lists ready tasks, as planners do, and cannot build anything.
    ['Run `forge-tasks list --ready`.', { allowedTools: ['Read', 'Bash'] }, BELIEVED],
    ['Run `forge-tasks next`.', { allowedTools: ['Read', 'Bash'] }, CHECKED],
  ])('%s with %j', async (systemPromptText, more, expected) => {
    expect(await ends({ w: { systemPromptText, ...more } }, 'w:1')).toEqual(expected)
  })

  test('a system prompt in a file counts as well', async () => {
    const files = {
      'w.md': 'Run forge-tasks next --claim.\n',
      ...configured({ w: { systemPrompt: 'w.md' } }),
    }
    const cwd = withTasks(['One'], { ...files, ...claude({ w: ['echo ORCHESTRA_COMPLETE'] }) })
    expect((await runJson(cwd, 'w:1')).refusals).toEqual(['tasks_ready'])
  })

  test('a program is checked if the configuration says so', async () => {
    const files = { w: '#!/bin/sh\necho ORCHESTRA_COMPLETE\n' }
    const cwd = withTasks(['One'], { ...files, ...configured({ w: { tasks: true } }) })
    expect((await runJson(cwd, 'w:1')).ends).toEqual([['gate_failed', 1]])
  })

  test.each([
    ['builder', {}, CHECKED],
    ['builder', { tasks: false }, BELIEVED],
    ['builder', { systemPromptText: 'You build.' }, CHECKED],
    ['fk:builder', { systemPromptText: 'You build.' }, CHECKED],
    ['planner', { systemPromptText: 'Then forge-tasks list --ready.' }, BELIEVED],
    ['reviewer', { tasks: true }, CHECKED],
  ])('%s with %j', async (name, more, expected) => {
    expect(await ends({ [name]: more }, `${name}:1`)).toEqual(expected)
  })

  test('an agent with a single task gets it in its prompt and is not checked', async () => {
    const echo = { '*': ['printf "%s\\n" "$@" >argv', 'echo ORCHESTRA_COMPLETE'] }
    const cwd = withTasks(['One', 'Two'], claude(echo))
    const { code, ends: result } = await runJson(
      cwd,
      'builder:2',
      '--json',
      '--',
      '--task',
      'TASK-002',
    )
    expect([code, result]).toEqual([0, [['marker', 1]]])
    const argv = readFileSync(join(cwd, 'argv'), 'utf8')
    expect(argv).toContain('Work only on task TASK-002.')
    expect(argv).not.toContain('--task\n')
  })

  test.each([[['--task']], [['--task=']], [['--task', ' ']]])(
    'a task without an id is refused: %j',
    async (args) => {
      const cwd = withTasks(['One'], claude({ '*': ['touch started'] }))
      const { code, stderr } = await run(cwd, 'builder:2', '--', ...args)
      expect(stderr).toBe('[forkhestra] Error: --task needs a task id\n  Use: --task TASK-001\n')
      expect([code, existsSync(join(cwd, 'started'))]).toEqual([2, false])
    },
  )

  test('the dry run shows which agents are checked', async () => {
    const files = configured({ w: { systemPromptText: 'Run forge-tasks next.' } })
    const cwd = withTasks(['One', 'Two'], { ...files, ...claude({}) })
    const { stdout } = await run(cwd, 'w:3', '--dry-run')
    expect(stdout).toContain('       tasks: the marker counts once no task is ready (2 are now)\n')
    const once = await run(cwd, 'w', '--dry-run')
    expect(once.stdout).toContain('tasks: the step is complete once no task is ready (2 are now)\n')
    const off = await run(cwd, 'w:3', '--dry-run', '--', '--task', '1')
    expect(off.stdout).not.toContain('tasks:')
  })

  test('a value that is neither true nor false is refused with its place', async () => {
    const cwd = makeProject(configured({ w: { tasks: 'yes' } }))
    const { code, stderr } = await run(cwd, 'validate')
    expect([code, stderr.includes('agents.w.tasks is "yes", expected true or false')]).toEqual([
      2,
      true,
    ])
  })
})

describe('open tasks when a builder prints its marker', () => {
  const play = (line: string) => ({
    ...FORGE,
    ...claude({ builder: [line, 'echo ORCHESTRA_COMPLETE'] }),
  })

  test('a task that it claimed and forgot is ready again', async () => {
    const cwd = withTasks(['One'], play('forge-tasks next --claim >/dev/null'))
    const { code, refusals } = await runJson(cwd, 'builder:2')
    expect([code, refusals]).toEqual([1, ['tasks_ready', 'tasks_ready']])
  })

  test('a task that it claimed is not in work elsewhere if it cannot be released', async () => {
    // As on a full disk, no task can be changed.
    const damage = 'ln -sf nowhere forge/tasks/.local/lock'
    const cwd = withTasks(['One'], play(`forge-tasks next --claim >/dev/null; ${damage}`))
    const { code, refusals } = await runJson(cwd, 'builder:2')
    expect([code, refusals]).toEqual([1, ['tasks_ready', 'tasks_ready']])
    expect(tasks(cwd, ['list', '--plain'])).toContain('TASK-001 | In Progress')
  })

  test.each([
    ['deleted', 'rm forge/tasks/*.md'],
    ['taken away with their folder', 'rm -rf forge/tasks'],
    ['replaced by a file', 'rm -rf forge/tasks; touch forge/tasks'],
  ])('tasks that were %s are not done', async (_, damage) => {
    const cwd = withTasks(['One', 'Two'], play(damage))
    const { code, ends } = await runJson(cwd, 'builder:3')
    expect([code, ends]).toEqual([1, [['blocked', 1]]])
  })

  test('a run that is blocked by its tasks starts no agent on resume until one is ready', async () => {
    const block = 'echo x >>started; [ -e answered ] || forge-tasks edit 1 -s blocked >&2'
    const finish = '[ ! -e answered ] || forge-tasks edit 1 --check-ac 1 -s done >&2'
    const cwd = withTasks(['One'], play(`${block}; ${finish}`))
    const starts = () => readFileSync(join(cwd, 'started'), 'utf8').split('x').length - 1
    expect((await runJson(cwd, 'builder:3')).ends).toEqual([['blocked', 1]])
    const again = await run(cwd, 'resume')
    const why = 'TASK-001 is blocked; see why: forge-tasks view TASK-001\n'
    expect(again.stderr).toContain(`[forkhestra] ${why}`)
    expect((await run(cwd, 'show')).stdout).toContain(`\n  ${why}`)
    expect([again.code, again.stdout, starts()]).toEqual([
      1,
      expect.stringContaining('(blocked: tasks left: 1 blocked, 0 waiting)'),
      1,
    ])
    writeFileSync(join(cwd, 'answered'), '')
    tasks(cwd, ['edit', '1', '-s', 'todo'])
    expect([(await run(cwd, 'resume')).code, starts()]).toEqual([0, 2])
  })

  test('a task In Progress without a holder is reported with the command that releases it', async () => {
    const cwd = withTasks(['One'], play('true'))
    tasks(cwd, ['edit', '1', '-s', 'In Progress'])
    const { code, stdout, stderr } = await run(cwd, 'builder:3')
    expect(code).toBe(1)
    expect(stdout).toContain('1 in progress but unclaimed')
    expect(stdout + stderr).toContain('forge-tasks release ID')
  })

  test('missing task files are also noticed after a resume', async () => {
    const damage = 'forge-tasks edit 1 --check-ac 1 -s done >&2; mv forge/tasks/TASK-002* lost.md'
    const cwd = withTasks(['One', 'Two'], play(`[ -e once ] || { touch once; ${damage}; }`))
    expect((await runJson(cwd, 'builder:3')).ends).toEqual([['blocked', 1]])
    const again = await run(cwd, 'resume')
    expect([again.code, again.stdout]).toEqual([
      1,
      expect.stringContaining('0 waiting, 1 with a missing file)'),
    ])
    renameSync(join(cwd, 'lost.md'), join(cwd, 'forge/tasks/TASK-002 - Two.md'))
    tasks(cwd, ['edit', '2', '--check-ac', '1', '-s', 'done'])
    expect((await run(cwd, 'resume')).code).toBe(0)
  })

  test('archived open tasks count as left until they are restored or deleted', async () => {
    const cwd = withTasks(['One', 'Two', 'Three'], play('forge-tasks archive 1 2 --force >&2'))
    tasks(cwd, ['edit', '3', '--check-ac', '1', '-s', 'done'])
    const left = 'tasks left: 0 blocked, 0 waiting, 2 archived, not Done (TASK-001, TASK-002)'
    const first = await run(cwd, 'builder:3')
    expect([first.code, first.stdout]).toEqual([1, expect.stringContaining(`(blocked: ${left})`)])
    expect(first.stderr).toContain('Bring archived tasks back with forge-tasks unarchive ID')
    const again = await run(cwd, 'resume')
    expect([again.code, again.stdout]).toEqual([1, expect.stringContaining(left)])
    for (const id of ['1', '2']) tasks(cwd, ['delete', id, '--force'])
    expect((await run(cwd, 'resume')).code).toBe(0)
  })

  test('archived tasks that are done do not count as left', async () => {
    const archive = 'forge-tasks edit 1 --check-ac 1 -s done >&2; forge-tasks archive 1 >&2'
    expect((await run(withTasks(['One'], play(archive)), 'builder:3')).code).toBe(0)
  })

  test('deleted open tasks are listed in the summary and by show', async () => {
    const cwd = withTasks(
      ['One', 'Two'],
      play('for id in 1 2; do forge-tasks delete $id --force >&2; done'),
    )
    const { code, stdout, stderr } = await run(cwd, 'builder:3')
    expect([code, stdout]).toEqual([0, expect.stringContaining('Chain complete')])
    expect(stderr).toContain('[forkhestra] Deleted during step 1 (builder): TASK-001, TASK-002\n')
    expect((await run(cwd, 'show')).stdout).toContain('  deleted tasks: TASK-001, TASK-002\n')
  })

  test('a task with a missing file is not done, even if the others are', async () => {
    const lose = 'forge-tasks edit 1 --check-ac 1 -s done >&2; rm forge/tasks/TASK-002*'
    const { code, stdout, stderr } = await run(withTasks(['One', 'Two'], play(lose)), 'builder:3')
    expect(stdout).toContain('tasks left: 0 blocked, 0 waiting, 1 with a missing file)\n')
    expect([code, stderr.includes('git stash list')]).toEqual([1, true])
  })

  test('a task that was deleted with forge-tasks is not missing', async () => {
    const settle = 'forge-tasks edit 1 --check-ac 1 -s done >&2; forge-tasks delete 2 >&2'
    const cwd = withTasks(['One', 'Two'], play(settle))
    expect(await runJson(cwd, 'builder:3')).toMatchObject({ code: 0, ends: [['marker', 1]] })
  })

  test.each([
    ['the configuration', 'echo "{" >forge/tasks/config.json'],
    ['the local state', 'mkdir -p forge/tasks/.local; echo "{" >forge/tasks/.local/state.json'],
  ])('the step continues with a broken %s of the tasks', async (_, damage) => {
    const cwd = withTasks(['One', 'Two'], play(damage))
    const { code, ends } = await runJson(cwd, 'builder:2')
    expect([code, ends]).toEqual([1, [['gate_failed', 2]]])
  })

  test('the summary counts the ready tasks after the last iteration', async () => {
    const cwd = withTasks(['One', 'Two'], { ...FORGE, ...claude({ builder: ['echo Hm'] }) })
    const { code, stdout, stderr } = await run(cwd, 'builder:1')
    expect(stdout).toContain('  1. builder: incomplete (1/1 iteration, 2 tasks are still ready)\n')
    expect(stdout).toContain('Failed at step 1: builder (max iterations reached, 1/1)\n')
    expect([code, stderr.includes('Resume to build the rest')]).toEqual([1, true])
  })

  test('a builder that runs once and blocks its task is not complete', async () => {
    const cwd = withTasks(['One'], play('forge-tasks edit 1 -s blocked >&2'))
    expect(await runJson(cwd, 'builder')).toMatchObject({ code: 1, ends: [['blocked', 1]] })
  })

  test('a task claimed inside a new nested repository becomes ready again', async () => {
    const line =
      'forge-tasks next >&2; test -e .git || git init -q; forge-tasks next --claim >&2; kill -9 $$'
    const cwd = withTasks(['One'], { ...FORGE, ...claude({ builder: [line] }) })
    const { events } = await runJson(cwd, 'builder:2')
    const had = events.flatMap((each) => (each.type === 'iteration_ended' ? [each.tasks] : []))
    expect(had).toEqual([['TASK-001'], ['TASK-001']])
  })

  test('a task folder that becomes unreadable ends the step without a crash', async () => {
    const cwd = withTasks(['One'], play('chmod 000 forge/tasks'))
    const unprivileged = WITHOUT_PRIVILEGES.slice(0, -1).join(' ')
    const { code, stdout } = await shell(`IS_SANDBOX=1 ${unprivileged} forkhestra builder:3`, cwd)
    chmodSync(join(cwd, 'forge/tasks'), 0o755)
    const words = new TextDecoder().decode(stdout)
    expect(words).toContain('Failed at step 1: builder (blocked: Cannot read the tasks in ')
    expect([code, words.includes(': EACCES')]).toEqual([1, true])
  })

  test('tasks that were finished and archived are done', async () => {
    const done = 'forge-tasks edit 1 --check-ac 1 -s done >&2; forge-tasks archive --done >&2'
    const cwd = withTasks(['One'], play(done))
    const { code, ends } = await runJson(cwd, 'builder:3')
    expect([code, ends]).toEqual([0, [['marker', 1]]])
  })

  describe('with uncommitted files', () => {
    const words = 'uncommitted changes in 2 files\n'
    const commit = 'git -c user.name=Me -c user.email=me@example.org commit -qm'
    const DONE = 'forge-tasks edit 1 --check-ac 1 -s done >&2; echo page >page.md'
    const build = async (line: string, ...args: string[]) => {
      const cwd = withTasks(['One'], {
        ...play(line),
        '.gitignore': '.state\n.config\nforge/orch/runs\n',
      })
      const setup = ['git init -q', 'git add -A', `${commit} First`, 'touch notes.md']
      for (const step of setup) await shell(step, cwd)
      return { cwd, ...(await run(cwd, 'builder:3', ...args)) }
    }

    test('every report says so, with the command to use', async () => {
      const { cwd, code, stderr } = await build(DONE)
      expect(stderr).toContain(
        `[forkhestra] Note: ${words}[forkhestra] To review uncommitted changes before you commit: git status\n`,
      )
      expect([code, (await run(cwd, 'show')).stdout.includes(`\n  ${words}`)]).toEqual([0, true])
      expect((await run(cwd, 'status')).stdout).toContain(`\n    ${words}`)
    })

    test('a resume without an iteration does not report files from before the run', async () => {
      const { cwd, stderr } = await build('echo page >page.md; forge-tasks edit 1 -s blocked >&2')
      expect(stderr).toContain(words)
      expect((await run(cwd, 'resume')).stderr).toContain(words)
      await shell(`git add page.md forge; ${commit} Page`, cwd)
      const { code, stderr: resumed } = await run(cwd, 'resume')
      expect([code, resumed]).toEqual([1, expect.not.stringContaining('uncommitted')])
    })

    test.each([
      ['the agent committed', `${DONE}; git add -A; ${commit} Page`],
      ['the agent changed nothing', 'forge-tasks edit 1 -s blocked >&2; git checkout -q .'],
    ])('there is no report if %s', async (_, line) => {
      expect((await build(line)).stderr).not.toContain('uncommitted')
    })
  })

  test.each([
    ['with', 'echo ORCHESTRA_COMPLETE', '1/3 iterations, marker; no task is ready'],
    ['without', 'true', '1/3 iterations, no task is ready'],
  ])('a task held by another worker is reported, %s a marker', async (_, last, words) => {
    const builder = ['forge-tasks edit 1 --check-ac 1 -s done >&2', last]
    const cwd = withTasks(['One', 'Two'], { ...FORGE, ...claude({ builder }) })
    tasks(cwd, ['claim', '2', '--as', 'alice'])
    const { code, stdout, stderr } = await run(cwd, 'builder:3')
    const line = `1. builder: complete (${words}, 1 in progress elsewhere)\n`
    expect(stdout).toContain(`\n  ${line}[forkhestra] Chain complete (1/1 steps)\n`)
    expect(stderr).toContain('To see who holds what: forge-tasks list --status in-progress\n')
    expect([code, (await run(cwd, 'status')).stdout.includes(`\n    ${line}`)]).toEqual([0, true])
    expect((await run(cwd, 'show')).stdout).toContain(', 1 in progress elsewhere)\n')
  })

  test('a task that depends on one held by another worker is not done', async () => {
    const cwd = withTasks(
      ['One', 'Two', 'Three'],
      play('forge-tasks next --claim --as me >&2; forge-tasks edit 1 --check-ac 1 -s done >&2'),
    )
    tasks(cwd, ['edit', '3', '--depends-on', '2'])
    tasks(cwd, ['claim', '2', '--as', 'alice'])
    const { code, stdout } = await run(cwd, 'builder:3')
    expect(stdout).toContain(
      '(blocked: tasks left: 0 blocked, 1 waiting, 1 in progress elsewhere)\n',
    )
    expect(code).toBe(1)
  })
})

describe('all tasks Done, a check that fails and no marker', () => {
  const builder = [
    'echo "$@" >>prompts',
    'forge-tasks edit 1 --check-ac 1 -s done >/dev/null',
    'test "$FORKHESTRA_ITERATION" = 1 || touch fixed',
  ]

  test('is not reported as an ignored marker', async () => {
    const cwd = withTasks(['One'], { ...FORGE, ...claude({ builder }) })
    const { code, stdout, stderr } = await run(cwd, 'builder:3', '--verify', 'test -e fixed')
    expect(stderr).toContain('[forkhestra] Check failed: test -e fixed (exit 1)\n')
    expect([code, stdout.includes('Marker ignored')]).toEqual([0, false])
    const prompts = readFileSync(join(cwd, 'prompts'), 'utf8')
    expect(prompts).toContain('[forkhestra] The work is not done yet: this check failed.\n')
    expect(prompts).not.toContain('You said')
  })

  test('a stall with ready tasks does not blame a check', async () => {
    const cwd = withTasks(['One'], {
      ...FORGE,
      ...claude({ builder: ['echo ORCHESTRA_COMPLETE'] }),
    })
    const { stdout } = await run(cwd, 'builder:9', '--verify', 'exit 7', '--stall', '2')
    expect(stdout).toContain(
      'Failed at step 1: builder (stalled: 2 iterations without progress: the',
    )
  })

  test('a stall caused by a failing check names the check', async () => {
    const cwd = withTasks(['One'], { ...FORGE, ...claude({ builder: builder.slice(0, 2) }) })
    const { code, stdout, stderr } = await run(
      cwd,
      'builder:9',
      '--verify',
      'exit 7',
      '--stall',
      '2',
    )
    expect(stdout).toContain(
      'Failed at step 1: builder (stalled: 2 iterations without progress: a check fails (exit 7: exit 7); ',
    )
    expect(stderr).toContain('Run the check yourself, fix what it reports, then resume\n')
    expect(code).toBe(1)
  })
})

describe('in a group', () => {
  const REVIEW = [
    'echo "review: $(cat built 2>/dev/null | wc -l)" >>reviews',
    'echo ORCHESTRA_COMPLETE',
  ]

  test.each(['(builder:3 -> reviewer:1):2', 'builder:3 || fk:builder:3', '@build -> reviewer:1'])(
    '%s is refused without any task',
    async (chain) => {
      const cwd = makeProject(claude({ '*': ['touch started'] }))
      const { code, stderr } = await run(cwd, chain)
      expect([code, existsSync(join(cwd, 'started'))]).toEqual([2, false])
      expect(stderr).toContain("'builder' builds from forge-tasks, and there are no tasks in")
    },
  )

  test('the review comes after the round that built the last task', async () => {
    const cwd = withTasks(['One', 'Two', 'Three'], claude({ builder: BUILD, reviewer: REVIEW }))
    const { code, stdout } = await run(cwd, '(builder:1 -> reviewer:1):2')
    expect(stdout.split(STILL_READY)).toHaveLength(3)
    expect([code, existsSync(join(cwd, 'reviews'))]).toEqual([1, false])
    expect((await run(cwd, 'resume')).code).toBe(0)
    expect(readFileSync(join(cwd, 'reviews'), 'utf8')).toBe('review: 3\n')
    expect(statuses(cwd)).toEqual(['Done', 'Done', 'Done'])
  })

  test('a task that the review files is built in the next round', async () => {
    const files = ['[ -e reviews ] || forge-tasks create "Fix it" --ac "It works" >/dev/null']
    const review = [
      ...files,
      'echo x >>reviews',
      '[ "$(wc -l <reviews)" = 2 ] && echo ORCHESTRA_COMPLETE',
    ]
    const cwd = withTasks(['One'], claude({ builder: BUILD, reviewer: [...review, 'exit 0'] }))
    const { code } = await run(cwd, '(builder:3 -> reviewer:1):3')
    expect([code, builtBy(cwd)]).toEqual([0, ['TASK-001', 'TASK-002']])
  })

  test('a builder with all tasks Done is not started, the review is', async () => {
    const play = { builder: ['touch started'], reviewer: REVIEW }
    const cwd = withTasks(['One'], claude(play))
    tasks(cwd, ['edit', '1', '--check-ac', '1', '--status', 'done'])
    const { code, stdout } = await run(cwd, '(builder:3 -> reviewer:1):2')
    expect(stdout).toContain('Not started: builder (the only task is Done)')
    expect([code, existsSync(join(cwd, 'started')), existsSync(join(cwd, 'reviews'))]).toEqual([
      0,
      false,
      true,
    ])
  })
})

describe('a worker', () => {
  const play = (line: string) => claude({ '*': [line, 'echo ORCHESTRA_COMPLETE'] })
  const NOT_DONE = '[forkhestra] Marker ignored: its task is not done\n'

  test.each([
    ['its task is still To Do', ['--', '--task', 'TASK-001'], 'TASK-001 is To Do, not Done'],
    ['it took no task', [], 'no task was finished'],
  ])('is not complete while %s', async (_, args, words) => {
    const cwd = withTasks(['One', 'Two'], play(':'))
    const { code, stdout, stderr } = await run(cwd, 'task-worker:2', ...args)
    expect(stdout.split(NOT_DONE)).toHaveLength(3)
    expect(stdout).toContain(`(gate failed: the task is not done: ${words})\n`)
    expect(stderr).toContain('See how far each task is with forge-tasks list, then resume')
    expect(code).toBe(1)
    const once = await run(cwd, 'task-worker', ...args)
    expect([once.code, once.stdout]).toEqual([1, expect.stringContaining(words)])
  })

  test('is not complete while a criterion of its task is open', async () => {
    const cwd = withTasks(['One'], play('forge-tasks edit 1 -s done --force >&2'))
    const { code, stdout } = await run(cwd, 'task-worker:1', '--', '--task', '1')
    expect([code, stdout]).toEqual([1, expect.stringContaining('not all of its criteria')])
  })

  test('is not complete while a second file has the id of its task', async () => {
    const done = '---\\nid: TASK-001\\nstatus: Done\\ncreatedAt: 1970-01-01T00:00:00.000Z\\n---\\n'
    const forge = `printf -- '${done}' >'forge/tasks/TASK-001 - aaa.md'`
    const cwd = withTasks(['One'], play(forge))
    const { code, stdout } = await run(cwd, 'task-worker:2', '--', '--task', '1')
    expect(stdout.split(NOT_DONE)).toHaveLength(3)
    expect([code, stdout]).toEqual([1, expect.stringContaining('another file of TASK-001')])
  })

  test.each([[['--', '--task', '1']], [[]]])('is complete with its task, with %j', async (args) => {
    const cwd = withTasks(['One', 'Two'], play('forge-tasks edit 1 --check-ac 1 -s done >&2'))
    expect((await run(cwd, 'task-worker:3', ...args)).code).toBe(0)
  })

  test('is not started without --task if all tasks are Done', async () => {
    const cwd = withTasks(['One'], play('touch started'))
    tasks(cwd, ['edit', '1', '--check-ac', '1', '-s', 'done'])
    const { code, stdout } = await run(cwd, 'task-worker:2')
    expect([code, existsSync(join(cwd, 'started'))]).toEqual([0, false])
    expect(stdout).toContain('Not started: task-worker (the only task is Done)')
  })

  test('is refused before the run if its task does not exist', async () => {
    const steps = [{ agent: 'task-worker', iterations: 2, args: ['--task', '${TASK_ID}'] }]
    const files = { ...play('touch started'), ...configured({}, { work: { steps } }) }
    const cwd = withTasks(['One'], files)
    const { code, stderr } = await run(cwd, '--chain', 'work', 'TASK_ID=TASK-009')
    expect([code, existsSync(join(cwd, 'started'))]).toEqual([2, false])
    expect(stderr).toContain('No task TASK-009.')
  })
})

test('a run that unreadable task files block suggests forge-tasks doctor', async () => {
  const cwd = withTasks(['One', 'Two'], claude({ builder: ['echo ORCHESTRA_COMPLETE'] }))
  for (const id of ['1', '2']) tasks(cwd, ['edit', id, '--check-ac', '1', '-s', 'done'])
  writeFileSync(join(cwd, 'forge/tasks/TASK-003 - Three.md'), '---\nstatus: Sometime\n---\n')
  const { code, stderr } = await run(cwd, 'builder:2')
  expect(code).toBe(1)
  expect(stderr).toContain('Find the unreadable task files with forge-tasks doctor, fix them')
  expect(stderr).not.toContain('--status todo')
})

describe('with nothing to build', () => {
  const started = { builder: ['touch started', 'echo ORCHESTRA_COMPLETE'] }
  const wasStarted = (cwd: string) => existsSync(join(cwd, 'started'))
  const build = (cwd: string, ...args: string[]) => run(cwd, '--chain', 'build', ...args)

  test.each([[[]], [['--dry-run']]])('a run without any task is refused: %j', async (args) => {
    const cwd = makeProject(claude(started))
    const { code, stdout, stderr } = await build(cwd, ...args)
    expect(stderr)
      .toBe(`[forkhestra] Error: 'builder' builds from forge-tasks, and there are no tasks in ${cwd}/forge/tasks
  Plan them from specs (templates: forkhestra init) and build them: forkhestra --chain build-all
  Or create them yourself: forge-tasks create "Title" --ac "What can be checked"
  For work without tasks pass a prompt with -p, or set "tasks": false for the agent.
`)
    expect([code, stdout, wasStarted(cwd)]).toEqual([2, '', false])
  })

  test('a program hidden by the agent is also mentioned', async () => {
    const cwd = makeProject({ ...claude(started), builder: '#!/bin/sh\n' })
    const { code, stderr } = await run(cwd, 'builder:2')
    expect(stderr).toStartWith(
      `[forkhestra] Warning: 'builder' is the built-in agent, not ${cwd}/builder`,
    )
    expect([code, stderr.includes('there are no tasks in')]).toEqual([2, true])
  })

  test.each(['forge-task-worker', 'task-worker:3'])('%s is not started either', async (worker) => {
    const cwd = makeProject(claude({ '*': ['touch started', 'echo ORCHESTRA_COMPLETE'] }))
    const { code, stderr } = await run(cwd, worker)
    expect([code, stderr.includes('there are no tasks in'), wasStarted(cwd)]).toEqual([
      2,
      true,
      false,
    ])
    // As a program of its own, it has another -p.
    const name = worker.replace(':3', '')
    const prompts = `forkhestra ${name} -p "Fix the tests", or: ${name} "Fix the tests"\n`
    expect(stderr).toEndWith(`  For work without tasks pass a prompt: ${prompts}`)
    const unknown = await run(cwd, worker, '--', '--task', 'PROJ-7')
    expect([unknown.code, unknown.stderr]).toEqual([
      2,
      expect.stringContaining('No task PROJ-007.'),
    ])
    expect((await run(cwd, worker, '-p', 'Fix the tests')).code).toBe(0)
  })

  test('the setup from the documentation is pointed to its own chain', async () => {
    const { code, stderr } = await build(makeProject({ ...RALPH, ...claude({}) }))
    expect([code, stderr.includes('forkhestra --chain ralph\n')]).toEqual([2, true])
  })

  test.each([
    ['a prompt on the command line', {}, ['builder:2', '-p', 'Fix the tests']],
    ['"tasks": false', configured({ builder: { tasks: false } }), ['builder:2']],
    ['a task of its own', {}, ['builder:2', '--', '--task', '1']],
    [
      'no need for tasks',
      configured({ builder: { systemPromptText: 'x', tasks: false } }),
      ['builder:2'],
    ],
  ])('an agent with %s is started', async (_, files, args) => {
    const cwd = makeProject({ ...files, ...claude(started) })
    expect([(await run(cwd, ...args)).code, wasStarted(cwd)]).toEqual([0, true])
  })

  test('a hook before the first step may create the tasks', async () => {
    const hooks = { beforeStep: 'forge-tasks create One --ac "It works"' }
    const steps = [{ agent: 'builder', iterations: 3 }]
    const files = configured(
      {},
      { c: { hooks, steps }, d: { hooks: { beforeStep: 'true' }, steps } },
    )
    const cwd = makeProject({ ...files, ...claude({ builder: BUILD }) })
    const without = await run(cwd, '--chain', 'd')
    expect(without.stdout).toContain('Failed at step 1: builder (blocked: there are no tasks)\n')
    expect(without.code).toBe(1)
    expect(await runJson(cwd, '--chain', 'c')).toMatchObject({ code: 0, ends: [['marker', 1]] })
  })

  test('no agent starts if all tasks are Done, and the run reports it', async () => {
    const cwd = withTasks(['One', 'Two'], claude(started))
    tasks(cwd, ['edit', '1', '2', '--check-ac', '1', '--status', 'done'])
    expect((await build(cwd, '--dry-run')).stdout).toContain(
      '       tasks: all 2 tasks are Done: the agent would not be started\n',
    )
    const done = await build(cwd)
    expect(done.stdout).toBe(`[forkhestra] Starting: builder (max 30 iterations)
[forkhestra] Not started: builder (all 2 tasks are Done)

[forkhestra] Chain complete (1/1 steps)
`)
    expect([done.code, wasStarted(cwd)]).toEqual([0, false])
    tasks(cwd, ['archive', '--done'])
    expect([(await build(cwd)).code, wasStarted(cwd)]).toEqual([0, false])
    expect([(await build(cwd, '-p', 'Fix the tests')).code, wasStarted(cwd)]).toEqual([0, true])
  })

  test('no agent starts if all tasks are blocked, and the run prints what to do', async () => {
    const cwd = withTasks(['One', 'Two'], claude(started))
    tasks(cwd, ['edit', '2', '--depends-on', '1'])
    tasks(cwd, ['edit', '1', '--status', 'blocked'])
    const { code, stdout, stderr } = await build(cwd)
    expect(stdout).toContain('(blocked: tasks left: 1 blocked, 1 waiting)\n')
    expect(stderr).toContain('forge-tasks edit ID --status todo')
    expect([code, wasStarted(cwd)]).toEqual([1, false])
    tasks(cwd, ['edit', '1', '--status', 'todo'])
    expect((await run(cwd, 'resume')).stdout).toContain('Marker ignored: tasks are still ready')
    expect(wasStarted(cwd)).toBe(true)
  })

  test('the agent starts if all tasks are Done but a check fails', async () => {
    const cwd = withTasks(['One'], claude(started))
    tasks(cwd, ['edit', '1', '--check-ac', '1', '--status', 'done'])
    const green = await build(cwd, '--verify', 'true')
    expect([green.code, wasStarted(cwd)]).toEqual([0, false])
    const dry = await build(cwd, '--verify', 'test -e started', '--dry-run')
    expect(dry.stdout).toContain('the agent would not be started unless a check fails\n')
    const red = await build(cwd, '--verify', 'test -e started')
    expect([red.code, wasStarted(cwd)]).toEqual([0, true])
    const broken = await build(cwd, '--verify', './gone')
    expect(broken.stdout).toContain(
      'Failed at step 1: builder (error: the check cannot be run: ./gone',
    )
  })

  describe('in a chain whose planner creates no task', () => {
    const files = { 'forge/orch/specs/PLAN.md': 'A page.\n' }
    const play = claude({ planner: ['echo ORCHESTRA_COMPLETE'], ...started })

    test('the builder does not start, and every report says why', async () => {
      const cwd = makeProject({ ...files, ...play })
      const { code, stdout, stderr } = await run(cwd, '--chain', 'build-all')
      expect(stdout).toContain('[forkhestra] Not started: builder (there are no tasks)\n')
      expect(stdout).toEndWith(`  1. planner: complete (1/3 iterations, marker)
  2. builder: not started: there are no tasks
[forkhestra] Chain complete (2/2 steps)
`)
      expect([code, stderr, wasStarted(cwd)]).toEqual([
        0,
        '[forkhestra] To check the plan: forkhestra --chain plan\n',
        false,
      ])
      const shown = await run(cwd, 'show')
      expect(shown.stdout).toContain('\nStep 2: builder: not started: there are no tasks\n')
      const status = await run(cwd, 'status')
      expect(status.stdout).toContain('\n    2. builder: not started: there are no tasks\n')
    })

    test('without a planner, the next command does not ask for specs', async () => {
      const steps = [
        { agent: 'task-manager', prompt: 'Create tasks for a login page' },
        { agent: 'task-coordinator', iterations: 10 },
      ]
      const cwd = makeProject({
        ...claude({ '*': ['echo ORCHESTRA_COMPLETE'] }),
        ...configured({}, { c: { steps } }),
      })
      const { code, stderr } = await run(cwd, '--chain', 'c')
      expect([code, stderr]).toEqual([0, '[forkhestra] To check the tasks: forge-tasks list\n'])
      expect((await run(cwd, 'show')).stdout).toMatch(/^ {2}forge-tasks list +check the tasks$/m)
      expect((await run(cwd, 'status')).stdout).toContain('\nNext: forge-tasks list\n')
    })

    test('a failing check is work for the builder', async () => {
      const cwd = makeProject({ ...files, ...play })
      const verify = ['--verify', 'test -e started']
      const { code, stderr } = await run(cwd, '--chain', 'build-all', ...verify)
      expect([code, wasStarted(cwd)]).toEqual([0, true])
      expect(stderr).toContain('step 2 (builder) built nothing: there are no tasks\n')
    })

    test('a jump back from a later step starts the builder', async () => {
      const steps = [
        { agent: 'planner', iterations: 1 },
        { agent: 'builder', iterations: 3, name: 'build', prompt: 'Fix what check says.' },
        { agent: './check', onFail: { goto: 'build' } },
      ]
      const check = { check: '#!/bin/sh\ntest -e started\n' }
      const cwd = makeProject({ ...files, ...play, ...check, ...configured({}, { c: { steps } }) })
      expect([(await run(cwd, '--chain', 'c')).code, wasStarted(cwd)]).toEqual([0, true])
    })
  })

  test('a task that a dead run left In Progress is work', async () => {
    const cwd = withTasks(['One'], claude(started))
    const owner = { FORKHESTRA_RUN_ID: 'dead', FORKHESTRA_STEP: '1', FORKHESTRA_ITERATION: '1' }
    const gone = processIdentity(process.pid)!.replace(/:\d+/, ':1')
    tasks(cwd, ['next', '--claim'], '', { ...owner, FORKHESTRA_RUN_PROCESS: gone })
    expect((await runJson(cwd, 'builder:1')).refusals).toEqual(['tasks_ready'])
  })

  test('steps after an idle builder still run', async () => {
    const cwd = withTasks(['One'], claude({ ...started, reviewer: ['touch reviewed'] }))
    tasks(cwd, ['edit', '1', '--check-ac', '1', '--status', 'done'])
    expect((await run(cwd, 'builder:3 -> reviewer')).code).toBe(0)
    expect([wasStarted(cwd), existsSync(join(cwd, 'reviewed'))]).toEqual([false, true])
  })

  test('a builder starts after a jump back to it', async () => {
    const chain = {
      steps: [
        { agent: 'builder', iterations: 3, name: 'build', prompt: 'Fix what check says.' },
        { agent: './check', onFail: { goto: 'build' } },
      ],
    }
    const cwd = withTasks(['One'], {
      check: '#!/bin/sh\ntest -e started\n',
      ...configured({}, { c: chain }),
      ...claude(started),
    })
    tasks(cwd, ['edit', '1', '--check-ac', '1', '--status', 'done'])
    expect([(await run(cwd, '--chain', 'c')).code, wasStarted(cwd)]).toEqual([0, true])
  })
})
