import { expect, test } from 'bun:test'
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { asked, conversationOf, openNative, type NativeStage } from '../support/native.ts'
import { journalOf, ofType, runsOf } from '../support/record.ts'
import { fileIn, until } from '../support/until.ts'

// What becomes of a conversation whose process dies, or which is broken off and repeated.

const bash = (command: string) => ({ name: 'bash', input: { command } })
const DONE = { text: 'All is done.\n\nORCHESTRA_COMPLETE' }

/** Kills forkhestra with SIGKILL once the agent has made a file. */
async function killAt(stage: NativeStage, file: string, ...args: string[]): Promise<void> {
  const running = stage.start(...args)
  await fileIn(stage.cwd, file)
  running.signal('SIGKILL')
  await running.finished
}

test('a call interrupted by a kill is answered as interrupted on resume', async () => {
  await using stage = await openNative([
    { tools: [bash('echo 1 >>first'), bash('touch began; sleep 600'), bash('touch third')] },
    { text: 'I see.', tool: bash('touch fourth') },
    DONE,
  ])
  await killAt(stage, 'began', 'nat:3', '-p', 'Go.')
  const { code, stdout, stderr } = await stage.run('resume', '--kill-orphans')
  expect([code, stdout]).toEqual([0, expect.stringContaining('Complete after 1 iteration')])
  expect(stderr).toContain('resuming a conversation of 3 messages')

  const [, second, third] = asked(stage)
  expect(asked(stage)).toHaveLength(3)
  const results = second!.messages[2]!.content
  expect(results.map(({ is_error: isError = false }) => isError)).toEqual([false, true, true])
  expect(results[1]!['content']).toContain('may or may not have happened')
  expect(results[2]!['content']).toContain('was not started')
  expect(third!.messages).toHaveLength(5)
  // What was done is not done again.
  expect(readFileSync(join(stage.cwd, 'first'), 'utf8')).toBe('1\n')
  expect(readdirSync(stage.cwd)).not.toContain('third')
  expect(readdirSync(stage.cwd)).toContain('fourth')
})

test('usage before a kill is counted once', async () => {
  await using stage = await openNative([{ tool: bash('touch began; sleep 600') }, DONE])
  await killAt(stage, 'began', 'nat:3', '-p', 'Go.')
  const killed = JSON.parse((await stage.run('show', '--json')).stdout)
  expect(killed.spent.tokens).toMatchObject({ input: 100, output: 20 })
  await stage.run('resume', '--kill-orphans')
  const [run] = runsOf(stage.cwd)
  const ended = ofType(journalOf(stage.cwd, run!), 'run_ended').at(-1)
  expect(ended?.spent?.tokens).toMatchObject({ input: 200, output: 40 })
})

test('an incomplete last line is ignored', async () => {
  await using stage = await openNative([
    { tool: bash('touch began; sleep 600') },
    { text: 'Again.', tool: bash('true') },
    DONE,
  ])
  await killAt(stage, 'began', 'nat:3', '-p', 'Go.')
  appendFileSync(fileOf(stage), '{"type":"result","id":"x","name":"ba')
  expect((await stage.run('resume', '--kill-orphans')).code).toBe(0)
  const types = conversationOf(stage.cwd).map(({ type }) => type)
  expect(types.slice(0, 4)).toEqual(['begin', 'user', 'assistant', 'result'])
})

function fileOf({ cwd }: NativeStage): string {
  const [run] = runsOf(cwd)
  return join(cwd, 'forge/orch/runs', run!, 'steps/1/iterations/1.conversation.ndjson')
}

test('a complete answer is not requested again', async () => {
  await using stage = await openNative([{ tool: bash('touch began; sleep 600') }])
  await killAt(stage, 'began', 'nat:3', '-p', 'Go.')
  const result = { type: 'result', id: idOf(stage), name: 'bash', text: '' }
  const answer = { type: 'assistant', parts: [{ type: 'text', text: DONE.text }], costUsd: 1 }
  appendFileSync(fileOf(stage), `${JSON.stringify(result)}\n${JSON.stringify(answer)}\n`)
  const { code, stdout } = await stage.run('resume', '--kill-orphans')
  expect([code, asked(stage).length]).toEqual([0, 1])
  expect(stdout).toContain('All is done.')
  expect(stdout).toContain('$1.00')
})

function idOf(stage: NativeStage): string {
  const [, , answer] = conversationOf(stage.cwd)
  return (answer!['parts'] as { id: string }[])[0]!.id
}

test('it starts over before the first answer, or with another prompt', async () => {
  await using stage = await openNative([{ tool: bash('touch began; sleep 600') }, DONE], {
    files: { 'prompt.md': 'Go.' },
  })
  await killAt(stage, 'began', 'nat:3', '--prompt-file', 'prompt.md')
  writeFileSync(join(stage.cwd, 'prompt.md'), 'Go elsewhere.')
  expect((await stage.run('resume', '--kill-orphans')).code).toBe(0)
  expect(asked(stage)[1]?.messages).toHaveLength(1)
  expect(conversationOf(stage.cwd).map(({ type }) => type)).toEqual([
    'begin',
    'user',
    'assistant',
    'end',
  ])
})

test('an iteration continues its conversation after a limit', async () => {
  const limit = { error: { status: 429, headers: { 'retry-after': '61' } } }
  await using stage = await openNative([{ tool: bash('echo 1 >>work') }, limit, DONE])
  const running = stage.start('nat:2', '-p', 'Go.')
  await fileIn(stage.cwd, 'work')
  const [run] = runsOf(stage.cwd)
  while (ofType(journalOf(stage.cwd, run!), 'waiting').length === 0) await Bun.sleep(5)
  expect((await stage.run('retry-now', run!)).code).toBe(0)
  expect(await running.finished).toMatchObject({ code: 0 })
  expect(asked(stage)[2]?.messages).toHaveLength(3)
  expect(readFileSync(join(stage.cwd, 'work'), 'utf8')).toBe('1\n')
})

test.each([
  ['cut off at the output limit and is continued', 'length', 2, 0],
  ['stopped by its provider and fails again', 'content-filter', 1, 1],
])('resume reports a stored answer that was %s', async (_, finish, count, code) => {
  await using stage = await openNative([{ tool: bash('touch began; sleep 600') }, DONE])
  await killAt(stage, 'began', 'nat', '-p', 'Go.')
  const result = { type: 'result', id: idOf(stage), name: 'bash', text: '' }
  const answer = { type: 'assistant', parts: [{ type: 'text', text: 'Half of it' }], finish }
  appendFileSync(fileOf(stage), `${JSON.stringify(result)}\n${JSON.stringify(answer)}\n`)
  const resumed = await stage.run('resume', '--kill-orphans')
  expect([resumed.code, asked(stage).length]).toEqual([code, count])
  expect(resumed.stdout).toContain('Half of it')
  if (count === 2) {
    expect(JSON.stringify(asked(stage)[1]?.messages.at(-1))).toContain('Go on where it ended')
  }
})

test('usage reported before a second Ctrl-C is counted once', async () => {
  const deaf = "trap '' TERM INT HUP; touch began; while :; do sleep 0.1; done"
  await using stage = await openNative([{ tool: bash(deaf) }, DONE])
  const running = stage.start('nat:3', '-p', 'Go.')
  await fileIn(stage.cwd, 'began')
  running.signal('SIGINT')
  await until(() => running.stderr.includes('press Ctrl-C again'))
  running.signal('SIGINT')
  await running.finished
  expect((await stage.run('resume', '--kill-orphans')).code).toBe(0)
  const [run] = runsOf(stage.cwd)
  const ended = ofType(journalOf(stage.cwd, run!), 'run_ended').at(-1)
  expect(ended?.spent?.tokens).toMatchObject({ input: 200, output: 40 })
})
