import { expect, test } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeChain, startChain } from '../../support/chains.ts'
import { forkhestra, survivors } from '../../support/forkhestra.ts'
import { sh } from '../../support/project.ts'
import { ask, problemsOf } from '../../support/queue.ts'
import { journalOf, ofType, runsOf } from '../../support/record.ts'
import { until } from '../../support/until.ts'

const AGENT = sh('eval "$1"')

const linesOf = (cwd: string, name: string) =>
  existsSync(join(cwd, name)) ? readFileSync(join(cwd, name), 'utf8').trimEnd().split('\n') : []

interface Message {
  readonly from: string
  readonly body?: string
  readonly output?: string
}

const COPIES = [1, 2, 3]

/**
 * Its prompt queues one task, it queues another one itself, and sends to the next copy. Nothing ends before
 * the file `go` exists.
 */
const PROMPT = [
  '/push retry=1 "echo $FORKHESTRA_PARENT_NAME >> begun; [ -e go ] || sleep 60; echo of the prompt"',
  '/run',
  'n=${FORKHESTRA_AGENT_NAME#*#}',
  'if [ ! -e go ]; then',
  '  forkhestra push name=own-$n retry=1 "echo $FORKHESTRA_AGENT_NAME >> begun; [ -e go ] || sleep 60; echo own"',
  '  forkhestra run-queue',
  '  forkhestra send "agent#$((n % 3 + 1))" "from $n"',
  '  echo $n >> sent',
  '  sleep 60',
  'fi',
  'for i in 1 2 3; do forkhestra receive --json >> got-$n; done',
].join('\n')

test('after kill -9 each agent of a branch finds its own tasks and messages, once', async () => {
  const chain = [{ agent: './agent', copies: 3, iterations: 1, prompt: PROMPT, until: 'true' }]
  const cwd = makeChain(chain, { agent: AGENT })
  const running = startChain(cwd)
  await until(() => linesOf(cwd, 'begun').length === 6 && linesOf(cwd, 'sent').length === 3)
  running.signal('SIGKILL')
  await running.finished
  writeFileSync(join(cwd, 'go'), '')

  const { code, stderr } = await forkhestra(['resume', '--kill-orphans'], { cwd })
  expect({ code, stderr }).toMatchObject({ code: 0 })
  expect(survivors()).toEqual([])

  const { tasks } = await ask<{ tasks: { parent: string; attempt: number; end: unknown }[] }>(
    cwd,
    'queue',
    '--all',
  )
  const outcomes = tasks.map(
    ({ parent, attempt, end }) => `${parent} ${attempt} ${JSON.stringify(end)}`,
  )
  expect(outcomes.toSorted()).toEqual(
    COPIES.flatMap((copy) => [1, 2].map(() => `agent#${copy} 2 {"success":true}`)),
  )
  for (const copy of COPIES) {
    const got = linesOf(cwd, `got-${copy}`).flatMap(
      (line) => (JSON.parse(line) as { messages: Message[] }).messages,
    )
    expect(got.map(({ body, output }) => `${body ?? output}`).toSorted()).toEqual([
      `from ${((copy + 1) % 3) + 1}`,
      'of the prompt',
      'own',
    ])
  }
  expect(await problemsOf(cwd)).toEqual([])
  const events = journalOf(cwd, runsOf(cwd)[0]!)
  const ended = ofType(events, 'task_ended')
  const places = ended.map(({ scope }) => scope.join('/'))
  expect(new Set(places).size).toBe(12)
  expect(places).toHaveLength(12)
  for (const { scope, parent } of ended)
    expect([undefined, `agent#${scope[1]!.slice(1)}`]).toContain(parent)
}, 120_000)
