import { describe, expect, test } from 'bun:test'
import { chmodSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject, sh } from '../../tests/support/project.ts'
import { readFacts } from './facts.ts'

const programAt = (path: string) => readFacts({ PATH: '' }).programAt(path)

describe('a path', () => {
  test('to a script with a first line is a program', () => {
    const path = join(makeProject({ a: sh('echo') }), 'a')
    expect(programAt(path)).toEqual({ kind: 'program', path })
  })

  test('to a native program is a program', () => {
    expect(programAt(process.execPath)).toEqual({ kind: 'program', path: process.execPath })
  })

  test('to a link is followed', () => {
    const folder = makeProject({ a: sh('echo') })
    symlinkSync('a', join(folder, 'link'))
    symlinkSync('gone', join(folder, 'dangling'))
    expect(programAt(join(folder, 'link')).kind).toBe('program')
    expect(programAt(join(folder, 'dangling'))).toEqual({ kind: 'missing' })
  })

  test.each([['echo hello\n'], [''], ['\n#!/bin/sh\n'], [`${'x'.repeat(1000)}\n`]])(
    'to a script without a first line is run by the shell: %j',
    (text) => {
      const path = join(makeProject({ a: text }), 'a')
      chmodSync(path, 0o755)
      expect(programAt(path)).toEqual({ kind: 'program', path, interpreter: '/bin/sh' })
    },
  )

  test.each<[string, string | Uint8Array, string]>([
    [
      'whose interpreter is gone',
      '#!/no/such/sh\n',
      "names the interpreter '/no/such/sh' in its first line, which does not exist",
    ],
    [
      'whose interpreter with arguments is gone',
      '#! /no/such/env  -S x\n',
      "names the interpreter '/no/such/env' in its first line, which does not exist",
    ],
    [
      'without any interpreter',
      '#!\n',
      "names the interpreter '' in its first line, which does not exist",
    ],
    [
      'with Windows line endings',
      '#!/bin/sh\r\necho\r\n',
      'has Windows line endings in its first line',
    ],
    [
      'of another system',
      Uint8Array.of(0x4d, 0x5a, 0, 0, 1),
      'is neither a script nor a program for this system',
    ],
  ])('to a file %s is unusable', (_, content, problem) => {
    const path = join(makeProject({ a: content }), 'a')
    chmodSync(path, 0o755)
    expect(programAt(path)).toMatchObject({ kind: 'unusable', path, problem })
  })

  test('to a file that is not executable has a hint', () => {
    const folder = makeProject({ 'sub/a': 'text' })
    const path = join(folder, 'sub/a')
    expect(programAt(path)).toEqual({
      kind: 'unusable',
      path,
      problem: 'is not executable',
      hint: `Run: chmod +x ${path}`,
    })
    expect(programAt(join(folder, 'sub'))).toMatchObject({
      problem: 'is a directory, expected a program',
    })
    expect(programAt('/dev/null')).toMatchObject({ problem: 'is not a regular file' })
  })

  test('to nothing is missing', () => {
    expect(programAt('/no/such/program')).toEqual({ kind: 'missing' })
  })

  test('below a file is missing', () => {
    expect(programAt(join(makeProject({ a: '' }), 'a/b'))).toEqual({ kind: 'missing' })
  })

  test('that the system refuses is not a program', () => {
    const folder = makeProject()
    symlinkSync(join(folder, 'circle'), join(folder, 'circle'))
    expect(programAt(join(folder, 'circle')).kind).not.toBe('program')
    expect(programAt(join(folder, 'x'.repeat(300))).kind).not.toBe('program')
  })
})

describe('a name', () => {
  test('is the first program of that name on PATH', () => {
    const one = makeProject({ a: 'not executable', 'b/x': '', c: sh('one') })
    const two = makeProject({ a: sh('two'), b: sh('two'), c: sh('two') })
    const facts = readFacts({ PATH: `${one}:${two}` })
    expect(facts.programOnPath('a')).toEqual({ kind: 'program', path: join(two, 'a') })
    expect(facts.programOnPath('b')).toEqual({ kind: 'program', path: join(two, 'b') })
    expect(facts.programOnPath('c')).toEqual({ kind: 'program', path: join(one, 'c') })
  })

  test('of a broken program is reported as such', () => {
    const folder = makeProject({ a: 'not executable', 'b/x': '' })
    const facts = readFacts({ PATH: folder })
    expect(facts.programOnPath('a')).toMatchObject({ problem: 'is not executable' })
    expect(facts.programOnPath('b')).toEqual({ kind: 'missing' })
  })

  test.each([[''], ['.'], ['..'], ['no-such-program']])('%j is missing', (name) => {
    expect(readFacts({ PATH: '/usr/bin:/bin' }).programOnPath(name)).toEqual({ kind: 'missing' })
  })

  test('that is too long is not a program', () => {
    expect(readFacts({ PATH: '/usr/bin' }).programOnPath('x'.repeat(300)).kind).not.toBe('program')
  })

  test('is found even if an entry of PATH is a file', () => {
    const folder = makeProject({ a: sh('echo'), file: '' })
    const facts = readFacts({ PATH: `${join(folder, 'file')}:${folder}` })
    expect(facts.programOnPath('a')).toEqual({ kind: 'program', path: join(folder, 'a') })
  })
})

test.each([
  [undefined, []],
  ['', []],
  [':', []],
  ['/a:/b:/a', ['/a', '/b']],
  ['.:bin:/a::../x', ['/a']],
])('PATH %p: these folders are searched: %j', (path, folders) => {
  expect(readFacts({ PATH: path }).searchPath).toEqual(folders)
})

test('files are found and prompts are read', () => {
  const folder = makeProject({ 'p.md': 'Plan' })
  const facts = readFacts({ PATH: '' })
  expect(facts.fileExists(join(folder, 'p.md'))).toBe(true)
  expect(facts.fileExists(join(folder, 'gone.md'))).toBe(false)
  expect(facts.readPrompt('p.md', folder)).toBe(readFileSync(join(folder, 'p.md'), 'utf8'))
})

test('a folder is in a repository if it or a parent has a .git folder or file', () => {
  const facts = readFacts({ PATH: '' })
  const project = makeProject({
    'repository/.git/HEAD': '',
    'repository/deep/file': '',
    'worktree/.git': 'gitdir: elsewhere',
    'plain/file': '',
  })
  const found = ['repository', 'repository/deep', 'worktree', 'plain', 'repository/not/there'].map(
    (folder) => facts.isInRepository(join(project, folder)),
  )
  expect(found).toEqual([true, true, true, false, true])
})
