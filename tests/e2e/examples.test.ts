import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ScriptSource } from '../../src/fake-model/script-schema.ts'
import type { Files } from '../support/project.ts'
import { conversation } from './support/reader.ts'
import { openStage, type Stage } from './support/stage.ts'
import { bash } from './support/writer.ts'

// The examples of the design, played by the real claude as .claude/agents/engineer.md.

const EXAMPLES = join(import.meta.dir, '../../examples')

function exampleFiles(): Files {
  const paths = new Bun.Glob('**/*').scanSync({ cwd: EXAMPLES, dot: true })
  return Object.fromEntries(
    Array.from(paths, (path) => [path, readFileSync(join(EXAMPLES, path), 'utf8')]),
  )
}

const open = (script: ScriptSource) => openStage({ script, files: exampleFiles() })
const play = (stage: Stage, example: string) =>
  stage.run('engineer', '--prompt-file', `prompts/${example}.md`)
const example = (path: string) => readFileSync(join(EXAMPLES, path), 'utf8')

/** The call of a file and what came of it, as the model sees them. */
function readOf(stage: Stage, path: string) {
  const lines = example(path).split('\n')
  return {
    call: { type: 'tool_use', name: 'Read', input: { file_path: join(stage.cwd, path) } },
    result: {
      type: 'tool_result',
      content: lines.map((line, index) => `${index + 1}\t${line}`).join('\n'),
    },
  }
}

test('the worker has read both files in its first request and uses the agent file', async () => {
  const script = [
    { tool: bash('echo true > src/auth/token.sh') },
    { text: 'Done: src/auth/token.sh.' },
  ]
  await using stage = await open(script)
  const { code, stdout, stderr } = await play(stage, 'worker')
  expect(`${code} ${stderr}`).toBe('0 ')
  expect(stdout).toContain('Pipeline complete (1/1 steps)')
  const reads = ['src/auth/README.md', 'project/auth-design.md'].map((path) => readOf(stage, path))
  expect(conversation(stage, 0)).toMatchObject([
    { role: 'user' },
    { role: 'assistant', blocks: reads.map(({ call }) => call) },
    { role: 'user', blocks: reads.map(({ result }) => result) },
    { role: 'assistant' },
    { role: 'user', blocks: [{ type: 'text', text: expect.stringMatching(/^Implement JWT/) }] },
  ])
  const [first] = stage.asks
  const body = example('.claude/agents/engineer.md').split('---\n').at(-1)!.trim()
  expect(first?.system).toEndWith(`\n\n---\n\n${body}`)
  expect(first?.tools).toEqual(expect.arrayContaining(['Bash', 'Edit', 'Read', 'Write']))
  expect(existsSync(join(stage.cwd, 'src/auth/token.sh'))).toBe(true)
}, 120_000)

test('the orchestrator gets both results, decides and leaves the next task queued', async () => {
  const receive = bash('forkhestra receive --from research-a,research-b | tee DECISION.md')
  await using stage = await open({
    conversations: [
      { when: { system: 'You are research-a,' }, turns: [{ text: 'A is quick.' }] },
      { when: { system: 'You are research-b,' }, turns: [{ text: 'B can be taken back.' }] },
      {
        when: { system: 'You are implement,' },
        turns: [{ tool: bash('cp DECISION.md done.md') }, { text: 'Implemented.' }],
      },
      { when: { system: 'careful engineer' }, turns: [{ tool: receive }, { text: 'B it is.' }] },
    ],
  })
  const { code, stdout, stderr } = await play(stage, 'orchestrator')
  expect(`${code} ${stderr}`).toBe('0 ')
  for (const name of ['research-a', 'research-b']) expect(stdout).toContain(`Task ${name}: done`)
  const lead = stage.asks.filter(({ system }) => system.includes('careful engineer'))
  expect(lead[0]?.results.join('\n')).toContain('A login can be revoked at once.')
  const received = lead.at(-1)?.results.at(-1) ?? ''
  expect(received).toContain('[research-a: done]\nA is quick.')
  expect(received).toContain('[research-b: done]\nB can be taken back.')
  const decision = () => readFileSync(join(stage.cwd, 'DECISION.md'), 'utf8')
  expect(decision()).toContain('B can be taken back.')
  expect(stdout).toContain('Left in the queue: implement; to start: forkhestra run-queue')
  expect(existsSync(join(stage.cwd, 'done.md'))).toBe(false)

  expect((await stage.run('run-queue')).code).toBe(0)
  expect(readFileSync(join(stage.cwd, 'done.md'), 'utf8')).toBe(decision())
  expect((await stage.run('check')).stdout).toBe('[implement: done]\nImplemented.\n')
  expect((await stage.run('queue', 'verify')).code).toBe(0)
}, 120_000)

test('phase 2 of the pipeline has read the spec in its first request', async () => {
  await using stage = await open({
    conversations: [
      {
        when: { system: 'careful engineer' },
        turns: [
          { tool: bash('echo "The spec has grown." >> project/task-spec.md') },
          { text: 'Phase 1 is done.' },
        ],
      },
      { when: { system: 'You are phase2,' }, turns: [{ text: 'Phase 2 is done.' }] },
    ],
  })
  const { code, stdout } = await play(stage, 'pipeline')
  expect(code).toBe(0)
  expect(stdout).toContain('Left in the queue: phase2; to start: forkhestra run-queue')
  const before = stage.asks.length
  expect(stage.asks.some(({ system }) => system.includes('You are phase2,'))).toBe(false)

  expect((await stage.run('run-queue')).code).toBe(0)
  const spec = { file_path: join(stage.cwd, 'project/task-spec.md') }
  expect(conversation(stage, before)).toMatchObject([
    { role: 'user' },
    { role: 'assistant', blocks: [{ type: 'tool_use', name: 'Read', input: spec }] },
    {
      role: 'user',
      blocks: [{ type: 'tool_result', content: expect.stringContaining('The spec has grown.') }],
    },
    { role: 'assistant' },
    { role: 'user', blocks: [{ text: 'Complete Phase 2 of the task spec.' }] },
  ])
  expect((await stage.run('check')).stdout).toBe('[phase2: done]\nPhase 2 is done.\n')
}, 120_000)
