import { expect, test } from 'bun:test'
import { sh } from '../support/project.ts'
import { makeScriptProject, Script } from '../support/script.ts'

// tests/support/guards.ts checks after each test that no process is left.

const waits = sh('echo started', 'exec tail -f /dev/null')
const deaf = sh("trap '' INT TERM HUP", 'echo started', 'while :; do tail -f /dev/null; done')
const stubborn = sh(
  "trap 'echo heard' INT",
  'echo started',
  'while :; do tail -f /dev/null & wait; done',
)
const ECHO = 'const onOutput = ({ bytes }) => console.log(Buffer.from(bytes).toString().trim())'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGALRM'] as const

test.each(SIGNALS)(
  '%s ends the agents of run, and then the program by that signal',
  async (signal) => {
    const script = new Script(
      makeScriptProject({ agent: waits }),
      `import { run } from 'forkhestra'
     ${ECHO}
     await run({ agent: './agent', onOutput })
     console.log('not reached')`,
    )
    await script.printed('started')
    script.signal(signal)
    expect(await script.end()).toEqual({ end: signal, lines: [] })
  },
)

test('a signal ends the background processes of a recorded chain, and the record shows it', async () => {
  const cwd = makeScriptProject({
    'forge/orch/chains.json': '{ "chains": {} }',
    agent: sh('setsid tail -f /dev/null &', 'echo started', 'exec tail -f /dev/null'),
  })
  const script = new Script(
    cwd,
    `import { executeChain, parseDSL } from 'forkhestra'
     ${ECHO}
     await executeChain({ steps: parseDSL('./agent:2'), record: true, onOutput })`,
  )
  await script.printed('started')
  script.signal('SIGTERM')
  expect((await script.end()).end).toBe('SIGTERM')
  const after = new Script(
    cwd,
    `import { listRuns } from 'forkhestra'
     const { runs } = await listRuns()
     console.log(runs.map(({ status, stopped }) => status + ': ' + stopped).join())`,
  )
  expect((await after.end()).lines).toEqual(['stopped: interrupted by SIGTERM'])
})

test('if the program has a signal listener, it continues after the agents have ended', async () => {
  const script = new Script(
    makeScriptProject({ agent: waits }),
    `import { run } from 'forkhestra'
     ${ECHO}
     process.once('SIGINT', () => console.log('heard'))
     const { reason } = await run({ agent: './agent', onOutput })
     console.log(reason, process.listenerCount('SIGINT'))`,
  )
  await script.printed('started')
  script.signal('SIGINT')
  expect(await script.end()).toEqual({ end: 0, lines: ['heard', 'interrupted 0'] })
})

test('a program that exits at once leaves no agent running', async () => {
  const script = new Script(
    makeScriptProject({ agent: deaf }),
    `import { run } from 'forkhestra'
     ${ECHO}
     process.on('SIGTERM', () => process.exit(7))
     await run({ agent: './agent', onOutput })`,
  )
  await script.printed('started')
  script.signal('SIGTERM')
  expect(await script.end()).toEqual({ end: 7, lines: [] })
})

test('a second signal kills a deaf agent at once', async () => {
  const script = new Script(
    makeScriptProject({ agent: stubborn }),
    `import { run } from 'forkhestra'
     ${ECHO}
     // Whatever waits for the end of this grace fails.
     const grace = { markerMs: 3_600_000, termMs: 3_600_000 }
     await run({ agent: './agent', onOutput, grace })`,
  )
  await script.printed('started')
  script.signal('SIGINT')
  await script.printed('heard')
  script.signal('SIGINT')
  expect((await script.end()).end).toBe('SIGINT')
})

test('both of two parallel runs end before the program does', async () => {
  const script = new Script(
    makeScriptProject({
      agent: waits,
      slow: sh("trap 'sleep 0.3; exit' INT", 'echo started', 'tail -f /dev/null & wait'),
    }),
    `import { run } from 'forkhestra'
     let started = 0
     const onOutput = () => { if (++started === 2) console.log('both') }
     const one = run({ agent: './agent', onOutput }).then(() => console.log('not reached'))
     await Promise.all([one, run({ agent: './slow', onOutput })])`,
  )
  await script.printed('both')
  script.signal('SIGINT')
  expect(await script.end()).toEqual({ end: 'SIGINT', lines: [] })
})

test('after a run, and with handleSignals: false, there are no listeners', async () => {
  const script = new Script(
    makeScriptProject({ agent: sh('echo hi') }),
    `import { run } from 'forkhestra'
     const count = () => ['SIGINT', 'SIGTERM', 'SIGHUP'].map((name) => process.listenerCount(name)).join('')
     const onEvent = ({ type }) => { if (type === 'run_started') console.log(count()) }
     await Promise.all([run({ agent: './agent', onEvent }), run({ agent: './agent' })])
     console.log(count())
     await run({ agent: './agent', onEvent, handleSignals: false })
     console.log(process.listenerCount('exit'))`,
  )
  expect(await script.end()).toEqual({ end: 0, lines: ['111', '000', '000', '0'] })
})
