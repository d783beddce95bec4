import { expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra } from '../../support/forkhestra.ts'
import { makeProject, sh } from '../../support/project.ts'
import { runsOf } from '../../support/record.ts'

const TOKEN = 'tok-48151623427281828'
const OTHER = 'tok-31415926535897932'

function read(cwd: string, name: string): string {
  return readFileSync(join(cwd, name), 'utf8')
}

function recordOf(cwd: string): string {
  return join(cwd, 'forge/orch/runs', runsOf(cwd)[0]!)
}

/** Files of the record that contain a text. */
function filesWith(cwd: string, text: string): string {
  return Bun.spawnSync(['grep', '-rla', text, recordOf(cwd)]).stdout.toString()
}

test('secrets that only a sub-agent has are masked in its output', async () => {
  const agents = { './helper': { env: { API_TOKEN: TOKEN } } }
  const prompt = '/push name=one agent=./helper "x"\n/run\nGo.'
  const chains = { work: { steps: [{ agent: './lead', prompt }] } }
  const cwd = makeProject({
    lead: sh('forkhestra receive > got'),
    helper: sh('echo "the token is $API_TOKEN"'),
    'forge/orch/chains.json': JSON.stringify({ agents, chains }),
  })
  const { code, stdout } = await forkhestra(['--chain', 'work', '-v'], { cwd })
  expect(code).toBe(0)
  // Another agent, and the environment, may have another value under the same name.
  const masked = '[masked ./helper.API_TOKEN]'
  expect(stdout).toContain(`one | the token is ${masked}`)
  expect(read(recordOf(cwd), 'tasks/one.1.log')).toBe(`the token is ${masked}\n`)
  expect(read(cwd, 'got')).toContain(masked)
  expect(filesWith(cwd, TOKEN)).toBe('')
})

test('secrets of a step are masked even if an agent has the same name', async () => {
  const agents = { step1: { env: { API_TOKEN: OTHER } } }
  const steps = [{ agent: './lead', env: { API_TOKEN: TOKEN } }]
  const cwd = makeProject({
    lead: sh('echo "the token is $API_TOKEN"'),
    'forge/orch/chains.json': JSON.stringify({ agents, chains: { work: { steps } } }),
  })
  const { stdout } = await forkhestra(['--chain', 'work'], { cwd })
  expect(stdout).toContain('the token is [masked')
  expect(filesWith(cwd, TOKEN)).toBe('')
})

test('run-queue uses the secrets of the configuration, not their masks', async () => {
  const steps = [{ agent: './lead', prompt: 'x\n/push name=one "x"', env: { API_TOKEN: TOKEN } }]
  const cwd = makeProject({
    lead: sh('[ $FORKHESTRA_AGENT_NAME = main ] || echo "$API_TOKEN" > seen'),
    'forge/orch/chains.json': JSON.stringify({ chains: { work: { steps } } }),
  })
  expect((await forkhestra(['--chain', 'work'], { cwd })).code).toBe(0)
  // The environment has another value under the same name.
  const later = await forkhestra(['run-queue'], { cwd, env: { API_TOKEN: OTHER } })
  expect(later.code).toBe(0)
  expect(read(cwd, 'seen')).toBe(`${TOKEN}\n`)
})

test('secrets of the configuration are masked in displayed prompts and messages', async () => {
  const lead = sh(
    'forkhestra push name=later agent=./helper "connect with $DB_PASSWORD and $OTHER_TOKEN"',
    'forkhestra push name=teller agent=./helper "x" && forkhestra run-queue',
    'forkhestra receive --from teller',
    'forkhestra send main "it is $DB_PASSWORD"',
  )
  const agents = { './helper': { env: { OTHER_TOKEN: OTHER } } }
  const env = { DB_PASSWORD: TOKEN, OTHER_TOKEN: OTHER }
  const chains = { work: { steps: [{ agent: './lead', env }] } }
  const config = JSON.stringify({ agents, chains })
  const cwd = makeProject({ lead, helper: sh('echo ok'), 'forge/orch/chains.json': config })
  expect((await forkhestra(['--chain', 'work'], { cwd })).code).toBe(0)
  const ask = async (...words: string[]) => (await forkhestra(words, { cwd })).stdout
  for (const shown of [await ask('queue'), await ask('queue', '--all', '--json')]) {
    expect(shown).toContain('connect with [masked step1.DB_PASSWORD]')
  }
  const shown = await ask('check', '--json')
  expect(shown).toContain('it is [masked step1.DB_PASSWORD]')
  // Secrets of a changed configuration are masked as well.
  const changed = JSON.stringify({ agents: {}, chains: { ...chains, more: chains.work } })
  writeFileSync(join(cwd, 'forge/orch/chains.json'), changed)
  const said = [shown, await ask('queue'), await ask('queue', '--json')].join('\n')
  expect(said).not.toContain(TOKEN)
  expect(said).not.toContain(OTHER)
})

test('agents get prompts and messages unmasked', async () => {
  const lead = sh(
    'forkhestra send main "it is $DB_PASSWORD"',
    'forkhestra check > got',
    'forkhestra push name=one agent=./helper "use $DB_PASSWORD" && forkhestra run-queue',
  )
  const steps = [{ agent: './lead', env: { DB_PASSWORD: TOKEN } }]
  const config = JSON.stringify({ chains: { work: { steps } } })
  const files = { lead, helper: sh('echo "$1" > prompt'), 'forge/orch/chains.json': config }
  const cwd = makeProject(files)
  await forkhestra(['--chain', 'work'], { cwd })
  expect(read(cwd, 'got')).toBe(`[main] it is ${TOKEN}\n`)
  expect(read(cwd, 'prompt')).toBe(`use ${TOKEN}\n`)
})

test('no part of a secret that is cut off at the end of a long prompt is shown', async () => {
  const lead = sh(`forkhestra push name=one "${'x'.repeat(190)}$DB_PASSWORD"`)
  const steps = [{ agent: './lead', env: { DB_PASSWORD: TOKEN } }]
  const config = JSON.stringify({ chains: { work: { steps } } })
  const cwd = makeProject({ lead, 'forge/orch/chains.json': config })
  await forkhestra(['--chain', 'work'], { cwd })
  const { stdout } = await forkhestra(['queue', '--json'], { cwd })
  expect(stdout).toContain('xxx')
  expect(stdout).not.toContain(TOKEN.slice(0, 5))
})

test('a task name that contains a secret is refused and never recorded', async () => {
  const cwd = makeProject({ 'forge/x': '' })
  const env = { SERVICE_TOKEN: TOKEN }
  const refused = await forkhestra(['push', '--name', `x-${TOKEN}`, 'Do it'], { cwd, env })
  expect(refused).toMatchObject({ code: 2, stdout: '' })
  expect(refused.stderr).toBe(
    '[forkhestra] Error: The name of the task contains a secret.\n' +
      '  Use another name: names are shown and recorded as they are.\n',
  )
  expect(filesWith(cwd, TOKEN)).toBe('')
})

test.each([
  ['an agent', 'forkhestra push name=x-$DB_PASSWORD "echo" 2> refused', ''],
  ['a prompt', 'true', `/push name=x-${TOKEN} "echo"\n/run\n`],
])(
  'a secret of the configuration in the name that %s gives a task is refused',
  async (_, script, setup) => {
    const steps = [{ agent: './lead', env: { DB_PASSWORD: TOKEN }, promptFile: 'prompt.md' }]
    const config = JSON.stringify({ chains: { work: { steps } } })
    const files = { lead: sh(script), 'prompt.md': `${setup}Go.`, 'forge/orch/chains.json': config }
    const cwd = makeProject(files)
    const { code, stdout, stderr } = await forkhestra(['--chain', 'work', '-v'], { cwd })
    expect(code).not.toBe(0)
    expect(stdout + stderr).not.toContain(TOKEN)
    expect(filesWith(cwd, TOKEN)).toBe('')
  },
)
