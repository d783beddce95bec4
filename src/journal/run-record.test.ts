import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject } from '../../tests/support/project.ts'
import { makeStamp } from '../events/event.ts'
import { makeRecordFolder, recordRoot } from './record-folder.ts'
import { RunRecord } from './run-record.ts'

const stamp = makeStamp('r1', 'w-1')
const EVENT = stamp({ type: 'warning', text: 'hello' })
const CHUNK = {
  scope: [],
  step: 1,
  iteration: 1,
  stream: 'out' as const,
  bytes: Buffer.from('text'),
}

test('a run is recorded in a folder of its own', () => {
  const root = join(makeProject(), 'deep/runs')
  const record = new RunRecord(root, 'r1', stamp)
  record.append(EVENT)
  record.output(CHUNK)
  record.close()
  expect(record.folder).toBe(join(root, 'r1'))
  expect(record.takeTrouble()).toBeUndefined()
  expect(readFileSync(join(root, 'r1/events.ndjson'), 'utf8')).toStartWith(
    `${JSON.stringify(EVENT)}\n`,
  )
  expect(readFileSync(join(root, 'r1/steps/1/iterations/1.log'), 'utf8')).toBe('text')
})

describe('where the record cannot be written', () => {
  test('the run goes on, and the trouble is told once', () => {
    const root = join(makeProject({ file: '' }), 'file')
    const record = new RunRecord(root, 'r1', stamp)
    expect(record.folder).toBeUndefined()
    expect(record.takeTrouble()).toStartWith('Warning: the run goes on without a record: ')
    record.append(EVENT)
    record.output(CHUNK)
    record.close()
    expect(record.takeTrouble()).toBeUndefined()
  })

  test('any longer, what follows is dropped', () => {
    const root = makeProject()
    const record = new RunRecord(root, 'r1', stamp)
    record.append(EVENT)
    writeFileSync(join(root, 'r1/steps'), 'a file where a folder is needed')
    record.output(CHUNK)
    record.output(CHUNK)
    record.append(EVENT)
    record.close()
    expect(record.takeTrouble()).toContain('goes on without a record')
    expect(record.takeTrouble()).toBeUndefined()
    expect(readFileSync(join(root, 'r1/events.ndjson'), 'utf8')).toBe(`${JSON.stringify(EVENT)}\n`)
  })

  test('because an agent removed it, nothing is thrown', () => {
    const root = makeProject()
    const record = new RunRecord(root, 'r1', stamp)
    rmSync(root, { recursive: true })
    record.append(EVENT)
    record.output(CHUNK)
    expect(() => record.close()).not.toThrow()
  })
})

describe('the records of runs live', () => {
  test('with a project that has a forge folder', () => {
    const cwd = makeProject({ 'forge/x': '' })
    expect(recordRoot(cwd, { XDG_STATE_HOME: '/state' })).toBe(join(cwd, 'forge/orch/runs'))
  })

  test.each([
    [{ XDG_STATE_HOME: '/state', HOME: '/home/me' }, '/state/forkhestra'],
    [{ XDG_STATE_HOME: '', HOME: '/home/me' }, '/home/me/.local/state/forkhestra'],
    [{ HOME: '/home/me' }, '/home/me/.local/state/forkhestra'],
    [{}, '/.local/state/forkhestra'],
  ])('else with the user: %j', (env, root) => {
    expect(recordRoot(makeProject({ forge: 'a file' }), env)).toBe(root)
  })
})

test('the folder of records keeps itself out of git, and what is ignored there is kept', () => {
  const root = join(makeProject(), 'runs')
  expect(makeRecordFolder(root, 'r1')).toBe(join(root, 'r1'))
  expect(readFileSync(join(root, '.gitignore'), 'utf8')).toBe('*\n')
  writeFileSync(join(root, '.gitignore'), 'mine\n')
  makeRecordFolder(root, 'r2')
  expect(readFileSync(join(root, '.gitignore'), 'utf8')).toBe('mine\n')
  expect(existsSync(join(root, 'r2'))).toBe(true)
})

test('only its owner may look into a record', () => {
  const folder = makeRecordFolder(join(makeProject(), 'runs'), 'r1')
  expect(statSync(folder).mode & 0o777).toBe(0o700)
})
