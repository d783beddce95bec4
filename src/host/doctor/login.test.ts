import { expect, test } from 'bun:test'
import { makeProject, type Files } from '../../../tests/support/project.ts'
import { readFacts } from '../facts.ts'
import { checkLogin } from './access.ts'

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
  '%s is enough, and its value is not told',
  (name) => {
    const text = `${name} is set; not verified`
    expect(check({ [name]: SECRET })).toEqual(['ok', text])
    expect(check({ [name]: ' ' })[0]).toBe('problem')
  },
)

test.each(['CLAUDE_CODE_USE_BEDROCK', 'CLAUDE_CODE_USE_VERTEX', 'CLAUDE_CODE_USE_FOUNDRY'])(
  '%s is a login of another kind, unless it is switched off',
  (name) => {
    const text = `${name} is set; the login of that provider was not verified`
    for (const on of ['1', 'true', 'YES']) expect(check({ [name]: on })).toEqual(['ok', text])
    for (const off of ['0', 'no', '']) expect(check({ [name]: off })[0]).toBe('problem')
  },
)

test.each([
  ['that lasts', { expiresAt: NOW + 12 * HOUR }, 'ok', 'logged in'],
  [
    'that ends in the night',
    { expiresAt: NOW + 2 * HOUR },
    'warning',
    'logged in for 2 h more; the login cannot be renewed',
  ],
  [
    'that ends in the night and can be renewed',
    { expiresAt: NOW + 2 * HOUR, refreshToken: SECRET },
    'ok',
    'logged in',
  ],
  ['without an end', {}, 'ok', 'logged in'],
  ['that is over', { expiresAt: NOW }, 'problem', 'the login has expired'],
  [
    'that is over and can be renewed',
    { expiresAt: NOW - 1, refreshToken: SECRET },
    'ok',
    'logged in; claude will renew the login at its next start',
  ],
] as const)('a login %s is told as it is', (_, fields, state, text) => {
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
  ['a key of its own', { '.claude.json': `{"primaryApiKey":"${SECRET}"}` }],
])('%s are a login, too', (_, files) => {
  expect(check({}, files)[0]).toBe('ok')
})

test.each<[string, Files]>([
  ['nothing', {}],
  ['a file that is no JSON', { '.claude/.credentials.json': SECRET }],
  ['a list', { '.claude/.credentials.json': `["${SECRET}"]` }],
  ['null', { '.claude/.credentials.json': '{"claudeAiOauth":null}' }],
  ['a folder', { '.claude/.credentials.json/x': '' }],
])('%s is no login', (_, files) => {
  expect(check({}, files)[0]).toBe('problem')
})

test('on a Mac the login may be where nobody looks', () => {
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
    `configured in the settings of claude; ${BILLED}`,
  ],
])('a key beside a login by %s is a warning', (_, env, files, text) => {
  expect(check(env, files)).toEqual(['warning', text])
})

test('where a provider is switched on, nothing else is used', () => {
  const env = { CLAUDE_CODE_USE_BEDROCK: '1', ANTHROPIC_API_KEY: SECRET }
  expect(check(env, login({}))[0]).toBe('ok')
})

test('a token beside the login of the same kind is no matter', () => {
  expect(check({ CLAUDE_CODE_OAUTH_TOKEN: SECRET }, login({}))[0]).toBe('ok')
})
