import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra, Running } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'
import { runsOf } from '../support/record.ts'

// Whether a run is alive does not depend on a file that an agent may delete.

const SLOW = sh(
  'echo start >>starts',
  'echo working',
  'while [ -e slow ] && [ ! -e done ]; do sleep 0.02; done',
  '[ -e done ]',
)

async function begin() {
  const cwd = makeProject({ slow: SLOW, 'forge/x': '' })
  const run = new Running(['slow'], { cwd })
  await run.printed('working')
  const [id = ''] = runsOf(cwd)
  const record = join(cwd, 'forge/orch/runs', id)
  const starts = () => readFileSync(join(cwd, 'starts'), 'utf8').split('\n').length - 1
  return { cwd, run, id, record, starts }
}

const DAMAGE = [
  ['deleted', (lock: string) => rmSync(lock, { force: true })],
  ['emptied', (lock: string) => writeFileSync(lock, '')],
  ['filled with something else', (lock: string) => writeFileSync(lock, '{"pid":1}')],
] as const

describe.each(DAMAGE)('a live run whose lock was %s', (_, damage) => {
  test('is neither reported as dead nor run again', async () => {
    const { cwd, run, id, record, starts } = await begin()
    const lock = join(record, 'lock')
    // Stopped, it cannot write the lock again.
    run.signal('SIGSTOP')
    const again = async (...args: string[]) => {
      damage(lock)
      return forkhestra(args, { cwd })
    }
    try {
      for (const args of [[id], [], [id, '--anyway'], [id, '--anyway', '--kill-orphans']]) {
        const { code, stderr } = await again('resume', ...args)
        expect([args, code, starts()]).toEqual([args, 1, 1])
        expect(stderr).toContain(`Run ${id} is already running (another process)`)
      }
      expect((await again('runs')).stdout).toContain(`${id}  running`)
      expect((await again('status')).stdout).toContain(`Active runs:\n  ${id}  running`)
      expect((await again('show')).stdout).toContain(`Run ${id}: running`)
      expect((await again('doctor')).stdout).toContain(`${id} is active here`)
      expect((await again('clean', '--keep', '0')).stdout).toContain('Nothing to remove')
      expect((await again('stop', '--now')).code).toBe(1)
    } finally {
      run.signal('SIGCONT')
    }
    writeFileSync(join(cwd, 'done'), '')
    expect((await run.finished).code).toBe(0)
    expect((await forkhestra(['runs'], { cwd })).stdout).toContain(`${id}  complete`)
    expect(existsSync(lock)).toBe(false)
  })

  test('can be resumed after it was killed', async () => {
    const { cwd, run, id, record, starts } = await begin()
    damage(join(record, 'lock'))
    run.signal('SIGKILL')
    await run.finished
    expect((await forkhestra(['runs'], { cwd })).stdout).toContain(`${id}  dead`)
    writeFileSync(join(cwd, 'done'), '')
    expect((await forkhestra(['resume', '--kill-orphans'], { cwd })).code).toBe(0)
    expect(starts()).toBe(2)
  })
})

test('a live run writes its lock again', async () => {
  const { cwd, run, record } = await begin()
  const lock = join(record, 'lock')
  const before = readFileSync(lock, 'utf8')
  rmSync(lock)
  while (!existsSync(lock)) await Bun.sleep(20)
  expect(readFileSync(lock, 'utf8')).toBe(before)
  expect((await forkhestra(['stop', '--now'], { cwd })).code).toBe(0)
  expect((await run.finished).code).toBe(130)
})
