import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra, Running } from '../../support/forkhestra.ts'
import { sh } from '../../support/project.ts'
import { ask, makeQueueProject, runPrompt, tasksOf } from '../../support/queue.ts'
import { readStore } from '../../support/queue-records.ts'
import { fileIn, until } from '../../support/until.ts'

/** Delegates its own prompt to a new task and waits for any answer. */
const DELEGATES = sh(`
forkhestra push "below $FORKHESTRA_AGENT_NAME" >/dev/null 2>&1
forkhestra run-queue >/dev/null 2>&1
forkhestra receive --json > "got-$FORKHESTRA_AGENT_NAME"
echo "$FORKHESTRA_AGENT_NAME is done"
`)

function statusOf(cwd: string, agent: string): string {
  const { status } = JSON.parse(readFileSync(join(cwd, `got-${agent}`), 'utf8')) as {
    status: string
  }
  return status
}

test.each([
  ['depth', { depth: 3 }],
  ['running', { running: 1 }],
])(
  'in a chain of delegating agents, only the one beyond the limit of %s gets no result',
  async (_, queueLimits) => {
    const cwd = makeQueueProject('begin\n', {
      agent: DELEGATES,
      'forge/orch/chains.json': JSON.stringify({ agents: {}, chains: {}, queueLimits }),
    })
    const { code, stderr } = await runPrompt(cwd)
    expect([code, stderr]).toEqual([0, ''])
    const ended = (await tasksOf(cwd)).filter(({ attempt }) => attempt > 0)
    expect(ended.length).toBe('depth' in queueLimits ? queueLimits.depth : 1)
    const statuses = ['main', ...ended.map(({ name }) => name)].map((name) => statusOf(cwd, name))
    expect(statuses.pop()).toBe('nothing_to_wait_for')
    expect(new Set(statuses)).toEqual(new Set(['received']))
  },
)

const SLEEPER = sh('touch "up-$FORKHESTRA_AGENT_NAME"; [ "$1" = now ] || exec sleep 60; echo done')

/** A project in which `a` has answered and `b` is running. */
async function halfAnswered(): Promise<{ readonly cwd: string; readonly driver: Running }> {
  const cwd = makeQueueProject('', { sleeper: SLEEPER })
  await forkhestra(['push', 'agent=./sleeper', 'name=a', 'now'], { cwd })
  await forkhestra(['push', 'agent=./sleeper', 'name=b', 'later'], { cwd })
  const driver = new Running(['run-queue'], { cwd })
  await driver.printed('Task a: done')
  await fileIn(cwd, 'up-b')
  return { cwd, driver }
}

interface Got {
  readonly status: string
  readonly senders: readonly { readonly name: string; readonly status: string }[]
  readonly messages: readonly { readonly from: string }[]
}

test('messages that have arrived are delivered if the process of another sender was killed', async () => {
  const { cwd, driver } = await halfAnswered()
  driver.signal('SIGKILL')
  await driver.finished
  const { code, stdout } = await forkhestra(['receive', '--from', 'a,b', '--json'], { cwd })
  const { status, messages } = JSON.parse(stdout) as Got
  expect([code, status]).toEqual([1, 'nothing_to_wait_for'])
  expect(messages.map(({ from }) => from)).toEqual(['a'])
  expect((await ask<Got>(cwd, 'inbox')).messages).toEqual([])
  await forkhestra(['run-queue', '--kill-orphans'], { cwd })
})

test('messages that have arrived are delivered if Ctrl-C ends the wait', async () => {
  const { cwd, driver } = await halfAnswered()
  const receiver = new Running(['receive', '--from', 'a,b', '--json'], { cwd })
  await until(() => readStore(cwd, 'select 1 from waiting').length > 0)
  receiver.signal('SIGINT')
  const { code, stdout } = await receiver.finished
  const { status, senders, messages } = JSON.parse(stdout) as Got
  expect([code, status]).toEqual([130, 'stopped'])
  expect(senders.map((sender) => sender.status)).toEqual(['received', 'running'])
  expect(messages.map(({ from }) => from)).toEqual(['a'])
  driver.signal('SIGINT')
  await driver.finished
})
