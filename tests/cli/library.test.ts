import { join } from 'node:path'
import { expect, test } from 'bun:test'
import {
  composeSystemPrompt,
  executeChain,
  getChain,
  loadAgentSystemPrompt,
  loadConfig,
  MODE_AWARENESS_PREFIX,
  parseChain,
  parseDSL,
  readPromptFile,
  resolvePrompt,
  run,
  substituteVars,
  UserError,
  type ChainOptions,
  type ChainsConfig,
  type DirectRunOptions,
  type ForkhestraConfig,
  type RunEvent,
} from 'forkhestra'
import { isAlive } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'
import { makeScriptProject, runScript } from '../support/script.ts'

test('parseDSL returns the steps of a chain', () => {
  expect(parseDSL('a:3 -> b')).toEqual([
    { agent: 'a', iterations: 3, loop: true },
    { agent: 'b', iterations: 1, loop: false },
  ])
  expect(() => parseDSL('agent:abc')).toThrow(UserError)
  expect(parseDSL('agent:abc', (name) => name === 'agent:abc')).toEqual([
    { agent: 'agent:abc', iterations: 1, loop: false },
  ])
})

test('parseChain returns groups, copies and names of chains; parseDSL points to it', () => {
  const step = (agent: string) => ({ agent, iterations: 1, loop: false })
  const chain = parseChain(
    '(a:2*3 -> b) -> (a & @other) -> (a || x:abc)',
    (name) => name === 'x:abc',
  )
  expect(chain).toEqual([
    { sequence: [{ agent: 'a', iterations: 2, loop: true, copies: 3 }, step('b')] },
    { parallel: [step('a'), { chain: 'other' }] },
    { fallback: [step('a'), step('x:abc')] },
  ])
  for (const text of ['a & b', 'a*2', 'a -> (b -> c)', '@other'])
    expect(() => parseDSL(text)).toThrow(
      expect.objectContaining({ hint: expect.stringContaining('parseChain') }),
    )
})

test('executeChain runs groups, and the chains that they use', async () => {
  const cwd = makeProject({
    ok: sh('exit 0'),
    bad: sh('exit 3'),
    loop: sh('[ "$FORKHESTRA_ITERATION" = 2 ] && echo ORCHESTRA_COMPLETE'),
  })
  const written: ChainsConfig = {
    chains: { twice: { steps: [{ agent: './loop', iterations: 2 }] } },
  }
  const twice = getChain(written, 'twice')
  expect(twice.steps).toEqual([{ agent: './loop', iterations: 2, loop: true }])
  const steps = parseChain('(./bad || ./ok) -> (@twice & ./ok*2)')
  const { success, ...result } = await executeChain({ steps, cwd, chains: { twice } })
  const reasons = result.steps.map(({ agent, result: { reason } }) => `${agent} ${reason}`)
  const ok = './ok single_run'
  expect([success, reasons]).toEqual([true, ['./bad agent_failed', ok, './loop marker', ok, ok]])
  const circle = { a: { steps: parseChain('@b') }, b: { steps: parseChain('@a') } }
  expect(executeChain({ steps: parseChain('@a'), cwd, chains: circle })).rejects.toThrow(
    "Chain 'a' runs itself: a -> b -> a.",
  )
})

test('loadConfig, getChain and substituteVars make steps from a file', async () => {
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
  // Early documentation shows each of these calls.
  const calls: ChainOptions['steps'][] = [
    chain,
    chain.steps,
    substituteVars(chain, { X: 'x' }),
    substituteVars(chain, { X: 'x' }).steps,
  ]
  for (const steps of calls)
    expect(executeChain({ steps, cwd, globalArgs: [] })).rejects.toThrow('Agent not found: a')
  expect(() => substituteVars(chain.steps, {})).toThrow(
    "Variable 'X' referenced in 'a' but not provided",
  )
  expect(() => getChain({ chains: {} }, 'c')).toThrow("There is no chain 'c'")
})

test('resolvePrompt follows the order of precedence', async () => {
  const cwd = makeProject({ 'p.md': 'from file', 'blank.md': '\n' })
  expect(await resolvePrompt({ cwd, stepPrompt: 'step', chainPrompt: 'chain' })).toBe('step')
  expect(await resolvePrompt({ cwd, stepPromptFile: 'blank.md', chainPromptFile: 'p.md' })).toBe(
    'from file',
  )
  expect(await resolvePrompt({ cwd, agentDefault: { defaultPrompt: 'default' } })).toBe('default')
  expect(await resolvePrompt({ cwd })).toBeUndefined()
  expect(readPromptFile('gone.md', cwd)).rejects.toThrow('Prompt file not found: gone.md')
})

test('run returns one result, executeChain one per step, and both emit events', async () => {
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
    run: expect.stringMatching(/^\d{8}-\d{6}-/),
    success: false,
    failedAt: 2,
    steps: [
      {
        agent: './ok',
        result: { complete: true, iterations: 1, exitCode: 0, reason: 'single_run' },
      },
      {
        agent: './loop',
        result: { complete: true, iterations: 1, exitCode: 0, reason: 'marker' },
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

test('an abort signal ends the run, but not other children of the program', async () => {
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

test('variables inside values are not replaced', async () => {
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

test('an empty chain and a missing folder are refused', () => {
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

test('commands inside values of variables are plain text', async () => {
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

test('a prompt with a mistake is refused, except as a raw prompt', async () => {
  const cwd = makeProject({ say: sh('printf "%s" "$1" > said.txt') })
  const options = { cwd, agent: './say', prompt: '/push "x' }
  expect(run(options)).rejects.toThrow('the prompt:1:7  The quote " is never closed.')
  expect(await run({ ...options, rawPrompt: true })).toMatchObject({ complete: true })
  expect(await readPromptFile('said.txt', cwd)).toBe(options.prompt)
})

test('a chain of the configuration runs with its prompt and policy, with or without substituteVars', async () => {
  const cwd = makeScriptProject({
    'forge/orch/chains.json': JSON.stringify({
      chains: {
        filled: {
          prompt: 'on ${X}',
          onFail: 'continue',
          steps: [{ agent: './bad' }, { agent: './say' }],
        },
        plain: { prompt: 'plain', steps: [{ agent: './say', iterations: 1 }] },
      },
    }),
    bad: sh('exit 3'),
    say: sh('printf "%s\\n" "$1"', 'echo ORCHESTRA_COMPLETE'),
  })
  const printed = await runScript(
    cwd,
    `import { executeChain, getChain, loadConfig, substituteVars } from 'forkhestra'
     const config = await loadConfig(process.cwd())
     async function said(options) {
       let text = ''
       const onOutput = ({ bytes }) => { text += Buffer.from(bytes).toString() }
       await executeChain({ ...options, onOutput })
       console.log(JSON.stringify(text.replace('ORCHESTRA_COMPLETE', '').trim()))
     }
     await Bun.write('p.md', 'from a file')
     const steps = substituteVars(getChain(config, 'filled'), { X: '1' })
     await said({ steps })
     await said({ steps, policy: { onFail: 'stop' } })
     const chain = getChain(config, 'plain')
     await said({ steps: chain })
     await said({ steps: chain.steps, chainPrompt: 'given' })
     await said({ steps: chain, chainPrompt: 'given' })
     await said({ steps: chain, chainPromptFile: 'p.md' })
     await said({ steps: config.chains.plain })`,
  )
  expect(printed).toEqual(['on 1', '', 'plain', 'given', 'given', 'from a file', 'plain'])
})

test('a loaded configuration says which steps loop', async () => {
  const cwd = makeProject({
    'forge/orch/chains.json':
      '{"chains":{"x":{"steps":[{"agent":"a","iterations":2},{"agent":"b"}]}}}',
  })
  const config: ForkhestraConfig = (await loadConfig(cwd))!
  expect(config.chains['x']!.steps).toEqual([
    { agent: 'a', iterations: 2, loop: true },
    { agent: 'b', iterations: 1, loop: false },
  ])
  expect(getChain(config, 'x').steps[0]).toMatchObject({ loop: true })
  const written: ChainsConfig = { chains: { x: { steps: [{ agent: 'a' }] } } }
  expect(getChain(written, 'x').steps).toEqual([{ agent: 'a', iterations: 1, loop: false }])
})

test('run accepts the configuration of its agent', async () => {
  const result = JSON.stringify({ type: 'result', is_error: false, result: 'done' })
  const cwd = makeScriptProject({ claude: sh('printf "%s\\n" "$@" > args', `echo '${result}'`) })
  const [printed] = await runScript(
    cwd,
    `import { run } from 'forkhestra'
     process.env.IS_SANDBOX = '1'
     const agentConfig = { systemPromptText: 'You greet.', model: 'haiku' }
     console.log(JSON.stringify(await run({ agent: 'greeter', agentConfig, prompt: 'Say hello' })))`,
  )
  expect(printed).toEqual({ complete: true, iterations: 1, exitCode: 0, reason: 'single_run' })
  expect((await readPromptFile('args', cwd)).split('\n')).toContain('haiku')
  const options: DirectRunOptions = { agent: 'none', cwd, agentConfig: undefined }
  expect(run(options)).rejects.toThrow('Agent not found: none')
})

test.each([
  ['after a marker', 'echo ORCHESTRA_COMPLETE; exit 3', 3],
  ['of a blocked agent', 'echo "ORCHESTRA_BLOCKED: no key"; exit 4', 4],
  ['of a killed agent', 'kill -KILL $$', null],
  [
    'of an agent that hangs after its marker',
    'echo ORCHESTRA_COMPLETE; exec tail -f /dev/null',
    null,
  ],
])('the result has the exit code %s', async (_, line, exitCode) => {
  const cwd = makeProject({ agent: sh(line) })
  const grace = { markerMs: 100, termMs: 100 }
  expect(await run({ agent: './agent', cwd, loop: true, grace })).toMatchObject({ exitCode })
})

test('maxIterations alone means a loop', async () => {
  const cwd = makeProject({
    agent: sh('echo x >> log', 'test $(wc -l < log) = 2 && echo ORCHESTRA_COMPLETE'),
  })
  const result = await run({ agent: './agent', cwd, maxIterations: 5 })
  expect(result).toMatchObject({ complete: true, iterations: 2, reason: 'marker' })
})

test('loadAgentSystemPrompt and composeSystemPrompt return promises', async () => {
  const cwd = makeProject({ 'system.md': 'You build.' })
  const own = loadAgentSystemPrompt({ systemPrompt: 'system.md' }, cwd)
  expect(own).toBeInstanceOf(Promise)
  expect(await own).toBe('You build.')
  expect(await composeSystemPrompt(await own).then((text) => text)).toBe(
    `${MODE_AWARENESS_PREFIX}You build.`,
  )
  expect(loadAgentSystemPrompt({ systemPrompt: 'gone.md' }, cwd)).rejects.toThrow('does not exist')
})

test('the types of the library pass the type check of the project that uses it', async () => {
  const compilerOptions = {
    lib: ['ESNext', 'DOM'],
    target: 'ESNext',
    module: 'Preserve',
    moduleResolution: 'bundler',
    typeRoots: [join(import.meta.dir, '../../node_modules/@types')],
    types: ['bun'],
    allowImportingTsExtensions: true,
    noEmit: true,
    skipLibCheck: true,
    strict: true,
  }
  const cwd = makeScriptProject({
    'tsconfig.json': JSON.stringify({ compilerOptions, files: ['script.ts'] }),
    'script.ts': `
      import { getChain, loadConfig, run, substituteVars, type DirectRunOptions } from 'forkhestra'
      const config = await loadConfig('.')
      const { steps, chainPrompt }: { steps: object[]; chainPrompt: string | undefined } =
        substituteVars(getChain(config!, 'a'), { FEATURE: 'login' })
      const agentConfig = config?.agents?.['writer']
      const options: DirectRunOptions = { agent: 'writer', agentConfig, cwd: '.', loop: true }
      const code: number | null = (await run(options)).exitCode
      console.log(steps, chainPrompt, code)
    `,
  })
  const check = Bun.spawn([process.execPath, 'check'], { cwd, stdout: 'pipe', stderr: 'ignore' })
  expect(await check.stdout.text()).toBe('')
  expect(await check.exited).toBe(0)
})
