import { expect, test } from 'bun:test'
import { makeEnvironment, renderShellLine } from './environment.ts'

const URL = 'http://127.0.0.1:4000'

test('a command gets the address of the script and loses other providers', () => {
  const outer = {
    PATH: '/bin',
    ANTHROPIC_API_KEY: 'real',
    CLAUDE_CODE_OAUTH_TOKEN: 'real',
    CLAUDE_CODE_USE_BEDROCK: '1',
    CLAUDE_CODE_MAX_RETRIES: '3',
    NO_PROXY: 'example.com',
  }
  expect(makeEnvironment(URL, outer)).toEqual({
    PATH: '/bin',
    ANTHROPIC_BASE_URL: URL,
    FORKHESTRA_FAKE_MODEL: URL,
    ANTHROPIC_API_KEY: 'fake-key-for-a-scripted-model',
    NO_PROXY: 'example.com,127.0.0.1',
    no_proxy: 'example.com,127.0.0.1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    CLAUDE_CODE_MAX_RETRIES: '3',
  })
})

test('the shell line sets and unsets the same variables', () => {
  const outer = { CLAUDE_CODE_USE_VERTEX: '1', NO_PROXY: "it's" }
  const line = renderShellLine(URL, outer)
  const script = `${line}; echo "$ANTHROPIC_BASE_URL $NO_PROXY $CLAUDE_CODE_USE_VERTEX."`
  const { stdout } = Bun.spawnSync(['sh', '-c', script], { env: outer })
  expect(stdout.toString()).toBe(`${URL} it's,127.0.0.1 .\n`)
  expect(line).not.toContain('\n')
})
