import { describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RunEvent } from '../src/events/schema.ts'
import { forkhestra, Running } from './support/forkhestra.ts'
import { makeProject, sh, type Files } from './support/project.ts'

/** What every engine has to make possible, whatever its agents print and how they are called. */
interface EngineUnderTest {
  /** The agent as it is typed. */
  readonly agent: string
  /** What the agent prints to say something in its own words. */
  line(text: string): string
  /** The project with an agent that runs this shell script. */
  files(script: readonly string[]): Files
}

const RESULT = JSON.stringify({ type: 'result', subtype: 'success', is_error: false })

const quote = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`

const ENGINES: Readonly<Record<string, EngineUnderTest>> = {
  binary: {
    agent: './agent',
    line: (text) => text,
    files: (script) => ({ agent: sh(...script) }),
  },
  claude: {
    agent: 'direct',
    line: (text) => {
      const content = [{ type: 'text', text }]
      return JSON.stringify({ type: 'assistant', message: { id: `${Math.random()}`, content } })
    },
    files: (script) => ({
      // The real one ends with a result, whatever it said before.
      claude: sh(`trap 'echo "$RESULT"' EXIT`, `RESULT=${quote(RESULT)}`, ...script),
      'forge/orch/chains.json': JSON.stringify({
        agents: { direct: { systemPromptText: 'You are a test.' } },
        chains: {},
      }),
    }),
  },
}

const MARKER = 'ORCHESTRA_COMPLETE'

describe.each(Object.entries(ENGINES))('the engine %s', (_, engine) => {
  const env = { IS_SANDBOX: '1' }
  const say = (text: string) => `printf '%s\\n' ${quote(engine.line(text))}`
  const run = (script: readonly string[], args: readonly string[]) =>
    forkhestra(args, { cwd: makeProject(engine.files(script)), env })
  const events = async (script: readonly string[], args: readonly string[]) => {
    const { stdout } = await run(script, [...args, '--json'])
    return stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as RunEvent)
  }
  const outcomes = (all: readonly RunEvent[]) =>
    all.flatMap((event) => (event.type === 'iteration_ended' ? [event.outcome.kind] : []))

  test('ends a loop by the marker in the words of the agent', async () => {
    const { code, stdout } = await run([say(`Done.\n\n${MARKER}`)], [`${engine.agent}:3`])
    expect(code).toBe(0)
    expect(stdout).toContain(`Done.\n\n${MARKER}\n[forkhestra] Complete after 1 iteration\n`)
  })

  test('goes on without it, up to the last iteration', async () => {
    const all = await events([say('Not yet')], [`${engine.agent}:3`])
    expect(outcomes(all)).toEqual(['exited', 'exited', 'exited'])
    expect(all.at(-1)).toMatchObject({ type: 'run_ended', exitCode: 1 })
  })

  test.each([
    ['longer_line', `I will not print ${MARKER} yet.`],
    ['quotes', `"${MARKER}"`],
    ['letter_case', 'orchestra_complete'],
    ['code_fence', `\`\`\`\n${MARKER}\n\`\`\``],
  ])('does not fall for %s', async (why, text) => {
    const all = await events([say(text)], [`${engine.agent}:1`])
    expect(all).toContainEqual(expect.objectContaining({ type: 'marker_refused', why }))
    expect(outcomes(all)).toEqual(['exited'])
  })

  test('does not look for it on stderr, and counts it in a fence that is never closed', async () => {
    const refused = await events([`echo ${MARKER} >&2`], [`${engine.agent}:1`])
    expect(refused).toContainEqual(
      expect.objectContaining({ type: 'marker_refused', why: 'stderr' }),
    )
    const open = await events([say(`\`\`\`\n${MARKER}`)], [`${engine.agent}:1`])
    expect(outcomes(open)).toEqual(['marker'])
  })

  test('lets the marker win over the exit code, which counts without it', async () => {
    const script = [say(MARKER), 'exit 3']
    expect(outcomes(await events(script, [`${engine.agent}:2`]))).toEqual(['marker'])
    const once = await run(['exit 3'], [engine.agent])
    expect(once.code).toBe(1)
    expect(once.stdout).toContain(`(exit 3)`)
    expect((await run([say('fine')], [engine.agent])).code).toBe(0)
  })

  test('hands over arguments, then the prompt', async () => {
    const script = ['for last; do :; done', 'printf "%s|%s" "$last" "$*" >seen']
    const cwd = makeProject(engine.files(script))
    await forkhestra([engine.agent, '-p', '-x /y\n"z"', '--', '--flag'], { cwd, env })
    const [last, all] = readFileSync(join(cwd, 'seen'), 'utf8').split('|')
    expect(last).toBe('-x /y\n"z"')
    expect(all).toMatch(/--flag( --)? -x \/y\n"z"$/)
  })

  test('gives every agent the variables of the run, and nothing to read', async () => {
    const script = ['env | grep "^FORKHESTRA_[A-Z]*=" | sort >seen', 'cat >>seen', 'pwd >>seen']
    const cwd = makeProject(engine.files(script))
    await forkhestra([`${engine.agent}:2`], { cwd, env })
    const seen = readFileSync(join(cwd, 'seen'), 'utf8')
    expect(seen).toContain(`FORKHESTRA_AGENT=${engine.agent}\nFORKHESTRA_ITERATION=2\n`)
    expect(seen).toEndWith(`${cwd}\n`)
  })

  test('shows what the agent says while it still speaks, and stops with it', async () => {
    const cwd = makeProject(engine.files([say('first words'), 'sleep 600']))
    const running = new Running([engine.agent], { cwd, env })
    await running.printed('first words')
    running.signal('SIGINT')
    expect(await running.finished).toMatchObject({ code: 130 })
  })

  test('ends what the agent left running', async () => {
    const { stdout } = await run(['sleep 600 &', say('bye')], [engine.agent])
    expect(stdout).toContain('[forkhestra] Ended a process left running: sleep 600')
  })

  test('passes long words on whole', async () => {
    const text = `${'ü 🎉 '.repeat(20_000)}end`
    // Too long for a command line, so they come from a file.
    const cwd = makeProject({ ...engine.files(['cat words']), words: `${engine.line(text)}\n` })
    const { stdout } = await forkhestra([engine.agent], { cwd, env })
    expect(stdout).toContain(`${text}\n`)
  })

  test('records what was printed', async () => {
    const cwd = makeProject(engine.files([say('to be kept')]))
    const state = join(cwd, '.state')
    await forkhestra([engine.agent], { cwd, env: { ...env, XDG_STATE_HOME: state } })
    const logs = readdirSync(cwd, { recursive: true, encoding: 'utf8' })
    const log = logs.find((path) => path.endsWith('iterations/1.log'))
    expect(readFileSync(join(cwd, log!), 'utf8')).toContain('to be kept')
  })
})
