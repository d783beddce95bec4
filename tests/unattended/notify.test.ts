import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventSchema } from '../../src/records/events/schema.ts'
import { makeChain, runChain, startChain } from '../support/chains.ts'
import { FORKHESTRA, forkhestra, type Finished, type Running } from '../support/forkhestra.ts'
import { makeProject, sh, writeFiles } from '../support/project.ts'
import { Pty } from '../support/pty.ts'
import { fileIn, until } from '../support/until.ts'
import { Webhooks } from '../support/webhook.ts'

/** Invented, in the form of a real one. */
const KEY = 'sk-ant-api03-Aa1Bb2Cc3Dd4Ee5Ff6Gg7'
/** The secret part of all webhooks. */
const TOKEN = 'T0KENwhichNobodyMaySee'
const HOSTILE = `<!channel> @everyone [open](https://evil.example) ${KEY}`
const blocker = (words: string) => sh(`echo 'ORCHESTRA_BLOCKED: ${words}'`)
const DONE = sh('echo ORCHESTRA_COMPLETE')
const ONCE = [{ agent: 'a', iterations: 2 }]

const kindsIn = (messages: readonly Record<string, unknown>[]) =>
  messages.map(({ notice }) => (notice as { kind: string }).kind)

/** Presses Ctrl-C twice, unless the program has already ended. */
async function stopNow(running: Running): Promise<Finished> {
  running.signal('SIGINT')
  await running.warned('stopping').catch(() => undefined)
  running.signal('SIGINT')
  return running.finished
}

describe('the end of a run', () => {
  test('reaches every recipient, whatever happens to the others', async () => {
    await using webhooks = new Webhooks()
    const url = (path: string) => webhooks.url(`${path}/${TOKEN}`)
    const notify = [
      { url: url('broken') },
      { url: url('moved') },
      { url: `http://127.0.0.1:1/${TOKEN}` },
      { urlEnv: 'NOT_SET' },
      { url: url('json') },
      { urlEnv: 'TEAM_HOOK', format: 'slack' },
      { url: url('discord'), format: 'discord' },
      { url: webhooks.url(TOKEN), format: 'ntfy' },
      { command: 'cat >got.json; sleep 300 & exit 3' },
    ]
    const cwd = makeChain(ONCE, { a: blocker(HOSTILE) }, { notify, maxDuration: '2h' })
    const began = performance.now()
    const ran = await runChain(cwd, { env: { TEAM_HOOK: url('slack') } })
    expect(ran.code).toBe(1)
    expect(performance.now() - began).toBeLessThan(20_000)

    const [json] = webhooks.messagesTo(`json/${TOKEN}`)
    const reason = `blocked: ${HOSTILE.replace(KEY, '[masked]')}`
    const resume = `forkhestra resume ${ran.run} --cwd ${cwd}`
    expect(json).toMatchObject({
      type: 'run_ended',
      run: ran.run,
      ok: false,
      notice: {
        kind: 'blocked',
        project: cwd,
        chain: 'c',
        step: { number: 1, agent: 'a' },
        reason,
        next: resume,
        spent: { iterations: 1, costUsd: 0 },
      },
    })
    const { text } = json!['notice'] as { readonly text: string }
    expect(text).toMatch(
      new RegExp(
        `^Project: .*\nRun: ${ran.run} \\(chain c\\)\nStep: 1 \\(a\\), iteration 1/2\nReason: .*\nSpent: .*, 1 iteration \\(budget: 2 h\\)\nTo resume: .*$`,
      ),
    )
    expect(eventSchema.parse(json)).toEqual(json as never)
    expect(JSON.parse(readFileSync(join(cwd, 'got.json'), 'utf8'))).toEqual(json)

    const [slack, discord, ntfy] = [`slack/${TOKEN}`, `discord/${TOKEN}`, ''].map((path) =>
      JSON.stringify(webhooks.messagesTo(path)),
    )
    expect(slack).toContain('"type":"plain_text"')
    expect(slack).toContain('&lt;!channel&gt;')
    expect(slack).not.toContain('<!')
    expect(discord).toContain('"allowed_mentions":{"parse":[]}')
    expect(discord).not.toMatch(/[^\\]@everyone|[^\\]\[open/)
    expect(ntfy).toContain(`"topic":"${TOKEN}"`)

    expect(webhooks.sentTo(`broken/${TOKEN}`)).toHaveLength(3)
    expect(webhooks.sentTo(`moved/${TOKEN}`)).toHaveLength(3)
    expect(webhooks.messagesTo('elsewhere')).toEqual([])
    const warnings = ran.stderr.split('\n').filter((line) => line.includes('Warning: '))
    expect(warnings.map((line) => line.slice('[forkhestra] Warning: '.length)).toSorted()).toEqual(
      [
        'could not notify 127.0.0.1:1: cannot connect (ECONNREFUSED), in 3 attempts',
        `could not notify ${webhooks.host}: HTTP 307 (redirects are not followed), in 3 attempts`,
        `could not notify ${webhooks.host}: HTTP 500, in 3 attempts`,
        'could not notify cat >got.json; sleep 300 & exit 3: exit 3',
        'nothing is sent to $NOT_SET: the variable is not set',
      ].toSorted(),
    )
    expect(JSON.stringify(webhooks.received.map(({ body }) => body))).not.toContain(KEY)
  })

  test('is not delayed by a webhook that does not answer, and Ctrl-C ends the wait', async () => {
    await using webhooks = new Webhooks()
    const notify = [{ url: webhooks.url('hangs') }]
    const running = startChain(makeChain(ONCE, { a: DONE }, { notify }))
    await running.printed('Chain complete')
    await until(() => webhooks.received.length > 0)
    const { stderr } = await stopNow(running)
    expect(stderr).toContain(`could not notify ${webhooks.host}: the run was stopped`)
  })
})

test('waits, blocked agents and half of the budget are reported while the run continues', async () => {
  await using webhooks = new Webhooks()
  const result = (costUsd: number) =>
    `echo '${JSON.stringify({ type: 'result', is_error: false, result: 'x', total_cost_usd: costUsd })}'`
  const cwd = makeProject({
    claude: sh(result(0.6)),
    busy: sh('[ -e tried ] && exit', 'touch tried', 'echo "API Error: 529 Overloaded"', 'exit 1'),
    asker: blocker('which database?'),
    'forge/orch/chains.json': JSON.stringify({
      notify: [
        { url: webhooks.url('all'), minWait: '1ms' },
        { url: webhooks.url('hangs') },
        { url: webhooks.url('end'), on: ['end'] },
        {
          command: 'cat >/dev/null; [ -e tried ] && touch started && sleep 300',
          on: ['wait'],
          minWait: '1ms',
        },
      ],
      agents: { helper: { systemPromptText: 'Help.' } },
      chains: {
        c: {
          maxCostUsd: 1,
          steps: [
            { agent: 'busy', retry: { attempts: 2, backoff: '1s' } },
            { name: 'ask', agent: 'asker', onFail: 'continue' },
            { agent: 'helper' },
            { agent: 'end' },
          ],
        },
      },
    }),
    // The command of the first notification is still running.
    end: sh('while [ ! -e started ]; do sleep 0.01; done'),
  })
  const running = startChain(cwd, { env: { IS_SANDBOX: '1', USER: 'me' } })
  await running.printed('Pipeline incomplete')
  expect(running.stdout + running.stderr).not.toContain('leftover')
  await until(
    () => webhooks.messagesTo('all').length === 4 && webhooks.messagesTo('end').length === 1,
  )
  await stopNow(running)
  const messages = webhooks.messagesTo('all')
  expect(kindsIn(messages)).toEqual(['wait', 'blocked', 'budget', 'blocked'])
  expect(kindsIn(webhooks.messagesTo('end'))).toEqual(['blocked'])
  const notices = messages.map(({ notice }) => notice as Record<string, unknown>)
  expect(notices.map(({ reason }) => reason)).toEqual([
    'API Error: 529 Overloaded',
    'which database?',
    'over half of the budget is spent',
    'blocked: which database?',
  ])
  expect(notices[0]?.['next']).toStartWith('forkhestra retry-now ')
  expect(notices[1]).toMatchObject({ step: { number: 2, agent: 'asker', name: 'ask' } })
  expect(notices[1]?.['text']).toMatch(
    /\nTo resume when the run has ended: forkhestra resume \S+ --cwd \S+$/,
  )
  expect(notices[2]?.['spent']).toMatchObject({ costUsd: 0.6 })
})

test('the URL of a webhook is in no output and no record', async () => {
  await using webhooks = new Webhooks()
  const [own, other] = [webhooks.url(`own/${TOKEN}`), webhooks.url(`other/${TOKEN}`)]
  const fromVariable = webhooks.url(`variable/${TOKEN}`)
  const files = {
    a: sh(`echo "$HOOK ${own} POST /own/${TOKEN} HTTP/1.1"`, 'echo ORCHESTRA_COMPLETE'),
    'forge/orch/chains.json': JSON.stringify({
      notify: [{ url: own }, { urlEnv: 'HOOK' }],
      chains: { c: { steps: ONCE }, d: { steps: ONCE, notify: [{ url: other }] } },
    }),
  }
  const env = { HOOK: fromVariable }
  const cwd = makeProject(files)
  const ran = await runChain(cwd, { args: ['--verbose'], env })
  const shown = [ran.stdout, ran.stderr, JSON.stringify(ran.events)]
  for (const args of [
    ['--chain', 'c', '--dry-run', '--json'],
    ['--chain', 'c', '--dry-run'],
    ['--chain', 'c', '--json'],
    ['show', '--json'],
    ['logs', '--raw'],
    ['validate', '--json'],
    ['list', '--json'],
  ]) {
    const { stdout, stderr } = await forkhestra(args, { cwd, env })
    shown.push(stdout, stderr)
  }
  expect(shown.filter((text) => text.includes(TOKEN))).toEqual([])
  expect(ran.stdout).toContain('[masked ')
  expect(shown.join('')).toContain(`notify: ${webhooks.host}; $HOOK\n`)
  const place = join(cwd, 'forge/orch/runs', ran.run)
  for (const file of ['plan.json', 'events.ndjson', 'steps/1/iterations/1.log'])
    expect(readFileSync(join(place, file), 'utf8')).not.toContain(TOKEN)
  // The dry runs have sent nothing.
  expect(webhooks.messagesTo(`own/${TOKEN}`)).toHaveLength(2)
  expect(webhooks.messagesTo(`variable/${TOKEN}`)).toHaveLength(2)
})

test('a host that is a secret itself is not shown either', async () => {
  const host = 'h0st-that-is-a-secret.example.invalid'
  // Nothing is sent.
  const notify = [{ url: `https://${host}/`, on: ['wait'] }]
  const cwd = makeChain(ONCE, { a: sh(`echo to ${host}`, 'echo ORCHESTRA_COMPLETE') }, { notify })
  const { stdout, events } = await runChain(cwd)
  const dry = await runChain(cwd, { args: ['--dry-run'] })
  expect(`${stdout}${dry.stdout}${JSON.stringify(events)}`).not.toContain('h0st')
  expect(dry.stdout).toContain('notify: ….example.invalid (wait)\n')
})

describe('a resumed run', () => {
  const stoppedOnce = async (notify: readonly object[], args: readonly string[] = [], env = {}) => {
    const agent = sh(
      'echo "$@" >>args',
      '[ -e go ] && echo ORCHESTRA_COMPLETE && exit',
      'touch there',
      'sleep 300',
    )
    const cwd = makeChain(ONCE, { a: agent }, { notify })
    const running = startChain(cwd, { args, env })
    await fileIn(cwd, 'there')
    process.kill(running.pid, 'SIGKILL')
    await running.finished
    writeFiles(cwd, { go: '' })
    return cwd
  }
  const resume = (cwd: string, ...args: string[]) =>
    forkhestra(['resume', '--kill-orphans', ...args], { cwd })

  test('notifies as before', async () => {
    await using webhooks = new Webhooks()
    const cwd = await stoppedOnce([{ url: webhooks.url(`json/${TOKEN}`) }])
    expect((await resume(cwd)).code).toBe(0)
    expect(kindsIn(webhooks.messagesTo(`json/${TOKEN}`))).toEqual(['end'])
    // There is nothing left to resume.
    await resume(cwd)
    expect(webhooks.messagesTo(`json/${TOKEN}`)).toHaveLength(1)
  })

  test('sends nothing to a URL that the configuration got since', async () => {
    await using webhooks = new Webhooks()
    const cwd = await stoppedOnce([{ url: webhooks.url('before') }])
    const path = join(cwd, 'forge/orch/chains.json')
    writeFiles(cwd, {
      'forge/orch/chains.json': readFileSync(path, 'utf8').replace('/before', '/after'),
    })
    const { code, stderr } = await resume(cwd)
    expect(code).toBe(0)
    expect(stderr).toContain('Warning: some notifications are off, because the record')
    expect(webhooks.received).toEqual([])
  })

  test('knows the URL of a webhook in the rest of its plan, too', async () => {
    await using webhooks = new Webhooks()
    const env = { HOOK: webhooks.url(`variable/${TOKEN}`) }
    const cwd = await stoppedOnce([], ['--notify', 'env:HOOK', '--', '--to', env.HOOK], env)
    const { code, stderr } = await forkhestra(['resume', '--kill-orphans'], { cwd, env })
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.not.stringContaining('secret') })
    expect(kindsIn(webhooks.messagesTo(`variable/${TOKEN}`))).toEqual(['end'])
    expect(readFileSync(join(cwd, 'args'), 'utf8')).toBe(`--to ${env.HOOK}\n`.repeat(2))
  })

  test('needs a URL of the command line again', async () => {
    await using webhooks = new Webhooks()
    const args = ['--notify', webhooks.url(`typed/${TOKEN}`)]
    const cwd = await stoppedOnce([], args)
    const { code, stderr } = await resume(cwd, ...args)
    expect(code).toBe(0)
    expect(stderr).not.toContain('notifications are off')
    expect(kindsIn(webhooks.messagesTo(`typed/${TOKEN}`))).toEqual(['end'])
  })

  test('of another machine is refused and sends nothing', async () => {
    await using webhooks = new Webhooks()
    const cwd = await stoppedOnce([{ urlEnv: 'HOOK' }, { command: 'touch sent' }])
    const env = { HOOK: webhooks.url('json'), XDG_STATE_HOME: join(cwd, '.other') }
    const { code } = await forkhestra(['resume', '--kill-orphans'], { cwd, env })
    expect(code).not.toBe(0)
    expect(webhooks.received).toEqual([])
    expect(existsSync(join(cwd, 'sent'))).toBe(false)
    await resume(cwd)
    expect(existsSync(join(cwd, 'sent'))).toBe(true)
  })
})

test('--notify replaces the configuration, and a run in a run notifies nobody', async () => {
  const notify = [{ command: 'touch configured' }]
  const inner = `${FORKHESTRA} ./inner --notify "touch inner-sent"`
  const files = { a: sh(inner, 'echo ORCHESTRA_COMPLETE'), inner: sh('true') }
  const cwd = makeChain(ONCE, files, { notify })
  expect((await runChain(cwd, { args: ['--notify', 'off'] })).code).toBe(0)
  expect(existsSync(join(cwd, 'configured'))).toBe(false)
  const args = ['--notify', 'touch one', '--notify', 'touch two']
  const ran = await runChain(cwd, { args })
  expect(ran.stderr).toBe('')
  const made = ['one', 'two', 'configured', 'inner-sent'].filter((name) =>
    existsSync(join(cwd, name)),
  )
  expect(made).toEqual(['one', 'two'])
})

test('the desktop and the bell', async () => {
  const cwd = makeProject({
    a: blocker('a <b>bold</b> question'),
    'notify-send': sh('printf "%s\\n" "$@" >shown'),
  })
  await using pty = new Pty([FORKHESTRA, './a:2', '--notify', 'bell', '--notify', 'desktop'], {
    cwd,
  })
  await pty.shows('Chain incomplete')
  expect(await pty.exited).toBe(1)
  expect(pty.output).toContain('\u0007')
  const shown = readFileSync(join(cwd, 'shown'), 'utf8')
  expect(shown).toMatch(/^--app-name=forkhestra\n--\n\S+: blocked at step 1 \(\.\/a\)\nProject: /)
  expect(shown).toContain('Reason: blocked: a &lt;b&gt;bold&lt;/b&gt; question\n')
  const { stdout } = await forkhestra(['./a', '--notify', 'bell'], { cwd })
  expect(stdout).not.toContain('\u0007')
})

test.each([
  [[{ url: `hooks.slack.com/${TOKEN}` }], 'notify[0].url is a string, expected a URL'],
  [`https://hooks.slack.com/${TOKEN}`, 'notify is a string, expected a list'],
  [[{ urlEnv: `https://x/${TOKEN}` }], 'notify[0].urlEnv is a string, expected the name of an'],
  [[{ to: 'slack' }], 'notify[0].to is "slack", expected "desktop" or "bell"'],
  [[{ on: ['end'] }], 'notify[0] is an object, expected exactly one of "to", "url", "urlEnv"'],
  [[{ to: 'bell', format: 'slack' }], 'notify[0].format is "slack", expected no value'],
  [[{ to: 'bell', on: ['ends'] }], 'notify[0].on[0] is "ends", expected "end", "wait", "blocked"'],
])('a mistake in the configuration is refused, without its URL: %j', async (notify, message) => {
  const cwd = makeProject({ 'forge/orch/chains.json': JSON.stringify({ notify, chains: {} }) })
  const { code, stdout, stderr } = await forkhestra(['validate'], { cwd })
  expect(code).toBe(2)
  expect(stderr).toContain(message)
  expect(stdout + stderr).not.toContain(TOKEN)
})
