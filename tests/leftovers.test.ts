import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra, isAlive } from './support/forkhestra.ts'
import { makeProject, sh } from './support/project.ts'

const pidsOf = (cwd: string) =>
  readFileSync(join(cwd, 'pids'), 'utf8').trim().split('\n').map(Number)

test('what an agent left running stays until the end of the run, is ended and named', async () => {
  const cwd = makeProject({
    server: sh(
      'setsid tail -f /dev/null > /dev/null 2>&1 & echo $! >> pids',
      'until [ "$(cat /proc/$!/comm)" = tail ]; do sleep 0.01; done',
    ),
    client: sh('kill -0 "$(cat pids)" && echo the server is there'),
  })
  const { code, stdout } = await forkhestra(['server -> client'], { cwd })
  expect(code).toBe(0)
  expect(stdout).toContain('the server is there')
  const [pid] = pidsOf(cwd)
  expect(stdout).toContain(`[forkhestra] Ended a process left running: tail (pid ${pid})\n`)
  expect(isAlive(pid!)).toBe(false)
})

test('a daemon without environment, in a session of its own, is found all the same', async () => {
  const cwd = makeProject({
    agent: sh(
      `(setsid env -i sh -c 'echo $$ > pids; exec tail -f /dev/null' > /dev/null 2>&1 &)`,
      'while [ ! -s pids ]; do sleep 0.02; done',
    ),
  })
  const { code } = await forkhestra(['agent'], { cwd })
  expect(code).toBe(0)
  expect(pidsOf(cwd).filter(isAlive)).toEqual([])
})

test('a deaf leftover is killed', async () => {
  const cwd = makeProject({
    agent: sh(
      `(trap '' TERM INT; echo ready > ready; while :; do sleep 5; done) > /dev/null 2>&1 & echo $! > pids`,
      'while [ ! -s ready ]; do sleep 0.02; done',
    ),
  })
  const { code } = await forkhestra(['agent'], { cwd })
  expect(code).toBe(0)
  expect(pidsOf(cwd).filter(isAlive)).toEqual([])
})

test('a grandchild that keeps the pipe open delays the agent by a second at most', async () => {
  const cwd = makeProject({ agent: sh('echo said', 'sleep 60 &') })
  const began = performance.now()
  const { code, stdout } = await forkhestra(['agent'], { cwd })
  expect(code).toBe(0)
  expect(stdout).toContain('said\n')
  expect(performance.now() - began).toBeLessThan(4000)
})

test('the dead that the run adopted do not pile up', async () => {
  const cwd = makeProject({
    agent: sh(
      '(setsid true &)',
      '[ "$FORKHESTRA_ITERATION" = 30 ] && grep -l "^State:.Z" /proc/[0-9]*/status 2>/dev/null | while read f; do grep -q "^PPid:.$PPID$" $f && echo zombie; done',
      'exit 0',
    ),
  })
  const { stdout } = await forkhestra(['agent:30'], { cwd })
  expect(stdout.split('zombie').length - 1).toBeLessThan(3)
})

test('a nested run ends its own processes and leaves those of the outer run alone', async () => {
  const cwd = makeProject({
    outer: sh(
      'tail -f /dev/null > /dev/null 2>&1 & echo $! > pids',
      'forkhestra inner',
      'kill -0 "$(cat pids)" && echo still there',
      'echo "path $FORKHESTRA_RUN_PATH"',
    ),
    inner: sh('echo "inner $FORKHESTRA_RUN_PATH"'),
  })
  const { code, stdout } = await forkhestra(['outer'], { cwd })
  expect(code).toBe(0)
  expect(stdout).toContain('still there')
  const outer = /path (\S+)/.exec(stdout)?.[1]
  expect(stdout).toMatch(new RegExp(`inner ${outer}:\\S+`))
})

test('nor do they while an agent runs for long', async () => {
  const cwd = makeProject({
    agent: sh(
      'for i in 1 2 3 4 5 6 7 8; do (setsid true &); done',
      'sleep 3',
      'for p in $(cat /proc/$PPID/task/$PPID/children); do grep -q "^State:.Z" /proc/$p/status && echo zombie; done; exit 0',
    ),
  })
  expect((await forkhestra(['agent'], { cwd })).stdout).not.toContain('zombie')
})
