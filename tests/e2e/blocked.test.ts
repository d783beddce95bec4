import { expect, test } from 'bun:test'
import { eventsOf, openStage, outcomes, reasons } from './support/stage.ts'
import { bash, DONE, FOREVER, writes } from './support/writer.ts'

const BLOCKED = { text: 'I have tried.\nORCHESTRA_BLOCKED: the disk is full' }

test('a blocked agent ends the step at once with its reason', async () => {
  await using stage = await openStage({ script: [BLOCKED, DONE], ...writes() })
  const { code, stdout } = await stage.run('--chain', 'w')
  expect(stdout).toContain('1. writer: incomplete (1/3 iterations, the disk is full)\n')
  expect(stdout).toEndWith('[forkhestra] Failed at step 1: writer (blocked: the disk is full)\n')
  expect([code, stage.asks.length]).toEqual([1, 1])
})

test('a blocked agent gets the same grace period as after a marker', async () => {
  const script = [{ ...BLOCKED, tool: bash(FOREVER) }]
  const step = { iterations: 3, grace: { marker: '1s' } }
  await using stage = await openStage({ script, ...writes({}, step) })
  const result = await stage.runJson('--chain', 'w')
  expect(outcomes(result)).toEqual([{ kind: 'blocked', reason: 'the disk is full' }])
  expect(eventsOf(result, 'run_ended')[0]?.leftovers).toEqual([])
})

test('blocked takes precedence over the marker in either order', async () => {
  const both = [{ text: `${DONE.text}\n${BLOCKED.text}` }]
  await using stage = await openStage({ script: both, ...writes() })
  const result = await stage.runJson('--chain', 'w')
  expect(outcomes(result)).toEqual([{ kind: 'blocked', reason: 'the disk is full' }])
  expect([result.code, reasons(result)]).toEqual([1, ['blocked']])
})

test('blocked in a code fence, a tool or a sub-agent does not count', async () => {
  const ask = {
    name: 'Agent',
    input: { description: 'Help', prompt: 'Do a part.', subagent_type: 'general-purpose' },
  }
  const script = {
    conversations: [
      { when: { prompt: '^Do a part' }, turns: [BLOCKED] },
      {
        turns: [
          { text: `This is how:\n\`\`\`\n${BLOCKED.text}\n\`\`\``, tool: ask },
          { tool: bash(`echo '${BLOCKED.text}'`) },
          { text: 'I would say ORCHESTRA_BLOCKED: no if I had to.' },
          DONE,
        ],
      },
    ],
  }
  await using stage = await openStage({ script, ...writes() })
  const result = await stage.runJson('--chain', 'w')
  expect(stage.asks.flatMap(({ results }) => results).join('\n')).toContain(BLOCKED.text)
  expect(outcomes(result)).toEqual([{ kind: 'exited', code: 0 }, { kind: 'marker' }])
  expect([result.code, eventsOf(result, 'step_ended')[0]?.iterations]).toEqual([0, 2])
})

test('an agent that runs once can be blocked as well', async () => {
  await using stage = await openStage({ script: [BLOCKED], ...writes({}, {}) })
  const result = await stage.runJson('--chain', 'w')
  expect([result.code, reasons(result)]).toEqual([1, ['blocked']])
})
