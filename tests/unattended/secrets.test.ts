import { expect, test } from 'bun:test'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { makeChain, runChain, startChain, withRecord, type Ran } from '../support/chains.ts'
import { FORKHESTRA, forkhestra } from '../support/forkhestra.ts'
import { makeProject, sh, writeFiles } from '../support/project.ts'
import { Pty } from '../support/pty.ts'
import { fileIn } from '../support/until.ts'

/** One for each place, so that a leak shows its source. Invented, in the format of real ones. */
const SECRETS = {
  environment: 'w9KxQ2vR7tLm4ZpY',
  configuration: 'h7Jd82Lq0PzX',
  argument: 'sk-ant-api03-Aa1Bb2Cc3Dd4Ee5Ff6Gg7',
  option: 'p4ssphr4se-for-deploy',
  prompt: 'sk-ant-api03-Prompt1Prompt2Prompt3',
  output: 'sk-ant-api03-Output1Output2Output3',
  split: 'ghp_Split4567890123456789012345678901234',
  check: 'glpat-Check12345678901234567',
  tool: 'sk-ant-api03-Tool11Tool22Tool33Tool',
  leftover: 'sk-ant-api03-Leftover1Leftover2Left',
  hook: 'sk-ant-api03-Hook111Hook222Hook333Ho',
  blocked: 'sk-ant-api03-Block11Block22Block33Bl',
}
const ENV = { DEPLOY_KEY: SECRETS.environment }

function leaksIn(text: string): string[] {
  return Object.entries(SECRETS).flatMap(([name, secret]) => (text.includes(secret) ? [name] : []))
}

function leaksBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(folder, name)).isFile())
    .flatMap((name) =>
      leaksIn(readFileSync(join(folder, name), 'latin1')).map((leak) => `${leak} in ${name}`),
    )
}

/** All output about a run, for people and for scripts. */
async function leaksOf({ run, stdout, stderr }: Ran, cwd: string): Promise<string[]> {
  const leaks = [
    ...leaksBelow(join(cwd, 'forge/orch/runs')),
    ...leaksIn(stdout).map((leak) => `${leak} in stdout`),
    ...leaksIn(stderr).map((leak) => `${leak} in stderr`),
  ]
  const place = ['--step', '1', '--iteration', '1']
  const views = [
    ['show', run],
    ['show', run, '--json'],
    ['show', run, ...place],
    ['show', run, ...place, '--json'],
    ['logs', run],
    ['logs', run, '--raw'],
    ['logs', run, '--json'],
    ['runs'],
    ['runs', '--json'],
    ['cost'],
  ]
  for (const view of views) {
    const shown = await forkhestra(view, { cwd })
    expect({ view, code: shown.code }).toEqual({ view, code: 0 })
    leaks.push(
      ...leaksIn(shown.stdout + shown.stderr).map((leak) => `${leak} in ${view.join(' ')}`),
    )
  }
  return leaks
}

const SPLIT_AT = 11

/** Prints its secrets, one of them in two writes, leaves a process running and prints the marker. */
const TALKER = sh(
  'echo "env $DEPLOY_KEY $DB_PASSWORD args $*"',
  `echo ${SECRETS.output}; echo ${SECRETS.output} >&2`,
  `printf ${SECRETS.split.slice(0, SPLIT_AT)}; sleep 0.1; echo ${SECRETS.split.slice(SPLIT_AT)}`,
  `[ -e ${SECRETS.leftover} ] || mkfifo ${SECRETS.leftover}`,
  `setsid cat ${SECRETS.leftover} > /dev/null 2>&1 &`,
  `while ! grep -qa ${SECRETS.leftover} /proc/$!/cmdline; do :; done`,
  'echo ORCHESTRA_COMPLETE',
)

const talking = () =>
  makeChain(
    [
      {
        agent: 'talker',
        iterations: 2,
        env: { DB_PASSWORD: SECRETS.configuration },
        verify: `echo "$DEPLOY_KEY $DB_PASSWORD ${SECRETS.check}"; [ $FORKHESTRA_ITERATION = 2 ]`,
      },
    ],
    { talker: TALKER },
    {
      hooks: Object.fromEntries(
        ['beforeStep', 'afterIteration', 'afterStep', 'afterRun'].map((name) => [
          name,
          `cat >> hooks; [ ${name} = beforeStep ] || { echo ${SECRETS.hook}; exit 1; }`,
        ]),
      ),
    },
  )

const WORDS = ['-p', `Use ${SECRETS.prompt}.`]
const ARGS = ['--', '--api-key', SECRETS.argument, '--password', SECRETS.option]

test.each([[], ['--verbose'], ['--json']].map((args) => [args]))(
  'no secret of a program is in a record or a view (%j)',
  async (args) => {
    const cwd = talking()
    const ran = await runChain(cwd, { args: [...args, ...WORDS, ...ARGS], env: ENV })
    expect(ran.code).toBe(0)
    expect(await leaksOf(ran, cwd)).toEqual([])
    const hooks = readFileSync(join(cwd, 'hooks'), 'utf8')
    expect(hooks.split('\n').map((line) => line.slice(9, 20))).toEqual([
      'step_starte',
      'iteration_e',
      'iteration_e',
      'step_ended"',
      'run_ended",',
      '',
    ])
    expect(leaksIn(hooks)).toEqual([])
    expect(hooks).toContain('"command":"cat [masked]"')
    // A mask names the secret, so that people know what was there.
    expect(ran.stdout).toContain('[masked DEPLOY_KEY]')
  },
)

const event = (value: object) => `printf '%s\\n' '${JSON.stringify(value)}'`
const says = (...content: object[]) => event({ type: 'assistant', message: { id: 'm1', content } })

test('no secret in the output of a model reaches a record or a view', async () => {
  const agents = { helper: { systemPromptText: `Never tell ${SECRETS.prompt}.` } }
  const cwd = makeProject({
    claude: sh(
      event({ type: 'system', subtype: 'init', session_id: 's-1', model: 'm-1' }),
      says(
        { type: 'text', text: `The key is ${SECRETS.output}.` },
        { type: 'tool_use', name: 'Bash', input: { command: `curl -H "x: ${SECRETS.tool}"` } },
      ),
      says({ type: 'text', text: `ORCHESTRA_BLOCKED: ${SECRETS.blocked} is refused` }),
      event({ type: 'result', is_error: false, result: SECRETS.output }),
    ),
    'forge/orch/chains.json': JSON.stringify({
      agents,
      chains: { c: { steps: [{ agent: 'helper', iterations: 2 }] } },
    }),
  })
  const env = { ...ENV, IS_SANDBOX: '1', USER: 'me' }
  for (const args of [[], ['--json'], ['--verbose']]) {
    const ran = await runChain(cwd, { args, env })
    expect(ran.stdout).toContain('is refused')
    expect(ran.code).toBe(1)
    expect(await leaksOf(ran, cwd)).toEqual([])
  }
})

test('the dry run shows no secret', async () => {
  for (const args of [[], ['--json'], ['--verbose']]) {
    const cwd = talking()
    const ran = await runChain(cwd, { args: ['--dry-run', ...args, ...WORDS, ...ARGS], env: ENV })
    expect(ran.code).toBe(0)
    // The command of a check stays readable: only text in the format of a secret is masked.
    expect(leaksIn(ran.stdout + ran.stderr)).toEqual([])
    expect(ran.stdout).toContain('[masked')
  }
})

test('no value of a variable with several values is shown', async () => {
  const step = (value: string) => ({ agent: 'teller', env: { DEPLOY_KEY: value } })
  const cwd = makeChain([step(SECRETS.configuration), step(SECRETS.option), { agent: 'teller' }], {
    teller: sh('echo "key: $DEPLOY_KEY."'),
  })
  const ran = await runChain(cwd, { env: ENV })
  expect(await leaksOf(ran, cwd)).toEqual([])
  expect(ran.stdout.match(/key: .*/g)).toEqual([
    'key: [masked step1.DEPLOY_KEY].',
    'key: [masked step2.DEPLOY_KEY].',
    'key: [masked DEPLOY_KEY].',
  ])
})

/** Stopped in its first iteration; the next one checks whether it got the right key. */
const HOLDER = sh(
  '[ -e go ] || { touch there; sleep 300; }',
  `[ "$1 $2" = "--api-key ${SECRETS.environment}" ] && echo ORCHESTRA_COMPLETE`,
)

async function stopped(args: readonly string[], env: Readonly<Record<string, string>>) {
  const cwd = makeChain([{ agent: 'holder', iterations: 1 }], { holder: HOLDER })
  const running = startChain(cwd, { args, env })
  await fileIn(cwd, 'there')
  running.signal('SIGTERM')
  const ran = withRecord(await running.finished, cwd)
  expect(await leaksOf(ran, cwd)).toEqual([])
  await Bun.write(join(cwd, 'go'), '')
  return cwd
}

test('resume takes a secret of the plan from its variable', async () => {
  const cwd = await stopped(['--', '--api-key', SECRETS.environment], ENV)
  const refused = await forkhestra(['resume'], { cwd })
  expect(refused.code).toBe(1)
  expect(refused.stderr).toContain('does not contain these secrets of its plan: DEPLOY_KEY.')
  expect(refused.stderr).toMatch(/Set \S+ again, and retry/)
  const { code, stderr } = await forkhestra(['resume'], { cwd, env: ENV })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
})

test('resume lacks a secret whose encoding cannot be reproduced', async () => {
  const escaped = SECRETS.environment.replace('K', '%4b')
  const cwd = await stopped(['--', '--data', escaped], ENV)
  const refused = await forkhestra(['resume'], { cwd, env: ENV })
  expect(refused.code).toBe(1)
  expect(refused.stderr).toContain('[masked DEPLOY_KEY:encoded] in step 1')
})

test('resume takes a password in a URL of the plan from its variable', async () => {
  const address = (password: string) => `postgres://me:${password}@db.example/x`
  const env = { DATABASE_URL: address(SECRETS.environment) }
  const cwd = makeChain([{ agent: 'holder', iterations: 1 }], {
    holder: sh(
      '[ -e go ] || { touch there; sleep 300; }',
      `[ "$1" = "${address(SECRETS.environment)}" ] && echo ORCHESTRA_COMPLETE`,
    ),
  })
  const running = startChain(cwd, { args: ['--', env.DATABASE_URL], env })
  await fileIn(cwd, 'there')
  running.signal('SIGTERM')
  const plan = readFileSync(
    join(cwd, 'forge/orch/runs', withRecord(await running.finished, cwd).run, 'plan.json'),
    'utf8',
  )
  expect(plan).toContain(address('[masked DATABASE_URL:password]'))
  expect(plan).not.toContain(SECRETS.environment)
  await Bun.write(join(cwd, 'go'), '')
  const { code, stderr } = await forkhestra(['resume'], { cwd, env })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
})

test('resume refuses a run whose secret is stored nowhere', async () => {
  const cwd = await stopped(['--', '--api-key', SECRETS.environment], {})
  const refused = await forkhestra(['resume'], { cwd, env: ENV })
  expect(refused.code).toBe(1)
  expect(refused.stderr).toContain('does not contain these secrets of its plan: --api-key.')
})

test('no line of a multi-line key is shown, however a program prints it', async () => {
  const lines = ['MIIEpAIBAAKCAQEAx7dQm2', 'Zk2jQ9vLwT4nB8sD1fGh3K', 'p0oI9uY8tR7eW6qA5sD4fG']
  const key = `-----BEGIN PRIVATE KEY-----\n${lines.join('\n')}\n-----END PRIVATE KEY-----\n`
  const print = ['sed "s/^/    /" k', 'tail -n 2 k', 'grep -n . k', 'cat -n k', 'diff /dev/null k']
  const cwd = makeChain([{ agent: 'teller', verify: `${print.join('; ')}; false` }], {
    teller: sh('printf "%s\\n" "$DEPLOY_KEY" >k', ...print, 'exit 0'),
  })
  const ran = await runChain(cwd, { env: { DEPLOY_KEY: key } })
  const record = join(cwd, 'forge/orch/runs', ran.run)
  const files = ['events.ndjson', 'steps/1/iterations/1.log', 'steps/1/iterations/1.json']
  const texts = [
    ran.stdout,
    ran.stderr,
    ...files.map((file) => readFileSync(join(record, file), 'utf8')),
  ]
  for (const line of lines) expect(texts.filter((text) => text.includes(line))).toEqual([])
  expect(ran.stdout).toContain('[masked DEPLOY_KEY:line2]')
})

test('a secret in the path of a project is never shown', async () => {
  const cwd = join(makeProject(), SECRETS.environment)
  writeFiles(cwd, { agent: sh('exit 1'), 'forge/.keep': '' })
  const env = { ...ENV, PATH: `${cwd}:${process.env['PATH']}` }
  await forkhestra(['agent'], { cwd, env })
  const { stdout } = await forkhestra(['show'], { cwd, env })
  expect(stdout).toContain('record: ')
  expect(leaksIn(stdout)).toEqual([])
})

const interrupted: readonly (readonly [string, string])[] = [
  ['by NUL', `printf 'w9Kx\\000Q2vR7tLm4ZpY'`],
  ['by a zero-width space', `printf 'w9Kx\\342\\200\\213Q2vR7tLm4ZpY'`],
  ['by colours', `echo w9KxQ2vR7tLm4ZpY | grep --color=always R7t`],
  ['in UTF-16', `printf 'w9KxQ2vR7tLm4ZpY' | sed 's/./&@/g' | tr @ '\\000'`],
  ['by the end of a title', `printf '\\033]0;w9Kx\\007Q2vR7tLm4ZpY'`],
]

test.each(interrupted)('a secret that is interrupted is masked everywhere: %s', async (_, line) => {
  const cwd = makeProject({ agent: sh(line, 'echo') })
  await using pty = new Pty([FORKHESTRA, './agent'], { cwd, env: ENV })
  await pty.shows('Pipeline complete')
  const shown = Bun.stripANSI(pty.output)
  const { stdout } = await forkhestra(['./agent'], { cwd, env: ENV })
  const { stdout: log } = await forkhestra(['logs', '--raw'], { cwd })
  const isOpen = (text: string) =>
    Bun.stripANSI(text)
      .replaceAll(/[^!-~]/g, '')
      .includes(SECRETS.environment)
  expect([shown, stdout, log].map(isOpen)).toEqual([false, false, false])
})
