import { expect, test } from 'bun:test'
import { makeAgentEnvironment } from './environment.ts'

const make = (outer: Record<string, string | undefined>) => makeAgentEnvironment(outer, '/own')

test('the environment of the user is passed on', () => {
  expect(make({ HOME: '/home/me', LANG: 'de_DE.UTF-8', EMPTY: '', PATH: '/usr/bin' })).toEqual({
    HOME: '/home/me',
    LANG: 'de_DE.UTF-8',
    EMPTY: '',
    PATH: '/usr/bin:/own',
    CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1',
  })
})

test.each([
  'CLAUDECODE',
  'CLAUDE_CODE_ENTRYPOINT',
  'CLAUDE_CODE_SSE_PORT',
  'CODEX_SANDBOX',
  'GEMINI_CLI',
  'CURSOR_AGENT',
  'BUN_OPTIONS',
  'BUN_BE_BUN',
])('%s is removed', (name) => {
  expect(make({ [name]: '1' })).not.toContainKey(name)
})

test.each([
  'ANTHROPIC_API_KEY',
  'CLAUDE_CODE_OAUTH_TOKEN',
  'CLAUDE_CODE_USE_BEDROCK',
  'CLAUDE_CODE_USE_VERTEX',
  'CLAUDE_CONFIG_DIR',
  'OPENAI_API_KEY',
  'IS_SANDBOX',
  'FORKHESTRA_RUN_PATH',
  'BUN_INSTALL',
])('%s is kept', (name) => {
  expect(make({ [name]: 'kept' })[name]).toBe('kept')
})

test.each([
  [{ PATH: '/a:/b' }, '/a:/b'],
  [{ PATH: '' }, '/usr/local/bin:/usr/bin:/bin'],
  [{}, '/usr/local/bin:/usr/bin:/bin'],
])('with %j the PATH of agents is %s, our own folder last', (outer, path) => {
  expect(make(outer)['PATH']).toBe(`${path}:/own`)
  expect(makeAgentEnvironment(outer, undefined)['PATH']).toBe(path)
})

test('a setting for background tasks is kept', () => {
  const name = 'CLAUDE_CODE_DISABLE_BACKGROUND_TASKS'
  expect(make({ [name]: '0' })[name]).toBe('0')
})

test('an unset variable is not passed on', () => {
  expect(make({ NOT_SET: undefined })).not.toContainKey('NOT_SET')
})
