import { expect, test } from 'bun:test'
import { must, openRepository, type Turns } from './support/project-of-tasks.ts'
import { eventsOf, openStage, reasons, type Stage } from './support/stage.ts'
import { bash, writes } from './support/writer.ts'

const IDLE = { text: 'I think about it.' }

/** A writer in a git repository that does this in each iteration. */
async function openWriting(iterations: number, turns: Turns): Promise<Stage> {
  const script = { conversations: [{ sessions: [turns], repeat: true }] }
  const files = { 'page.txt': 'A page.\n' }
  const stage = await openStage({ script, files, ...writes({}, { iterations }) })
  await must(stage, 'git init -q -b main && git add -A && git commit -q -m "A page"')
  return stage
}

test('an agent that changes nothing is stopped after three iterations with the reason', async () => {
  await using stage = await openWriting(5, [{ tool: bash('git status') }, IDLE])
  const { code, stdout, stderr } = await stage.run('--chain', 'w')
  const head = await must(stage, 'git rev-parse --short=7 HEAD')
  const why = `3 iterations without progress: HEAD ${head}, the working tree and the outcome (exit 0) did not change`
  expect(stdout).toContain(`1. writer: incomplete (3/5 iterations, ${why})\n`)
  expect(stdout).toEndWith(`[forkhestra] Failed at step 1: writer (stalled: ${why})\n`)
  expect(stderr).toContain('--stall 0')
  expect(code).toBe(1)
})

test.each([
  ['commits', 'date +%N >page.txt; git commit -q -a -m "Another page"'],
  ['edits a file that is changed already', 'echo "More." >>page.txt'],
])('an agent that %s in each iteration makes progress', async (_, command) => {
  await using stage = await openWriting(3, [{ tool: bash(command) }, IDLE])
  const result = await stage.runJson('--chain', 'w', '--stall', '1')
  expect([reasons(result), stage.asks.length]).toEqual([['max_iterations'], 6])
})

test('claiming and releasing a task is not progress', async () => {
  const forget: Turns = [{ tool: bash('forge-tasks next --claim --plain') }, IDLE]
  await using stage = await openRepository({ builder: [forget, forget, forget] })
  await must(stage, 'forge-tasks create "Page 1" --ac "page-1.txt exists"')
  const result = await stage.runJson('--chain', 'build', '--stall', '2')
  const claims = stage.asks.flatMap(({ results }) => results)
  expect(claims.filter((text) => text.startsWith('id: TASK-001'))).toHaveLength(2)
  expect(eventsOf(result, 'step_ended')[0]).toMatchObject({ reason: 'stalled', iterations: 2 })
})
