import { expect, test } from 'bun:test'
import { closeSync, constants, openSync, readdirSync, readFileSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra, isAlive, Running } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'
import { runsOf } from '../support/record.ts'

const pidsOf = (cwd: string) =>
  readFileSync(join(cwd, 'pids'), 'utf8').trim().split('\n').map(Number)

test('processes left by an agent run until the end of the run, and are then ended and listed', async () => {
  const cwd = makeProject({
    server: sh(
      'setsid tail -f /dev/null > /dev/null 2>&1 & echo $! >> pids',
      'until [ "$(cat /proc/$!/comm)" = tail ]; do sleep 0.01; done',
      `setsid bash -c 'exec -a "web: worker of /srv/x" sleep 60' > /dev/null 2>&1 &`,
      'until [ "$(cat /proc/$!/comm)" = sleep ]; do sleep 0.01; done',
    ),
    client: sh('kill -0 "$(cat pids)" && echo the server is there'),
  })
  const { code, stdout } = await forkhestra(['server -> client'], { cwd })
  expect(code).toBe(0)
  expect(stdout).toContain('the server is there')
  const [pid] = pidsOf(cwd)
  expect(stdout).toContain(`[forkhestra] Ended a leftover process: tail (pid ${pid})\n`)
  expect(stdout).toContain('[forkhestra] Ended a leftover process: web: worker of /srv/x 60 (pid ')
  expect(isAlive(pid!)).toBe(false)
})

test('a daemon without environment in its own session is found', async () => {
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

test('a leftover process that ignores SIGTERM is killed', async () => {
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

test('a grandchild that keeps the pipe open does not keep the agent from ending', async () => {
  const cwd = makeProject({ agent: sh('echo said', 'sleep 600 &') })
  const began = performance.now()
  const { code, stdout } = await forkhestra(['agent'], { cwd })
  expect(code).toBe(0)
  expect(stdout).toContain('said\n')
  expect(performance.now() - began).toBeLessThan(30_000)
})

test('adopted processes that have ended are reaped', async () => {
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

test('adopted processes are also reaped while an agent runs for long', async () => {
  const cwd = makeProject({
    agent: sh(
      'for i in 1 2 3 4 5 6 7 8; do (setsid true &); done',
      'sleep 3',
      'for p in $(cat /proc/$PPID/task/$PPID/children); do grep -q "^State:.Z" /proc/$p/status && echo zombie; done; exit 0',
    ),
  })
  expect((await forkhestra(['agent'], { cwd })).stdout).not.toContain('zombie')
})

const onLinux = test.skipIf(process.platform !== 'linux')

/** Without a cgroup the processes of a run are found by their parents and their environment. */
const WAYS: [string, Record<string, string>][] = [
  ['with a cgroup where there is one', {}],
  ['without a cgroup', { FORKHESTRA_CGROUP: 'off' }],
]

/** Every generation starts the next one and ends; it holds the pipe `alive` open for as long as it lives. */
const PHOENIX = sh('exec > /dev/null 2>&1', '[ -e stop ] && exit', 'setsid ./phoenix &', 'exit')

function makePhoenix(lines: readonly string[] = []) {
  const cwd = makeProject({
    agent: sh('exec 3> alive', './phoenix', ...lines),
    phoenix: PHOENIX,
  })
  Bun.spawnSync(['mkfifo', join(cwd, 'alive')])
  const alive = openSync(join(cwd, 'alive'), constants.O_RDONLY | constants.O_NONBLOCK)
  const isOver = () => {
    try {
      return readSync(alive, Buffer.alloc(1)) === 0
    } catch {
      return false // EAGAIN: another process holds it open.
    }
  }
  const end = () => {
    Bun.spawnSync(['touch', join(cwd, 'stop')])
    closeSync(alive)
  }
  return { cwd, isOver, [Symbol.dispose]: end }
}

onLinux.each(WAYS)('a process that forks itself anew all the time is ended, %s', async (_, env) => {
  using phoenix = makePhoenix()
  const { code, stdout } = await forkhestra(['agent'], { cwd: phoenix.cwd, env })
  expect({ code, isOver: phoenix.isOver() }).toEqual({ code: 0, isOver: true })
  expect(stdout).toMatch(/Ended a leftover process: /)
})

onLinux.each(WAYS)('the same if the run is stopped, %s', async (_, env) => {
  using phoenix = makePhoenix(['echo begun', 'exec sleep 60'])
  const running = new Running(['agent'], { cwd: phoenix.cwd, env })
  await running.printed('begun')
  running.signal('SIGINT')
  const { code } = await running.finished
  expect({ code, isOver: phoenix.isOver() }).toEqual({ code: 130, isOver: true })
})

onLinux.each(WAYS)('the same inside a killed run, %s', async (_, env) => {
  using phoenix = makePhoenix(['kill -9 $PPID'])
  const cwd = makeProject({ outer: sh(`cd '${phoenix.cwd}' && PATH=".:$PATH" forkhestra ./agent`) })
  await forkhestra(['outer'], { cwd, env })
  expect(phoenix.isOver()).toBe(true)
})

onLinux('--kill-orphans ends the forking processes of a killed run', async () => {
  using phoenix = makePhoenix(['kill -9 $PPID'])
  const { cwd } = phoenix
  const { stdout } = await forkhestra(['group'], {
    cwd: makeProject({ group: sh('cat /proc/self/cgroup') }),
  })
  if (!stdout.includes('/forkhestra-')) return // Only where there is a cgroup it is surely found.
  await forkhestra(['agent'], { cwd })
  expect(phoenix.isOver()).toBe(false)
  await forkhestra(['run', '/bin/true', '--kill-orphans'], { cwd })
  expect(phoenix.isOver()).toBe(true)
})

onLinux('a daemon with an empty environment is found after its run was killed', async () => {
  const daemon = `setsid env -i sh -c 'echo $$ > pid; exec sleep 300' < /dev/null > /dev/null 2>&1 &`
  const cwd = makeProject({
    agent: sh(
      'if [ -e pid ]; then echo ORCHESTRA_COMPLETE; exit; fi',
      `(${daemon})`,
      'until [ -s pid ]; do sleep 0.01; done',
      'kill -9 $PPID',
    ),
    'forge/x': '',
  })
  const env = { FORKHESTRA_CGROUP: 'off' }
  await forkhestra(['agent:2'], { cwd, env })
  const pid = Number(readFileSync(join(cwd, 'pid'), 'utf8'))
  const refused = await forkhestra(['resume'], { cwd, env })
  expect(refused.stderr).toContain(`sleep 300 (pid ${pid})`)
  expect(refused.code).toBe(1)
  const { code, stderr } = await forkhestra(['resume', '--kill-orphans'], { cwd, env })
  expect(stderr).toContain('killed the processes that run')
  expect(code).toBe(0)
  expect(isAlive(pid)).toBe(false)
})

onLinux('no cgroup is left, and that of a killed run is removed by the next run', async () => {
  const cwd = makeProject({
    agent: sh('cat /proc/self/cgroup'),
    killer: sh('kill -9 $PPID'),
    'forge/orch/chains.json': '{"chains":{}}',
  })
  const { stdout } = await forkhestra(['agent'], { cwd })
  if (!stdout.includes('/forkhestra-')) return // Not on this machine.
  expect(groupsOf(cwd)).toEqual([])
  await forkhestra(['killer'], { cwd })
  expect(groupsOf(cwd)).toHaveLength(1)
  await forkhestra(['agent'], { cwd })
  expect(groupsOf(cwd)).toEqual([])
})

/** The cgroups of all runs of a project, beside this process. */
function groupsOf(cwd: string): string[] {
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
  const mount = /^\S+ \S+ \S+ \S+ (\S+) .* - cgroup2 /m.exec(mounts)?.[1]
  const path = /^0::(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1]
  const names = readdirSync(join(mount ?? '', path ?? ''))
  return names.filter((name) => runsOf(cwd).some((run) => name.endsWith(run)))
}
