import { expect, test } from 'bun:test'
import { makeProject, type Files } from '../../../tests/support/project.ts'
import { readFacts } from '../facts.ts'
import { checkLogin, checkNetwork } from './access.ts'

const SECRET = 'sk-ant-secret'
const NOW = 1_800_000_000_000
const HOUR = 3_600_000
const facts = readFacts({ PATH: '' })

function check(env: Record<string, string>, files: Files = {}, platform = 'linux') {
  const home = makeProject(files)
  const place = { cwd: home, env: { HOME: home, ...env }, facts, needsClaude: true }
  const found = checkLogin(place, NOW, platform)
  expect(JSON.stringify(found)).not.toContain(SECRET)
  return [found.state, found.text] as const
}

const login = (fields: object) => ({
  '.claude/.credentials.json': JSON.stringify({
    claudeAiOauth: { accessToken: SECRET, ...fields },
  }),
})

test.each(['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN'])(
  '%s is enough, and its value is not shown',
  (name) => {
    const text = `${name} is set; not verified`
    expect(check({ [name]: SECRET })).toEqual(['ok', text])
    expect(check({ [name]: ' ' })[0]).toBe('problem')
  },
)

test.each(['CLAUDE_CODE_USE_BEDROCK', 'CLAUDE_CODE_USE_VERTEX', 'CLAUDE_CODE_USE_FOUNDRY'])(
  '%s is a login, unless it is switched off',
  (name) => {
    const text = `${name} is set; the login of that provider was not verified`
    for (const on of ['1', 'true', 'YES']) expect(check({ [name]: on })).toEqual(['ok', text])
    for (const off of ['0', 'no', '']) expect(check({ [name]: off })[0]).toBe('problem')
  },
)

test.each([
  ['that lasts', { expiresAt: NOW + 12 * HOUR }, 'ok', 'logged in'],
  [
    'that expires soon',
    { expiresAt: NOW + 2 * HOUR },
    'warning',
    'logged in for 2 h more; the login cannot be renewed',
  ],
  [
    'that expires soon and can be renewed',
    { expiresAt: NOW + 2 * HOUR, refreshToken: SECRET },
    'ok',
    'logged in',
  ],
  ['that never expires', {}, 'ok', 'logged in'],
  ['that has expired', { expiresAt: NOW }, 'problem', 'the login has expired'],
  [
    'that has expired and can be renewed',
    { expiresAt: NOW - 1, refreshToken: SECRET },
    'ok',
    'logged in; claude will renew the login at its next start',
  ],
] as const)('a login %s', (_, fields, state, text) => {
  expect(check({}, login(fields))).toEqual([state, text])
})

test('CLAUDE_CONFIG_DIR moves the login', () => {
  const other = makeProject({ '.credentials.json': login({})['.claude/.credentials.json'] })
  expect(check({ CLAUDE_CONFIG_DIR: other })[0]).toBe('ok')
  expect(check({ CLAUDE_CONFIG_DIR: makeProject() }, login({}))[0]).toBe('problem')
})

test.each<[string, Files]>([
  ['settings with a key', { '.claude/settings.json': `{"env":{"ANTHROPIC_API_KEY":"${SECRET}"}}` }],
  [
    'settings with a provider',
    { '.claude/settings.json': '{"env":{"CLAUDE_CODE_USE_BEDROCK":"1"}}' },
  ],
  ['settings with a helper', { '.claude/settings.json': '{"apiKeyHelper":"/bin/key"}' }],
  ['a separate key', { '.claude.json': `{"primaryApiKey":"${SECRET}"}` }],
])('%s: a login', (_, files) => {
  expect(check({}, files)[0]).toBe('ok')
})

test.each<[string, Files]>([
  ['nothing', {}],
  ['a file that is not JSON', { '.claude/.credentials.json': SECRET }],
  ['a list', { '.claude/.credentials.json': `["${SECRET}"]` }],
  ['null', { '.claude/.credentials.json': '{"claudeAiOauth":null}' }],
  ['a folder', { '.claude/.credentials.json/x': '' }],
])('%s is not a login', (_, files) => {
  expect(check({}, files)[0]).toBe('problem')
})

test('on a Mac the login may be in the keychain', () => {
  expect(check({}, {}, 'darwin')[0]).toBe('warning')
})

const BILLED = 'a login exists too, but claude uses the key, which is billed'

test.each<[string, Record<string, string>, Files, string]>([
  ['a file', { ANTHROPIC_API_KEY: SECRET }, login({}), `ANTHROPIC_API_KEY is set; ${BILLED}`],
  [
    'a token',
    { ANTHROPIC_AUTH_TOKEN: SECRET, CLAUDE_CODE_OAUTH_TOKEN: SECRET },
    {},
    `ANTHROPIC_AUTH_TOKEN is set; ${BILLED}`,
  ],
  [
    'a file, and the key is in the settings',
    {},
    { ...login({}), '.claude/settings.json': `{"env":{"ANTHROPIC_API_KEY":"${SECRET}"}}` },
    `configured in the claude settings; ${BILLED}`,
  ],
])('a key beside a login by %s is a warning', (_, env, files, text) => {
  expect(check(env, files)).toEqual(['warning', text])
})

test('an enabled provider is used before anything else', () => {
  const env = { CLAUDE_CODE_USE_BEDROCK: '1', ANTHROPIC_API_KEY: SECRET }
  expect(check(env, login({}))[0]).toBe('ok')
})

test('a token next to a login of the same kind is fine', () => {
  expect(check({ CLAUDE_CODE_OAUTH_TOKEN: SECRET }, login({}))[0]).toBe('ok')
})

const checkAddresses = (env: Record<string, string>) =>
  checkNetwork({ cwd: '/', env, facts, needsClaude: true })

test('only the host of an address is shown', () => {
  const env = {
    ANTHROPIC_BASE_URL: 'https://me:secret@gateway.example:8443/secret/v1?key=secret',
    https_proxy: 'me:secret@proxy.example:3128',
    HTTP_PROXY: ' ',
  }
  expect(checkAddresses(env)).toEqual({
    name: 'network',
    state: 'ok',
    text: [
      'ANTHROPIC_BASE_URL is https://gateway.example:8443',
      'https_proxy is http://proxy.example:3128',
    ].join('\n'),
  })
})

test('the settings of claude win over the environment', () => {
  const settings = { env: { ANTHROPIC_BASE_URL: 'http://secret@127.0.0.1:8080', HTTPS_PROXY: 1 } }
  const HOME = makeProject({ '.claude/settings.json': JSON.stringify(settings) })
  expect(checkAddresses({ HOME, ANTHROPIC_BASE_URL: 'https://other.example' })).toMatchObject({
    state: 'ok',
    text: 'ANTHROPIC_BASE_URL in the claude settings is http://127.0.0.1:8080',
  })
})

test.each(['secret', 'https://', 'gateway.example/secret', 'https://me:secret@'])(
  '%s is not an address, and is not shown',
  (ANTHROPIC_BASE_URL) => {
    const found = checkAddresses({ ANTHROPIC_BASE_URL })
    expect(found).toMatchObject({
      state: 'problem',
      text: 'ANTHROPIC_BASE_URL is not a valid address',
    })
    expect(JSON.stringify(found)).not.toContain('secret')
  },
)
