import { expect, test } from 'bun:test'
import { cpSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ScriptSource } from '../../src/fake-model/script-schema.ts'
import { asked, openNative, type NativeStage } from '../support/native.ts'
import { ask, problemsOf, tasksOf } from '../support/queue.ts'

// The three examples of the design, played by the built-in agent as .claude/agents/engineer.md.

const ENGINEER = { agents: { engineer: { engine: 'native', model: 'haiku' } } }

async function openExamples(script: ScriptSource): Promise<NativeStage> {
  const stage = await openNative(script)
  cpSync(join(import.meta.dir, '../../examples'), stage.cwd, { recursive: true })
  const configuration = JSON.stringify({ ...ENGINEER, chains: {} })
  await Bun.write(join(stage.cwd, 'forge/orch/chains.json'), configuration)
  return stage
}

const call = (name: string, input: Record<string, unknown>) => ({ tool: { name, input } })
const run = (stage: NativeStage, example: string) =>
  stage.run('engineer', '--prompt-file', `prompts/${example}.md`)

test('a worker starts with two files read, does the work and runs the tests', async () => {
  const script = "#!/bin/sh\nprintf '%s' \"$1\" | grep -Eqx '[^.]+([.][^.]+){2}'\n"
  const check = '#!/bin/sh\nsh src/auth/token.sh aa.bb.cc && echo passed\n'
  await using stage = await openExamples([
    call('write', { path: 'src/auth/token.sh', content: script }),
    call('write', { path: 'tests/test_token.sh', content: check }),
    call('bash', { command: 'sh tests/test_token.sh' }),
    { text: 'Done, verified by its test.' },
  ])
  const { code, stdout } = await run(stage, 'worker')
  expect([code, stdout]).toEqual([0, expect.stringContaining('Done, verified by its test.')])
  const [first, , , last] = asked(stage)
  expect(first?.system[0]?.text).toContain('You are a careful engineer.')
  const paths = first?.messages[1]?.content.map(({ input }) => input)
  expect(paths).toEqual([{ path: 'src/auth/README.md' }, { path: 'project/auth-design.md' }])
  expect(JSON.stringify(last?.messages.at(-1))).toContain('passed')
  expect(existsSync(join(stage.cwd, 'tests/test_token.sh'))).toBe(true)
})

test('an orchestrator delegates research, decides and queues the next task', async () => {
  await using stage = await openExamples({
    conversations: [
      {
        when: { prompt: '^Research approach A' },
        turns: [{ text: 'A: nobody can take it back.' }],
      },
      { when: { prompt: '^Research approach B' }, turns: [{ text: 'B: a row can be deleted.' }] },
      {
        when: { prompt: 'Implement the chosen' },
        turns: [
          call('read', { path: 'DECISION.md' }),
          call('write', { path: 'sessions.csv', content: 'user, since\n' }),
          { text: 'Implemented, see sessions.csv.' },
        ],
      },
      {
        when: { prompt: 'Analyze the requirements' },
        turns: [
          call('receive', { from: ['research-a', 'research-b'] }),
          call('write', { path: 'DECISION.md', content: 'Sessions in a table.\n' }),
          { text: 'Decided, see DECISION.md.' },
        ],
      },
    ],
  })
  const { code, stdout } = await run(stage, 'orchestrator')
  expect([code, stdout]).toEqual([0, expect.stringContaining('Left in the queue: implement;')])
  const received = asked(stage).flatMap(({ messages }) =>
    messages.flatMap(({ content }) => content.map(({ content: text }) => String(text))),
  )
  const results = received.find((text) => text.includes('"status":"received"'))
  expect(results).toContain('A: nobody can take it back.')
  expect(results).toContain('B: a row can be deleted.')

  expect((await stage.run('run-queue')).code).toBe(0)
  expect(readFileSync(join(stage.cwd, 'sessions.csv'), 'utf8')).toBe('user, since\n')
  expect((await tasksOf(stage.cwd)).map(({ name, end }) => [name, end?.success])).toEqual([
    ['research-a', true],
    ['research-b', true],
    ['implement', true],
  ])
  expect(await problemsOf(stage.cwd)).toEqual([])
})

test('a pipeline queues its next phase, which reads its own file', async () => {
  await using stage = await openExamples({
    conversations: [
      { when: { prompt: 'Complete Phase 2' }, turns: [{ text: 'Phase 2 is done.' }] },
      { when: { prompt: 'Complete Phase 1' }, turns: [{ text: 'Phase 1 is done.' }] },
    ],
  })
  expect((await run(stage, 'pipeline')).stdout).toContain('Left in the queue: phase2;')
  expect((await stage.run('run-queue')).code).toBe(0)
  const second = asked(stage)[1]!
  expect(second.messages[1]?.content).toMatchObject([
    { type: 'tool_use', name: 'read', input: { path: 'project/task-spec.md' } },
  ])
  const { messages } = await ask<{ messages: { text: string }[] }>(stage.cwd, 'check')
  expect(JSON.stringify(messages)).toContain('Phase 2 is done.')
})
