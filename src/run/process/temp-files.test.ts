import { expect, test } from 'bun:test'
import { mkdirSync, readdirSync, readFileSync, statSync, utimesSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { makeProject } from '../../../tests/support/project.ts'
import type { Launch } from '../../engines/engine.ts'
import { makeTempFiles } from './temp-files.ts'

const LAUNCH: Launch = {
  kind: 'process',
  argv: ['claude', '--resume', '<file>'],
  env: {},
  files: [{ at: 2, name: 'session.jsonl', text: 'what was read' }],
  decode: () => undefined,
}

/** What a process that is gone has as its id. */
const GONE = Bun.spawnSync(['true']).pid
const DAYS = 24 * 3600 * 1000

test('files are private to this user and removed with the process', () => {
  const temp = makeProject()
  const files = makeTempFiles(LAUNCH, temp)
  const [path = ''] = files.argv.slice(2)
  expect(readFileSync(path, 'utf8')).toBe('what was read')
  const modes = [path, dirname(path)].map((each) => statSync(each).mode & 0o777)
  expect(modes).toEqual([0o600, 0o700])
  files.remove()
  expect(readdirSync(temp)).toEqual([])
})

test('their paths are absolute', () => {
  const temp = makeProject()
  const files = makeTempFiles(LAUNCH, relative(process.cwd(), temp))
  expect(files.argv[2]).toStartWith(`${temp}/`)
  files.remove()
})

test('files of a killed process are removed a day later', () => {
  const temp = makeProject()
  const make = (name: string, age: number) => {
    mkdirSync(join(temp, name))
    const time = new Date(Date.now() - age)
    utimesSync(join(temp, name), time, time)
  }
  make(`forkhestra-${GONE}-aaaaaa`, 2 * DAYS)
  make(`forkhestra-${GONE}-bbbbbb`, DAYS / 2)
  make(`forkhestra-${process.pid}-cccccc`, 2 * DAYS)
  make('forkhestra-test-dddddd', 2 * DAYS)
  make(`other-${GONE}-eeeeee`, 2 * DAYS)
  makeTempFiles(LAUNCH, temp).remove()
  expect(readdirSync(temp).toSorted()).toEqual(
    [
      `forkhestra-${GONE}-bbbbbb`,
      `forkhestra-${process.pid}-cccccc`,
      'forkhestra-test-dddddd',
      `other-${GONE}-eeeeee`,
    ].toSorted(),
  )
})

test('a folder that was already deleted is not an error', () => {
  const temp = makeProject()
  const files = makeTempFiles(LAUNCH, temp)
  files.remove()
  expect(() => files.remove()).not.toThrow()
})
