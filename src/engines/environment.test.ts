import { expect, test } from 'bun:test'
import { makeAgentEnvironment } from './environment.ts'

const make = (outer: Record<string, string | undefined>) => makeAgentEnvironment(outer, '/own')

test('the environment of the user is handed on', () => {
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
])('%s would mislead an agent and is left out', (name) => {
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
])('%s stays', (name) => {
  expect(make({ [name]: 'kept' })[name]).toBe('kept')
})

test.each([
  [{ PATH: '/a:/b' }, '/a:/b'],
  [{ PATH: '' }, '/usr/local/bin:/usr/bin:/bin'],
  [{}, '/usr/local/bin:/usr/bin:/bin'],
])('with %j agents look through %s, and our own folder comes last', (outer, path) => {
  expect(make(outer)['PATH']).toBe(`${path}:/own`)
  expect(makeAgentEnvironment(outer, undefined)['PATH']).toBe(path)
})

test('a wish about background tasks is respected', () => {
  const name = 'CLAUDE_CODE_DISABLE_BACKGROUND_TASKS'
  expect(make({ [name]: '0' })[name]).toBe('0')
})

test('a variable that is not set does not become the text undefined', () => {
  expect(make({ NOT_SET: undefined })).not.toContainKey('NOT_SET')
})
