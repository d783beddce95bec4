import { expect, test } from 'bun:test'
import { executeChain } from '../../src/index.ts'
import { forkhestra, isAlive, Running } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const completes: readonly (readonly [string, string])[] = [
  ['alone', 'ORCHESTRA_COMPLETE\\n'],
  ['the older word', 'FORKHESTRA_COMPLETE\\n'],
  ['without a newline', 'ORCHESTRA_COMPLETE'],
  ['with Windows line ends and text after it', 'ORCHESTRA_COMPLETE\\r\\nThanks!\\r\\n'],
  ['bold and coloured', '\\033[1m  **ORCHESTRA_COMPLETE**\\033[0m \\n'],
  ['in backticks', '`ORCHESTRA_COMPLETE`\\n'],
  ['in a fence that is never closed', '```\\nORCHESTRA_COMPLETE\\n'],
]

test.each(completes)('the marker counts: %s', async (_, text) => {
  const cwd = makeProject({ agent: sh(`printf '${text}'`) })
  const { code, stdout } = await forkhestra(['agent:2'], { cwd })
  expect(stdout).toContain('Complete after 1 iteration\n')
  expect(code).toBe(0)
})

const refused: readonly (readonly [string, string])[] = [
  ['inside a code fence', 'For example:\\n```\\nORCHESTRA_COMPLETE\\n```\\nThat is all.\\n'],
  ['inside a longer line', 'I will not print ORCHESTRA_COMPLETE yet.\\n'],
  ['inside a longer line', 'Done. ORCHESTRA_COMPLETE\\n'],
  ['inside a longer line', '```\\rORCHESTRA_COMPLETE\\r```\\n'],
  ['in quotes', '"ORCHESTRA_COMPLETE"\\n'],
  ['not in upper case', 'orchestra_complete\\n'],
  ['no colon after ORCHESTRA_BLOCKED', 'ORCHESTRA_BLOCKED no database\\n'],
]

test.each(refused)('the marker is ignored with a message: %s', async (why, text) => {
  const cwd = makeProject({ agent: sh(`printf '${text}'`, `printf '${text}'`) })
  const { code, stdout } = await forkhestra(['agent:1'], { cwd })
  expect(stdout.split('Marker ignored').length - 1).toBe(1)
  expect(stdout).toContain(`[forkhestra] Marker ignored: ${why}\n`)
  expect(code).toBe(1)
})

test('the marker does not count on stderr', async () => {
  const cwd = makeProject({ agent: sh('echo ORCHESTRA_COMPLETE >&2') })
  const { code, stdout } = await forkhestra(['agent:1'], { cwd })
  expect(stdout).toContain('[forkhestra] Marker ignored: on stderr\n')
  expect(code).toBe(1)
})

test('a marker in an open fence is pending until the fence closes or the output ends', async () => {
  const cwd = makeProject({
    agent: sh(
      'printf "~~~\\nORCHESTRA_COMPLETE\\n"',
      'while [ ! -e go ]; do sleep 0.02; done',
      'printf "~~~\\n"',
    ),
  })
  const run = new Running(['agent:1'], { cwd })
  await run.printed('ORCHESTRA_COMPLETE')
  await Bun.write(join(cwd, 'go'), '')
  const { code, stdout } = await run.finished
  expect(stdout).toContain('Marker ignored: inside a code fence')
  expect(code).toBe(1)
})

const brokenOff: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  ['killed', ['kill -9 $$'], []],
  ['timed out', ['exec sleep 60'], ['--timeout=1s']],
  ['silent', ['exec sleep 60'], ['--idle-timeout=1s']],
  ['failed', ['exit 1'], []],
  ['overloaded', ['echo', `echo 'API Error: 529 {"type":"error"}'`, 'exit 1'], []],
]

test.each(brokenOff)(
  'a marker in an open fence does not count if the agent is cut off: %s',
  async (_, end, options) => {
    const cwd = makeProject({
      'forge/orch/chains.json': JSON.stringify({
        chains: { c: { steps: [{ agent: './agent', iterations: 1, retry: { attempts: 1 } }] } },
      }),
      agent: sh(`printf 'I will say:\\n\`\`\`\\nORCHESTRA_COMPLETE\\n'`, ...end),
    })
    const { code, stdout } = await forkhestra([...options, '--chain', 'c'], { cwd })
    expect(stdout).toContain('[forkhestra] Marker ignored: inside a code fence\n')
    expect(code).toBe(1)
  },
)

test('after the marker an agent that does not exit is ended with its tree when its grace is over', async () => {
  const cwd = makeProject({
    agent: sh(
      `trap '' TERM`,
      'echo $$ > pids',
      `sh -c "trap '' TERM; echo \\$\\$ >> pids; while :; do sleep 1; done" &`,
      'while [ "$(wc -l < pids)" -lt 2 ]; do sleep 0.02; done',
      'echo ORCHESTRA_COMPLETE',
      'while :; do sleep 1; done',
    ),
  })
  const began = performance.now()
  const result = await executeChain({
    steps: [{ agent: './agent', iterations: 3, loop: true }],
    cwd,
    grace: { markerMs: 300, termMs: 300 },
  })
  expect(result.success).toBe(true)
  expect(result.steps[0]!.result).toEqual({
    complete: true,
    iterations: 1,
    exitCode: null,
    reason: 'marker',
  })
  expect(performance.now() - began).toBeLessThan(30_000)
  const pids = readFileSync(join(cwd, 'pids'), 'utf8').trim().split('\n').map(Number)
  expect(pids).toHaveLength(2)
  expect(pids.filter(isAlive)).toEqual([])
})

test('an agent that exits within its grace is not disturbed', async () => {
  const cwd = makeProject({ agent: sh('echo ORCHESTRA_COMPLETE', 'sleep 0.5', 'echo cleaned up') })
  const { code, stdout } = await forkhestra(['agent:1'], { cwd })
  expect(code).toBe(0)
  expect(stdout).toContain(
    'ORCHESTRA_COMPLETE\ncleaned up\n[forkhestra] Complete after 1 iteration',
  )
})

test('a marker whose line never ends counts when the agent falls silent', async () => {
  const cwd = makeProject({ agent: sh('printf ORCHESTRA_COMPLETE', 'exec tail -f /dev/null') })
  const steps = [{ agent: './agent', iterations: 2, loop: true }]
  const { success } = await executeChain({ steps, cwd, grace: { markerMs: 100, termMs: 100 } })
  expect(success).toBe(true)
})
