import { expect, test } from 'bun:test'
import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  makeChain,
  reasonsIn,
  runChain,
  startChain,
  withRecord,
  turnsIn,
} from '../support/chains.ts'
import { forkhestra, Running } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'
import { journalOf, ofType, runsOf } from '../support/record.ts'
import { fileIn } from '../support/until.ts'

const read = (cwd: string, name: string) => readFileSync(join(cwd, name), 'utf8')

test('options given to a resume still apply to the next resume', async () => {
  const agent = sh('touch "at.$FORKHESTRA_ITERATION"', '[ -e free ] && exit 0', 'sleep 60')
  const cwd = makeChain([{ agent: 'agent', iterations: 2, maxDuration: '300ms' }], { agent })
  expect(reasonsIn((await runChain(cwd)).events)).toEqual(['budget'])
  const resumed = new Running(['resume', '--max-duration', '1h'], { cwd })
  await fileIn(cwd, 'at.2')
  resumed.signal('SIGKILL')
  await resumed.finished
  writeFileSync(join(cwd, 'free'), '')
  const again = withRecord(await forkhestra(['resume', '--kill-orphans'], { cwd }), cwd)
  expect(reasonsIn(again.events)).toEqual(['budget', 'max_iterations'])
})

test('a run is not called stalled while git does not answer', async () => {
  const git = sh('exit 128')
  const cwd = makeProject({
    git,
    agent: sh('echo work >> done'),
    '.git/HEAD': '',
    'forge/.keep': '',
  })
  const { code, stderr } = await forkhestra(['agent:5', '--stall', '2'], { cwd })
  expect([code, read(cwd, 'done').length]).toEqual([1, 25])
  expect(stderr).toContain('Warning: git does not answer')
})

test('a checkpoint beyond the end of the journal is ignored', async () => {
  const agent = sh('[ -e free ] && echo ORCHESTRA_COMPLETE', 'exit 0')
  const cwd = makeChain([{ agent: 'agent', iterations: 3 }], { agent })
  const { run } = await runChain(cwd)
  const folder = join(cwd, 'forge/orch/runs', run)
  const lines = read(folder, 'events.ndjson').split('\n')
  truncateSync(join(folder, 'events.ndjson'), lines.slice(0, 3).join('\n').length + 1)
  writeFileSync(join(cwd, 'free'), '')
  expect((await forkhestra(['resume', run], { cwd })).code).toBe(0)
  const shown = JSON.parse((await forkhestra(['show', run, '--json'], { cwd })).stdout)
  expect(shown).toMatchObject({ status: 'complete' })
})

test('a hook knows the iteration it belongs to', async () => {
  const hooks = { afterIteration: 'echo "$FORKHESTRA_ITERATION" >> hooked' }
  const cwd = makeChain([{ agent: 'agent', iterations: 3, hooks }], { agent: sh() })
  const { events } = await runChain(cwd)
  expect(read(cwd, 'hooked')).toBe('1\n2\n3\n')
  expect(ofType(events, 'command').map(({ iteration }) => iteration)).toEqual([1, 2, 3])
})

test('onFail applies again if a step fails again after a resume', async () => {
  const agent = sh('echo "ORCHESTRA_BLOCKED: no key"')
  const steps = [{ agent: 'agent', iterations: 9, onFail: { run: 'medic' } }]
  const cwd = makeChain(steps, { agent, medic: sh('echo came >> medic.txt') })
  await runChain(cwd)
  await forkhestra(['resume'], { cwd })
  expect(read(cwd, 'medic.txt')).toBe('came\ncame\n')
})

test('a stop between a failure and its onFail does not lose the onFail', async () => {
  const agent = sh(
    'echo tried >> tries',
    'touch started',
    'while [ ! -e go ]; do sleep 0.02; done',
    'exit 3',
  )
  const steps = [{ agent: 'agent', iterations: 1, onFail: 'continue' }, { agent: 'next' }]
  const cwd = makeChain(steps, { agent, next: sh('echo next') })
  const running = startChain(cwd)
  await fileIn(cwd, 'started')
  await forkhestra(['stop'], { cwd })
  writeFileSync(join(cwd, 'go'), '')
  const { stdout } = await running.finished
  expect(stdout).toContain('Then the run was stopped by forkhestra stop\n')
  const resumed = withRecord(await forkhestra(['resume'], { cwd }), cwd)
  expect(read(cwd, 'tries')).toBe('tried\n')
  expect(resumed.stdout).toContain('next\n')
})

test('a slow hook does not prolong a wait', async () => {
  const limit = 'echo "Claude AI usage limit reached|$(($(date +%s) + 3600))"; exit 1'
  const agent = sh('[ -e tried ] && { echo ORCHESTRA_COMPLETE; exit 0; }', 'touch tried', limit)
  const hooks = { onWait: 'touch hooked; sleep 60' }
  const cwd = makeChain([{ agent: 'agent', iterations: 2, hooks, maxWait: '2h' }], { agent })
  const began = performance.now()
  const running = startChain(cwd)
  await fileIn(cwd, 'hooked')
  await forkhestra(['retry-now'], { cwd })
  expect((await running.finished).code).toBe(0)
  expect(performance.now() - began).toBeLessThan(30_000)
})

test('endless short rate limits end the step', async () => {
  const limit = 'echo "Claude AI usage limit reached|$(($(date +%s) + 2))"; exit 1'
  const cwd = makeChain([{ agent: 'agent', iterations: 2, maxWait: '3s' }], { agent: sh(limit) })
  expect(reasonsIn((await runChain(cwd)).events)).toEqual(['quota'])
})

test('a single run is complete if its until command succeeds', async () => {
  const cwd = makeChain([{ agent: 'agent', until: 'test -e made' }], {
    agent: sh('touch made', 'exit 1'),
  })
  const { code, events } = await runChain(cwd)
  expect([code, reasonsIn(events), turnsIn(events)]).toEqual([0, ['until'], ['1.1 exited']])
})

test('a run that is killed while skipping its chain stays skipped', async () => {
  const cwd = makeChain(
    [{ agent: 'agent' }, { agent: 'agent' }],
    { agent: sh('touch ran') },
    { when: 'false' },
  )
  const { run } = await runChain(cwd)
  const folder = join(cwd, 'forge/orch/runs', run)
  const lines = read(folder, 'events.ndjson').split('\n')
  const first = lines.findIndex((line) => line.includes('"type":"step_ended"'))
  truncateSync(join(folder, 'events.ndjson'), lines.slice(0, first + 1).join('\n').length + 1)
  const { code, stdout } = await forkhestra(['resume', run], { cwd })
  expect([code, stdout.includes('(2/2 steps, 2 skipped)')]).toEqual([0, true])
  expect(ofType(journalOf(cwd, runsOf(cwd)[0]!), 'step_ended')).toHaveLength(2)
})

test('resume takes a secret from the configuration, not from the environment', async () => {
  const env = { API_KEY: 'Plain-Secret-12345' }
  const agent = sh('echo "$API_KEY" > key', '[ -e free ] || kill -9 $PPID')
  const cwd = makeChain([{ agent: 'agent', env }], { agent })
  const other = { API_KEY: 'Another-Value-6789' }
  await runChain(cwd, { env: other })
  writeFileSync(join(cwd, 'free'), '')
  expect((await forkhestra(['resume', '--kill-orphans'], { cwd, env: other })).code).toBe(0)
  expect(read(cwd, 'key')).toBe('Plain-Secret-12345\n')
})

test('a secret on the command line that no record keeps is a warning', async () => {
  const cwd = makeProject({ agent: sh() })
  const { stderr } = await forkhestra(
    ['agent', '--', '--api-key', 'sk-ant-api03-AbCdEf123456789'],
    { cwd },
  )
  expect(stderr).toContain('Warning: the plan contains secrets in plain text (')
})
