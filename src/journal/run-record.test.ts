import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject } from '../../tests/support/project.ts'
import { makeStamp } from '../events/event.ts'
import { RunRecord } from './run-record.ts'

const stamp = makeStamp('r1', 'w-1')
const EVENT = stamp({ type: 'warning', text: 'hello' })
const CHUNK = {
  scope: [],
  step: 1,
  iteration: 1,
  attempt: 1,
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
    expect(record.takeTrouble()).toMatch(/^(ENOTDIR|EEXIST)/)
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
    expect(record.takeTrouble()).toMatch(/^(ENOTDIR|EEXIST)/)
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
    expect(record.takeTrouble()).toBe(`${join(root, 'r1')} was deleted`)
    expect(existsSync(root)).toBe(false)
  })

  test('because nobody knows where, that is the trouble', () => {
    const record = new RunRecord(undefined, 'r1', stamp)
    expect([record.folder, record.takeTrouble()]).toEqual([undefined, 'HOME is no absolute path'])
    record.output(CHUNK)
    record.flush()
    record.close()
    expect(record.takeTrouble()).toBeUndefined()
  })
})
