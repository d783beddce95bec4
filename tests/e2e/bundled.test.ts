import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { FORKHESTRA } from '../support/forkhestra.ts'
import { sh } from '../support/project.ts'
import { Pty } from '../support/pty.ts'
import {
  builds,
  commits,
  must,
  openRepository,
  tasks,
  type Turns,
} from './support/project-of-tasks.ts'
import { openStage, outcomes, reasons } from './support/stage.ts'
import { bash, DONE } from './support/writer.ts'

const CREATE = 'forge-tasks create "Page 1" --ac "page-1.txt exists"'
const WORK = [{ tool: builds(1)[1]!.tool! }, DONE]

async function openWork(script: Turns, chains?: Readonly<Record<string, unknown>>) {
  const stage = await openStage({ script, ...(chains === undefined ? {} : { chains }) })
  await must(stage, `git init -q -b main && git commit -q --allow-empty -m "Begin" && ${CREATE}`)
  return stage
}

test('forge-task-worker works unattended on the given task', async () => {
  await using stage = await openWork(WORK)
  const { code, stdout, stderr } = await stage.shell('forge-task-worker --task TASK-001 --print')
  expect(stdout).toMatch(
    /^\[Bash\] set -e echo "Page 1".*\nAll is written\.\nORCHESTRA_COMPLETE\n$/,
  )
  expect([code, stderr]).toEqual([0, ''])
  expect(stage.asks[0]?.prompt).toBe('Work only on task TASK-001.')
  expect(stage.asks[0]?.system).toContain('# Task worker')
  expect(await tasks(stage)).toEqual(['TASK-001 | Done | - | Page 1'])
  expect(await commits(stage)).toEqual(['TASK-001: Add page 1'])
})

test('task-worker runs in a chain until its marker', async () => {
  const steps = [{ agent: 'task-worker', iterations: 3, args: ['--task', '${TASK_ID}'] }]
  await using stage = await openWork([{ text: 'Not yet.' }, ...WORK], {
    work: { steps },
  })
  const result = await stage.runJson('--chain', 'work', 'TASK_ID=TASK-001')
  expect(outcomes(result)).toEqual([{ kind: 'exited', code: 0 }, { kind: 'marker' }])
  expect([result.code, reasons(result)]).toEqual([0, ['marker']])
  expect(stage.asks[0]?.prompt).toBe('Work only on task TASK-001.')
  expect(readFileSync(join(stage.cwd, 'page-1.txt'), 'utf8')).toBe('Page 1\n')
})

test('forge-task-manager turns the requirements in its prompt into tasks', async () => {
  const script = [{ tool: bash(CREATE) }, DONE]
  await using stage = await openStage({ script })
  const { code } = await stage.shell('mkdir forge; forge-task-manager --print "A book of one page"')
  expect(stage.asks[0]?.prompt).toBe('A book of one page')
  expect(await tasks(stage)).toEqual(['TASK-001 | To Do | - | Page 1'])
  expect(code).toBe(0)
})

test('a bundled agent that fails reports why and returns an exit code', async () => {
  const script = [{ error: { status: 401, message: 'bad key' } }]
  await using stage = await openStage({ script })
  const { code, stderr } = await stage.shell('forge-task-manager --print "Pages"')
  expect(stderr).toBe('authentication failed: Failed to authenticate. API Error: 401 bad key\n')
  expect(code).toBe(1)
})

test('a builder alone finishes the tasks of its project', async () => {
  await using stage = await openRepository({ builder: [[...builds(1), DONE]] })
  await must(stage, CREATE)
  const { code, stdout } = await stage.run('builder:2')
  expect(stdout).toContain('[forkhestra] Complete after 1 iteration')
  expect(code).toBe(0)
})

test('on a terminal claude runs interactively and asks for permission', async () => {
  const claude = sh('[ -t 0 ] && [ -t 1 ] && echo "I have a terminal"', 'printf "<%s>\\n" "$@"')
  await using stage = await openStage({ script: [DONE], files: { claude } })
  await stage.shell('forge-tasks create "Page 1"')
  const worker = join(FORKHESTRA, '../forge-task-worker')
  await using pty = new Pty([worker, '--task', 'TASK-001', 'Be quick'], {
    cwd: stage.cwd,
    env: stage.env,
    rows: 60,
  })
  expect(await pty.exited).toBe(0)
  await pty.shows('I have a terminal')
  await pty.shows('Be quick>')
  expect(pty.output).toContain('# Task worker')
  expect(pty.output).not.toContain('<--print>')
  expect(pty.output).not.toContain('<--dangerously-skip-permissions>')
  expect(pty.output).not.toContain('You work unattended')
})
