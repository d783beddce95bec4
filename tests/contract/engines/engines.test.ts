import { describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RunEvent } from '../../../src/records/events/schema.ts'
import { forkhestra, Running } from '../../support/forkhestra.ts'
import { openNative } from '../../support/native.ts'
import { makeProject, sh, type Files } from '../../support/project.ts'

/** One action of a scripted agent. */
type Action =
  | { readonly say: string }
  | { readonly run: string }
  /** Ends the agent with a failure. */
  | { readonly fail: true }

/** An engine, and how to make an agent for it that performs given actions. */
interface EngineUnderTest {
  /** The name of the agent on the command line. */
  readonly agent: string
  /** How the output describes a failure. */
  readonly failure: RegExp
  /** A project with an agent that performs these actions in every iteration. */
  open(actions: readonly Action[]): Promise<Stage>
}

interface Stage extends AsyncDisposable {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

const RESULT = JSON.stringify({ type: 'result', subtype: 'success', is_error: false })

const quote = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`

/** An agent as a shell script; its texts are files, because they may be too long for a command line. */
function script(actions: readonly Action[], line: (text: string) => string) {
  const texts: Files = Object.fromEntries(
    actions.flatMap((action, index) =>
      'say' in action ? [[`texts-${index}`, `${line(action.say)}\n`]] : [],
    ),
  )
  const lines = actions.map((action, index) => {
    if ('say' in action) return `cat texts-${index}`
    return 'run' in action ? action.run : 'exit 3'
  })
  return { texts, lines }
}

function stageOf(files: Files): Promise<Stage> {
  const env = { IS_SANDBOX: '1' }
  return Promise.resolve({
    cwd: makeProject(files),
    env,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  })
}

function saidByClaude(text: string): string {
  const content = [{ type: 'text', text }]
  return JSON.stringify({ type: 'assistant', message: { id: `${Math.random()}`, content } })
}

const ENGINES: Readonly<Record<string, EngineUnderTest>> = {
  binary: {
    agent: './agent',
    failure: /\(exit 3\)/,
    open: (actions) => {
      const { texts, lines } = script(actions, (text) => text)
      return stageOf({ agent: sh(...lines), ...texts })
    },
  },
  claude: {
    agent: 'direct',
    failure: /\(exit 3\)/,
    open: (actions) => {
      const { texts, lines } = script(actions, saidByClaude)
      return stageOf({
        // The real CLI always ends with a result.
        claude: sh(`trap 'echo "$RESULT"' EXIT`, `RESULT=${quote(RESULT)}`, ...lines),
        'forge/orch/chains.json': JSON.stringify({
          agents: { direct: { systemPromptText: 'You are a test.' } },
          chains: {},
        }),
        ...texts,
      })
    },
  },
  native: {
    agent: 'nat',
    failure: /scripted error 400/,
    open: async (actions) => {
      const turns = actions.map((action, index) => {
        if ('fail' in action) return { error: { status: 400 } }
        const isLast = index === actions.length - 1
        if ('run' in action) return { tool: { name: 'bash', input: { command: action.run } } }
        // A tool call continues the turn.
        return isLast
          ? { text: action.say }
          : { text: action.say, tool: { name: 'glob', input: { pattern: '*' } } }
      })
      const isOver = actions.some(
        (action, index) => index === actions.length - 1 && !('run' in action),
      )
      const all = isOver ? turns : [...turns, { text: 'Over.' }]
      const stage = await openNative({ conversations: [{ turns: all, repeat: true }] })
      const { cwd, model } = stage
      return { cwd, env: model.env, [Symbol.asyncDispose]: () => model.stop() }
    },
  },
}

const MARKER = 'ORCHESTRA_COMPLETE'

describe.each(Object.entries(ENGINES))('the engine %s', (name, engine) => {
  const run = async (actions: readonly Action[], args: readonly string[]) => {
    await using stage = await engine.open(actions)
    return await forkhestra(args, stage)
  }
  const events = async (actions: readonly Action[], args: readonly string[]) => {
    const { stdout } = await run(actions, [...args, '--json'])
    return stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as RunEvent)
  }
  const outcomes = (all: readonly RunEvent[]) =>
    all.flatMap((event) => (event.type === 'iteration_ended' ? [event.outcome.kind] : []))

  test('ends a loop by the marker in the agent’s text', async () => {
    const { code, stdout } = await run([{ say: `Done.\n\n${MARKER}` }], [`${engine.agent}:3`])
    expect(code).toBe(0)
    expect(stdout).toContain(`Done.\n\n${MARKER}\n[forkhestra] Complete after 1 iteration\n`)
  })

  test('loops without a marker up to the last iteration', async () => {
    const all = await events([{ say: 'Not yet' }], [`${engine.agent}:3`])
    expect(outcomes(all)).toEqual(['exited', 'exited', 'exited'])
    expect(all.at(-1)).toMatchObject({ type: 'run_ended', exitCode: 1 })
  })

  test.each([
    ['longer_line', `I will not print ${MARKER} yet.`],
    ['quotes', `"${MARKER}"`],
    ['letter_case', 'orchestra_complete'],
    ['code_fence', `\`\`\`\n${MARKER}\n\`\`\``],
  ])('refuses a marker that is not a whole line: %s', async (why, text) => {
    const all = await events([{ say: text }], [`${engine.agent}:1`])
    expect(all).toContainEqual(expect.objectContaining({ type: 'marker_refused', why }))
    expect(outcomes(all)).toEqual(['exited'])
  })

  test('ignores a marker on stderr and in the output of tools', async () => {
    const command = name === 'native' ? `echo ${MARKER}` : `echo ${MARKER} >&2`
    const all = await events([{ run: command }, { say: 'Ran it.' }], [`${engine.agent}:1`])
    expect(outcomes(all)).toEqual(['exited'])
    const refused = all.some((event) => event.type === 'marker_refused' && event.why === 'stderr')
    // The native agent has no stderr; output of its tools is not scanned.
    expect(refused).toBe(name !== 'native')
  })

  test('accepts a marker in a fence that is never closed', async () => {
    const open = await events([{ say: `\`\`\`\n${MARKER}` }], [`${engine.agent}:1`])
    expect(outcomes(open)).toEqual(['marker'])
  })

  test('stops if the agent says that it is blocked', async () => {
    const said = [{ say: 'ORCHESTRA_BLOCKED: no key' }]
    expect(outcomes(await events(said, [`${engine.agent}:3`]))).toEqual(['blocked'])
  })

  test('accepts the marker although the agent fails', async () => {
    const actions = [{ say: MARKER }, { fail: true as const }]
    expect(outcomes(await events(actions, [`${engine.agent}:2`]))).toEqual(['marker'])
    const once = await run([{ fail: true }], [engine.agent])
    expect(once.code).toBe(1)
    expect(once.stdout).toMatch(engine.failure)
    expect((await run([{ say: 'fine' }], [engine.agent])).code).toBe(0)
  })

  test('passes the variables of the run and an empty stdin to commands of the agent', async () => {
    const command = 'env | grep "^FORKHESTRA_[A-Z]*=" | sort >seen; cat >>seen; pwd >>seen'
    await using stage = await engine.open([{ run: command }])
    await forkhestra([`${engine.agent}:2`], stage)
    const seen = readFileSync(join(stage.cwd, 'seen'), 'utf8')
    expect(seen).toContain(`FORKHESTRA_AGENT=${engine.agent}\nFORKHESTRA_ITERATION=2\n`)
    expect(seen).toEndWith(`${stage.cwd}\n`)
  })

  test('streams the agent’s text, and stops the agent on a signal', async () => {
    await using stage = await engine.open([{ say: 'first words' }, { run: 'sleep 600' }])
    const running = new Running([engine.agent], stage)
    await running.printed('first words')
    running.signal('SIGINT')
    expect(await running.finished).toMatchObject({ code: 130 })
  })

  test('ends processes that the agent left running', async () => {
    const { stdout, stderr } = await run([{ run: 'sleep 600 &' }, { say: 'bye' }], [engine.agent])
    expect(`${stdout}${stderr}`).toMatch(/ended .*(left running|leftover process): sleep 600/i)
  })

  test('passes long text on unchanged', async () => {
    const text = `${'ü 🎉 '.repeat(20_000)}end`
    const { stdout } = await run([{ say: text }], [engine.agent])
    expect(stdout).toContain(`${text}\n`)
  })

  test('records the output', async () => {
    await using stage = await engine.open([{ say: 'to be kept' }])
    const { cwd, env } = stage
    const state = join(cwd, '.state')
    await forkhestra([engine.agent], { cwd, env: { ...env, XDG_STATE_HOME: state } })
    const logs = readdirSync(cwd, { recursive: true, encoding: 'utf8' })
    const log = logs.find((path) => path.endsWith('iterations/1.log'))
    expect(readFileSync(join(cwd, log!), 'utf8')).toContain('to be kept')
  })
})

describe.each(['binary', 'claude'])('the engine %s, which starts a process,', (name) => {
  const engine = ENGINES[name]!

  test('passes arguments, then the prompt', async () => {
    const command = 'for last; do :; done; printf "%s|%s" "$last" "$*" >seen'
    await using stage = await engine.open([{ run: command }])
    await forkhestra([engine.agent, '-p', '-x /y\n"z"', '--', '--flag'], stage)
    const [last, all] = readFileSync(join(stage.cwd, 'seen'), 'utf8').split('|')
    expect(last).toBe('-x /y\n"z"')
    expect(all).toMatch(/--flag( --)? -x \/y\n"z"$/)
  })
})

test('the engine native starts no process and refuses arguments', async () => {
  await using stage = await ENGINES['native']!.open([{ say: 'Hi.' }])
  const { code, stderr } = await forkhestra(['nat', '-p', 'x', '--', '--flag'], stage)
  expect(code).toBe(2)
  expect(stderr).toContain(`Agent 'nat' takes no arguments, but got '--flag'.`)
})
