import { expect, test } from 'bun:test'
import { FORKHESTRA, forkhestra, Running } from '../support/forkhestra.ts'
import { makeProject, sh, type Files } from '../support/project.ts'
import { Pty } from '../support/pty.ts'
import { runsOf } from '../support/record.ts'
import { until } from '../support/until.ts'

const QUESTION = 'Kill them? [y/N]'
const FILES = {
  sleeper: sh('echo "pid $$"', 'exec sleep 999'),
  'forge/orch/chains.json': '{"chains":{}}',
}

/** Dead runs, each of which has left an agent running; none is left, however the test ends. */
async function leaveOrphans(count: number, files: Files = FILES) {
  const cwd = makeProject(files)
  const pids: number[] = []
  for (let made = 0; made < count; made += 1) {
    const running = new Running(['run', './sleeper', '--anyway'], { cwd })
    await running.printed('pid ')
    pids.push(Number(/pid (\d+)/.exec(running.stdout)?.[1]))
    running.signal('SIGKILL')
    await running.finished
  }
  const living = () => pids.filter(isAlive)
  const end = async () => {
    for (const pid of living()) process.kill(pid, 'SIGKILL')
    while (living().length > 0) await Bun.sleep(5)
  }
  return { cwd, pids, living, [Symbol.asyncDispose]: end }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

function ask(args: readonly string[], cwd: string): Pty {
  return new Pty([FORKHESTRA, ...args], { cwd, columns: 200 })
}

test('Ctrl-C at the question ends forkhestra with 130 and nothing else', async () => {
  await using orphans = await leaveOrphans(1)
  for (const args of [['run', '/bin/true'], ['resume']]) {
    await using pty = ask(args, orphans.cwd)
    await pty.shows(QUESTION)
    pty.type('\u0003')
    expect(await pty.exited).toBe(130)
    await pty.shows('cancelled at a question')
    expect(pty.text).not.toMatch(/mistake|at <anonymous>|AbortError/)
    expect(pty.leftBehind()).toEqual([])
  }
  expect(orphans.living()).toEqual(orphans.pids)
  expect(runsOf(orphans.cwd)).toHaveLength(1)
})

test('Ctrl-D at the question means no: neither a new run nor the dead one starts', async () => {
  await using orphans = await leaveOrphans(1)
  const [dead = ''] = runsOf(orphans.cwd)
  {
    await using pty = ask(['run', '/bin/true'], orphans.cwd)
    await pty.shows(QUESTION)
    pty.type('\u0004')
    expect(await pty.exited).toBe(2)
    await pty.shows('Or start anyway: add --anyway')
    expect(pty.leftBehind()).toEqual([])
  }
  {
    await using pty = ask(['resume', dead], orphans.cwd)
    await pty.shows(QUESTION)
    pty.type('\u0004')
    expect(await pty.exited).toBe(1)
    await pty.shows('Kill them: forkhestra resume')
    expect(pty.text).not.toContain('mistake')
  }
  expect(orphans.living()).toEqual(orphans.pids)
})

test('there is one question per dead run', async () => {
  await using orphans = await leaveOrphans(2)
  await using pty = ask(['run', '/bin/true', '--anyway'], orphans.cwd)
  await pty.shows(QUESTION)
  const first = Number(/sleep 999 \(pid (\d+)\)/.exec(pty.text)?.[1])
  pty.type('n\r')
  const second = orphans.pids.find((pid) => pid !== first)
  await pty.shows(`sleep 999 (pid ${second}). Kill them`)
  pty.type('y\r')
  expect(await pty.exited).toBe(0)
  await until(() => orphans.living().length < 2)
  expect(orphans.living()).toEqual([first])
})

test('without a terminal there is no question: orphans are listed, or ended by a flag', async () => {
  await using orphans = await leaveOrphans(2)
  const [first, second] = orphans.pids
  const refused = await forkhestra(['run', '/bin/true'], orphans)
  expect(refused.code).toBe(2)
  expect(refused.stderr).toContain('is dead and left these processes running: sleep 999 (pid')
  const result = await forkhestra(['run', '/bin/true', '--anyway'], orphans)
  expect(result.code).toBe(0)
  expect(result.stdout + result.stderr).toContain(`(pid ${first}); to kill them: --kill-orphans`)
  expect(result.stdout + result.stderr).toContain(`(pid ${second}); to kill them: --kill-orphans`)
  expect(orphans.living()).toEqual(orphans.pids)
  const { code } = await forkhestra(['run', '/bin/true', '--kill-orphans'], orphans)
  expect(code).toBe(0)
  // The process that adopted them may need a moment to reap them.
  await until(() => orphans.living().length === 0)
})

test('a secret in the command of an orphan is not printed', async () => {
  const secret = 'ghp_0123456789abcdefABCDEF0123456789abcd'
  const files = {
    ...FILES,
    sleeper: sh(`exec ./${secret}`),
    [secret]: sh('mkfifo pipe', 'echo "pid $$"', 'read word <pipe'),
  }
  await using orphans = await leaveOrphans(1, files)
  const { code, stdout, stderr } = await forkhestra(['resume'], orphans)
  expect(code).toBe(1)
  expect(stderr).toContain('left these processes running: sh ./[masked')
  expect(stdout + stderr).not.toContain(secret)
})
