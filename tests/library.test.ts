import { expect, test } from 'bun:test'
import {
  executeChain,
  getChain,
  loadConfig,
  parseDSL,
  readPromptFile,
  resolvePrompt,
  run,
  substituteVars,
  UserError,
  type RunEvent,
} from 'forkhestra'
import { isAlive } from './support/forkhestra.ts'
import { makeProject, sh } from './support/project.ts'

test('parseDSL gives the steps of a chain', () => {
  expect(parseDSL('a:3 -> b')).toEqual([
    { agent: 'a', iterations: 3, loop: true },
    { agent: 'b', iterations: 1, loop: false },
  ])
  expect(() => parseDSL('agent:abc')).toThrow(UserError)
  expect(parseDSL('agent:abc', (name) => name === 'agent:abc')).toEqual([
    { agent: 'agent:abc', iterations: 1, loop: false },
  ])
})

test('loadConfig, getChain and substituteVars lead from a file to steps', async () => {
  const cwd = makeProject({
    'forge/orch/chains.json':
      '{"chains":{"c":{"prompt":"on ${X}","steps":[{"agent":"a","iterations":2,"args":["${X}"]}]}}}',
  })
  expect(await loadConfig(makeProject())).toBeNull()
  const chain = getChain((await loadConfig(cwd))!, 'c')
  expect(substituteVars(chain.steps, { X: '1' }, chain.prompt, chain.promptFile)).toEqual({
    steps: [{ agent: 'a', iterations: 2, loop: true, args: ['1'] }],
    chainPrompt: 'on 1',
    chainPromptFile: undefined,
  })
  expect(() => substituteVars(chain.steps, {})).toThrow(
    "Variable 'X' referenced in 'a' but not provided",
  )
  expect(() => getChain({ chains: {} }, 'c')).toThrow("There is no chain 'c'")
})

test('resolvePrompt follows the order of the levels', async () => {
  const cwd = makeProject({ 'p.md': 'from file', 'blank.md': '\n' })
  expect(await resolvePrompt({ cwd, stepPrompt: 'step', chainPrompt: 'chain' })).toBe('step')
  expect(await resolvePrompt({ cwd, stepPromptFile: 'blank.md', chainPromptFile: 'p.md' })).toBe(
    'from file',
  )
  expect(await resolvePrompt({ cwd, agentDefault: { defaultPrompt: 'default' } })).toBe('default')
  expect(await resolvePrompt({ cwd })).toBeUndefined()
  expect(readPromptFile('gone.md', cwd)).rejects.toThrow('Prompt file not found: gone.md')
})

test('run gives one result, executeChain one a step, and events on the way', async () => {
  const cwd = makeProject({
    ok: sh('echo "$1"'),
    loop: sh('echo ORCHESTRA_COMPLETE'),
    bad: sh('exit 3'),
  })
  expect(await run({ agent: './ok', cwd })).toEqual({
    complete: true,
    iterations: 1,
    exitCode: 0,
    reason: 'single_run',
  })
  const events: RunEvent[] = []
  let said = ''
  const result = await executeChain({
    steps: parseDSL('./ok -> ./loop:2 -> ./bad -> ./ok'),
    cwd,
    chainPrompt: 'hello',
    onEvent: (event) => void events.push(event),
    onOutput: ({ bytes }) => void (said += Buffer.from(bytes).toString()),
  })
  expect(result).toEqual({
    success: false,
    failedAt: 2,
    steps: [
      {
        agent: './ok',
        result: { complete: true, iterations: 1, exitCode: 0, reason: 'single_run' },
      },
      {
        agent: './loop',
        result: { complete: true, iterations: 1, exitCode: null, reason: 'marker' },
      },
      {
        agent: './bad',
        result: { complete: false, iterations: 1, exitCode: 3, reason: 'agent_failed' },
      },
      {
        agent: './ok',
        result: { complete: false, iterations: 0, exitCode: null, reason: 'skipped' },
      },
    ],
  })
  expect(said).toBe('hello\nORCHESTRA_COMPLETE\n')
  expect(events.map(({ type }) => type).slice(-2)).toEqual(['step_ended', 'run_ended'])
})

test('a run that cannot start throws before anything runs', () => {
  expect(run({ agent: 'no-such-agent' })).rejects.toThrow('Agent not found: no-such-agent')
})

test('an abort signal ends a library run, and other children of the program are left alone', async () => {
  const cwd = makeProject({ agent: sh('tail -f /dev/null & echo $! > pid', 'echo ready', 'wait') })
  const bystander = Bun.spawn(['tail', '-f', '/dev/null'])
  const abort = new AbortController()
  const result = await run({
    agent: './agent',
    cwd,
    signal: abort.signal,
    onOutput: () => abort.abort(),
  })
  expect(result.reason).toBe('interrupted')
  expect(isAlive(Number(await Bun.file(`${cwd}/pid`).text()))).toBe(false)
  expect(isAlive(bystander.pid)).toBe(true)
  bystander.kill()
  await bystander.exited
})

test('values that were filled in are not looked into again', async () => {
  const cwd = makeProject({ say: sh('printf "%s" "$1"') })
  const { steps } = substituteVars(
    [{ agent: './say', iterations: 1, loop: false, prompt: '${A} $${B} ${STEP}' }],
    { A: '${HOME}' },
  )
  let said = ''
  await executeChain({
    steps,
    cwd,
    onOutput: ({ bytes }) => void (said += Buffer.from(bytes).toString()),
  })
  expect(said).toBe('${HOME} ${B} 1')
})

test.each([[Number.NaN], [0], [1.5], [1e9]])('%d iterations are refused', (maxIterations) => {
  expect(run({ agent: 'true', loop: true, maxIterations })).rejects.toThrow(
    'expected a whole number',
  )
})

test('no steps, and a folder that is not there, are refused', () => {
  expect(executeChain({ steps: [] })).rejects.toThrow('at least one step')
  expect(run({ agent: 'true', cwd: '/no/such/folder' })).rejects.toThrow('does not exist')
})

test('a callback that throws ends the agent and the run', () => {
  const cwd = makeProject({ agent: sh('echo hi', 'exec tail -f /dev/null') })
  const onOutput = () => {
    throw new Error('no room')
  }
  expect(run({ agent: './agent', cwd, onOutput })).rejects.toThrow('no room')
})

test('a value is no command of a prompt, whoever fills it in', async () => {
  const cwd = makeProject({ say: sh('printf "%s" "$1" > said.txt') })
  const step = { agent: './say', iterations: 1, loop: false }
  const vars = { TEXT: '/push "x"' }
  const [filled] = substituteVars([{ ...step, prompt: '${TEXT}' }], vars).steps
  await executeChain({ cwd, steps: [filled!] })
  expect(await readPromptFile('said.txt', cwd)).toBe(vars.TEXT)
  const raw = substituteVars([{ ...step, prompt: '${TEXT}', rawPrompt: true }], vars).steps
  await executeChain({ cwd, steps: raw })
  expect(await readPromptFile('said.txt', cwd)).toBe(vars.TEXT)
})

test('a prompt with a mistake starts nothing, and a raw one has none', async () => {
  const cwd = makeProject({ say: sh('printf "%s" "$1" > said.txt') })
  const options = { cwd, agent: './say', prompt: '/push "x' }
  expect(run(options)).rejects.toThrow('the prompt:1:7  The quote " is never closed.')
  expect(await run({ ...options, rawPrompt: true })).toMatchObject({ complete: true })
  expect(await readPromptFile('said.txt', cwd)).toBe(options.prompt)
})
