import { expect, test } from 'bun:test'
import { openStage } from './support/stage.ts'
import { bash, DONE, writes } from './support/writer.ts'

const PROMPT = [
  '/read notes.md',
  '/push name=alpha "Look for alpha."',
  '/push name=beta model=haiku "Look for beta."',
  '/run',
  'Collect what they found.',
].join('\n')

test('claude collects the results of two claude sub-agents', async () => {
  const conversations = [
    { when: { system: 'You are alpha, a sub-agent' }, turns: [{ text: 'Alpha is in a.txt.' }] },
    {
      when: { system: 'You are beta, a sub-agent' },
      turns: [{ text: 'Looking.', tool: bash('echo found-beta') }, { text: 'Beta is in b.txt.' }],
    },
    {
      when: { system: 'You write' },
      turns: [{ tool: bash('forkhestra receive --from alpha,beta') }, DONE],
    },
  ]
  await using stage = await openStage({
    script: { conversations },
    files: { 'notes.md': 'notes of old\n', 'forge/.keep': '' },
    ...writes({}, { iterations: 2, prompt: PROMPT }),
  })
  const { code, stdout, stderr } = await stage.run('--chain', 'w')
  expect(`${code} ${stderr}`).toBe('0 ')
  expect(stdout).toContain('Task alpha: done')
  const lead = stage.asks.filter(({ system }) => system.includes('You write.'))
  expect(lead[0]?.results.join('\n')).toContain('notes of old')
  const received = lead.at(-1)?.results.at(-1) ?? ''
  expect(received).toContain('[alpha: done]\nAlpha is in a.txt.')
  expect(received).toContain('[beta: done]\nBeta is in b.txt.')
  const beta = stage.asks.find(({ system }) => system.includes('You are beta'))
  expect(beta?.prompt).toContain('Look for beta.')
  expect(beta?.system).not.toContain('You write.')
  expect(beta?.model).toContain('haiku')
  expect((await stage.run('queue', 'verify')).code).toBe(0)
}, 120_000)
