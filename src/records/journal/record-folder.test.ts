import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { makeProject } from '../../../tests/support/project.ts'
import { makeRecordFolder, recordRoot } from './record-folder.ts'

describe('records are kept', () => {
  test('in a project that has a forge folder', () => {
    const cwd = makeProject({ 'forge/x': '' })
    expect(recordRoot(cwd, { XDG_STATE_HOME: '/state' })).toBe(join(cwd, 'forge/orch/runs'))
    expect(recordRoot(cwd, {})).toBe(join(cwd, 'forge/orch/runs'))
  })

  test.each([
    [{ XDG_STATE_HOME: '/state', HOME: '/home/me' }, '/state/forkhestra'],
    [{ XDG_STATE_HOME: '', HOME: '/home/me' }, '/home/me/.local/state/forkhestra'],
    [{ XDG_STATE_HOME: 'state', HOME: '/home/me' }, '/home/me/.local/state/forkhestra'],
    [{ HOME: '/home/me' }, '/home/me/.local/state/forkhestra'],
  ])('else in the state folder of the user, by project: %j', (env, root) => {
    const cwd = makeProject({ forge: 'a file' })
    const own = recordRoot(cwd, env)!
    expect([dirname(own), basename(own).slice(0, -9)]).toEqual([root, basename(cwd)])
    expect(recordRoot(cwd, env)).toBe(own)
    expect(recordRoot(makeProject(), env)).not.toBe(own)
  })

  test.each([[{}], [{ HOME: '' }], [{ HOME: 'me' }], [{ XDG_STATE_HOME: '../state' }]])(
    'nowhere with %j, without a home folder',
    (env) => {
      expect(recordRoot(makeProject(), env)).toBeUndefined()
    },
  )
})

describe('the folder of records keeps itself out of git', () => {
  const ignored = (root: string) => readFileSync(join(root, '.gitignore'), 'utf8')

  test('from the first run on', () => {
    const root = join(makeProject(), 'deep/runs')
    expect(makeRecordFolder(root, 'r1')).toBe(join(root, 'r1'))
    expect(existsSync(join(root, 'r1'))).toBe(true)
    expect(ignored(root)).toBe('*\n')
  })

  test('again if the file was emptied, for example by a full disk', () => {
    const root = makeProject({ '.gitignore': '' })
    makeRecordFolder(root, 'r1')
    expect(ignored(root)).toBe('*\n')
  })

  test('unless the user wrote something else there', () => {
    const root = makeProject()
    makeRecordFolder(root, 'r1')
    writeFileSync(join(root, '.gitignore'), 'mine\n')
    makeRecordFolder(root, 'r2')
    expect(ignored(root)).toBe('mine\n')
  })
})

test('only the owner can read records and list runs', () => {
  const root = join(makeProject(), 'runs')
  const folder = makeRecordFolder(root, 'r1')
  expect(statSync(folder).mode & 0o777).toBe(0o700)
  expect(statSync(root).mode & 0o777).toBe(0o700)
})

test('the folder of another run is never reused', () => {
  const root = makeProject()
  makeRecordFolder(root, 'r1')
  expect(() => makeRecordFolder(root, 'r1')).toThrow('EEXIST')
})
