import { expect, test } from 'bun:test'
import { makeProject } from '../../../tests/support/project.ts'
import { readFacts } from '../facts.ts'
import { checkNetwork } from './access.ts'

const facts = readFacts({ PATH: '' })
const check = (env: Record<string, string>) =>
  checkNetwork({ cwd: '/', env, facts, needsClaude: true })

test('addresses are told by their host alone', () => {
  const env = {
    ANTHROPIC_BASE_URL: 'https://me:secret@gateway.example:8443/secret/v1?key=secret',
    https_proxy: 'me:secret@proxy.example:3128',
    HTTP_PROXY: ' ',
  }
  expect(check(env)).toEqual({
    name: 'network',
    state: 'ok',
    text: [
      'ANTHROPIC_BASE_URL is https://gateway.example:8443',
      'https_proxy is http://proxy.example:3128',
    ].join('\n'),
  })
})

test('the settings of claude come before the environment', () => {
  const settings = { env: { ANTHROPIC_BASE_URL: 'http://secret@127.0.0.1:8080', HTTPS_PROXY: 1 } }
  const HOME = makeProject({ '.claude/settings.json': JSON.stringify(settings) })
  expect(check({ HOME, ANTHROPIC_BASE_URL: 'https://other.example' })).toMatchObject({
    state: 'ok',
    text: 'ANTHROPIC_BASE_URL in the settings of claude is http://127.0.0.1:8080',
  })
})

test.each(['secret', 'https://', 'gateway.example/secret', 'https://me:secret@'])(
  '%s is no address, and is not told',
  (ANTHROPIC_BASE_URL) => {
    const found = check({ ANTHROPIC_BASE_URL })
    expect(found).toMatchObject({
      state: 'problem',
      text: 'ANTHROPIC_BASE_URL is not a valid address',
    })
    expect(JSON.stringify(found)).not.toContain('secret')
  },
)
