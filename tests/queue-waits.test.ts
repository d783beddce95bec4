import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sh } from './support/project.ts'
import { makeQueueProject, runPrompt, tasksOf } from './support/queue.ts'

/** Whatever it is, it hands the same to another, and waits for whoever answers. */
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
  'of agents that hand on and on, only the one beyond the limit of %s gets nothing',
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
