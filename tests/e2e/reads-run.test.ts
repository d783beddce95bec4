import { expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject } from '../support/project.ts'
import { conversation, leftBehind, results } from './support/reader.ts'
import { openStage, type Stage } from './support/stage.ts'
import { DONE, writes } from './support/writer.ts'

const STEP = { iterations: 2, prompt: '/read a.md\n/read gone.md\n\nThe task.\n' }

const sessionsOf = ({ model }: Stage) => [
  ...new Set(model.requests.flatMap(({ headers }) => headers['x-claude-code-session-id'] ?? [])),
]

const filesIn = (folder: string) =>
  existsSync(folder) ? readdirSync(folder, { recursive: true }).map(String) : []

const MISSING = '[forkhestra] Warning: /read: File does not exist: gone.md\n'

test('a run passes files as tool calls, read again in each iteration', async () => {
  const edit = { file_path: 'a.md', old_string: 'alpha', new_string: 'beta' }
  const script = [{ tool: { name: 'Edit', input: edit } }, { text: 'Edited.' }, DONE]
  await using stage = await openStage({ script, files: { 'a.md': 'alpha\n' }, ...writes({}, STEP) })
  const { code, stderr } = await stage.run('--chain', 'w')
  expect(`${code} ${stderr}`).toBe(`0 ${MISSING}${MISSING}`)
  expect(stage.asks).toHaveLength(3)
  expect(readFileSync(join(stage.cwd, 'a.md'), 'utf8')).toBe('beta\n')
  for (const [request, text] of [
    [0, 'alpha'],
    [2, 'beta'],
  ] as const) {
    const said = conversation(stage, request)
    expect(said.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant', 'user'])
    expect(said[1]?.blocks.map(({ type, name }) => [type, name])).toEqual([
      ['tool_use', 'Read'],
      ['tool_use', 'Read'],
    ])
    expect(said[2]?.blocks).toMatchObject([
      { type: 'tool_result', content: `1\t${text}\n2\t` },
      { type: 'tool_result', content: 'File does not exist: gone.md', is_error: true },
    ])
    expect(said[4]?.blocks).toEqual([{ type: 'text', text: 'The task.\n' }])
  }
  const ids = (request: number) => results(stage, request).map((result) => result.tool_use_id)
  expect(ids(2)).toEqual(ids(0).slice(0, 2))
})

test("sessions with files do not appear in the user's list or in the project", async () => {
  await using stage = await openStage({
    script: [{ text: 'Not yet.' }, DONE],
    files: { 'a.md': 'alpha\n', 'config/.keep': '' },
    ...writes({}, STEP),
    env: { CLAUDE_CONFIG_DIR: 'config' },
  })
  const { code } = await stage.run('--chain', 'w')
  expect([code, results(stage, 0).length]).toEqual([0, 2])
  const [session, ...more] = sessionsOf(stage)
  expect(more).toHaveLength(1)
  expect(leftBehind(stage)).toEqual([])
  expect(filesIn(stage.cwd).filter((name) => name.endsWith('.jsonl'))).toEqual([])
  const { stderr } = await stage.shell(`claude --print --resume ${session} "Go on."`)
  expect(stderr).toContain('No conversation found')
})

test('two parallel runs do not share sessions', async () => {
  const script = { conversations: [{ sessions: [[DONE], [DONE]] }] }
  await using stage = await openStage({ script, files: { 'a.md': 'alpha\n' }, ...writes({}, STEP) })
  const start = () => stage.run('--chain', 'w', '--anyway')
  const ended = await Promise.all([start(), start()])
  expect(ended.map(({ code }) => code)).toEqual([0, 0])
  expect(sessionsOf(stage)).toHaveLength(2)
  expect([results(stage, 0).length, results(stage, 1).length]).toEqual([2, 2])
  expect(leftBehind(stage)).toEqual([])
})

test('temporary files work from any folder and without a home', async () => {
  const files = { 'sub/a.md': 'alpha\n', 'temp/.keep': '' }
  const env = { TMPDIR: 'temp', HOME: '/proc/none' }
  await using stage = await openStage({ script: [DONE], files, ...writes({}, STEP), env })
  const { code, stderr } = await stage.run(
    '--chain',
    'w',
    '--cwd',
    'sub',
    '--config',
    configOf(stage),
  )
  expect(`${code} ${stderr}`).toBe(`0 ${MISSING}`)
  expect(results(stage, 0)[0]?.content).toBe('1\talpha\n2\t')
  expect(filesIn(join(stage.cwd, 'temp')).filter((name) => name.startsWith('forkhestra'))).toEqual(
    [],
  )
})

test('if no session can be written, the files go into the prompt with a notice', async () => {
  const files = { 'a.md': 'alpha\n' }
  // The agent has another place.
  const env = { TMPDIR: '/proc/none', CLAUDE_CODE_TMPDIR: makeProject() }
  await using stage = await openStage({ script: [DONE], files, ...writes({}, STEP), env })
  const { code, stderr } = await stage.run('--chain', 'w')
  expect(stderr).toMatch(
    /Warning: cannot write the prompt to a file: .*; the files of \/read are in the prompt instead\n/,
  )
  expect([code, results(stage, 0)]).toEqual([0, []])
  expect(stage.asks[0]?.prompt).toMatch(/<file path="a.md" id="\w+">\nalpha\n[^]*\n\nThe task\.\n$/)
})

const configOf = ({ cwd }: Stage) => join(cwd, 'forge/orch/chains.json')
