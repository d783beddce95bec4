import { expect, test } from 'bun:test'
import { inSeconds, limited, SUBSCRIPTION } from './support/limits.ts'
import { eventsOf, openStage, reasons } from './support/stage.ts'
import { bash, DONE, writes } from './support/writer.ts'

const lead = {
  when: { system: 'You write' },
  turns: [{ tool: bash('forkhestra receive --from alpha,beta') }, DONE],
}

const prompt = [
  '/push name=alpha "Look for alpha."',
  '/push name=beta "Look for beta."',
  '/run parallel=1',
  'Collect what they found.',
].join('\n')

test('all sub-agents are retried after a usage limit is reset', async () => {
  const resetsAt = inSeconds(12)
  const conversations = [
    {
      when: { system: 'You are alpha, a sub-agent' },
      turns: [limited(resetsAt), { text: 'Alpha is in a.txt.' }],
    },
    { when: { system: 'You are beta, a sub-agent' }, turns: [{ text: 'Beta is in b.txt.' }] },
    lead,
  ]
  await using stage = await openStage({
    script: { conversations },
    env: SUBSCRIPTION,
    files: { 'forge/.keep': '' },
    ...writes({}, { iterations: 1, prompt }),
  })
  const result = await stage.runJson('--chain', 'w')
  expect([result.code, ...reasons(result)]).toEqual([0, 'marker'])
  const rejected = eventsOf(result, 'limit').filter(({ status }) => status === 'rejected')
  expect(rejected).toMatchObject([{ task: 'alpha', resetsAt }])
  expect(eventsOf(result, 'waiting')).toMatchObject([{ task: 'alpha', why: 'quota' }])
  const ended = eventsOf(result, 'task_ended')
  const ends = ended.map(({ task, attempt, success }) => `${task} ${attempt} ${success}`)
  expect([ended[0]?.again, ends.toSorted()]).toEqual([
    true,
    ['alpha 1 false', 'alpha 2 true', 'beta 1 true'],
  ])
  const beta = stage.model.requests.find(({ body }) =>
    JSON.stringify(body).includes('You are beta'),
  )
  expect(Date.parse(beta!.at) / 1000).toBeGreaterThanOrEqual(resetsAt)
  const received = stage.asks.filter(({ system }) => system.includes('You write')).at(-1)?.results
  expect(received?.at(-1)).toContain('[alpha: done, attempt 2]\nAlpha is in a.txt.')
}, 120_000)
