import { expect, test } from 'bun:test'
import { readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject } from '../../../../tests/support/project.ts'
import { callerIn, makeWorkspace } from '../../../../tests/support/workspace.ts'

const NAMES = Array.from({ length: 200 }, (_, index) => `file-${index}`)
const filled = (folder: string, text: string) =>
  Object.fromEntries(NAMES.map((name) => [join(folder, name), `${text}\n`]))

/** Where a tool makes a folder of that name in between, it is removed again. */
const SWAP = `
  const { renameSync, rmSync } = require('node:fs')
  const toSub = (from) => {
    try { renameSync(from, 'sub') } catch { rmSync('sub', { recursive: true }); renameSync(from, 'sub') }
  }
  console.log('begun')
  for (;;) {
    renameSync('sub', '.folder'); toSub('.link')
    renameSync('sub', '.link'); toSub('.folder')
  }`

/** By turns `sub` is a folder of the project and a link that leads out of it. */
async function makeSwapped() {
  const elsewhere = makeProject({ ...filled('', 'SECRET'), 'only-there': 'SECRET' })
  const workspace = makeWorkspace(filled('sub', 'open'))
  symlinkSync(elsewhere, join(workspace.cwd, '.link'))
  const swapper = Bun.spawn([process.execPath, '-e', SWAP], {
    cwd: workspace.cwd,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await swapper.stdout.getReader().read()
  const end = async () => {
    swapper.kill('SIGKILL')
    await swapper.exited
  }
  return { elsewhere, call: callerIn(workspace), [Symbol.asyncDispose]: end }
}

test('grep and glob show nothing of an outside folder that replaces one inside', async () => {
  await using swapped = await makeSwapped()
  const { call } = swapped
  for (let n = 0; n < 5; n++) {
    const found = await call('grep', { pattern: 'SECRET', mode: 'files' })
    expect(found.text).toBe('No matches.')
    const named = await call('glob', { pattern: 'only-there' })
    expect(named.text).toBe('No files.')
  }
})

test('read does not list such a folder or show a file in it', async () => {
  await using swapped = await makeSwapped()
  const { call } = swapped
  for (let n = 0; n < 300; n++) {
    expect((await call('read', { path: 'sub' })).text).not.toContain('only-there')
    expect((await call('read', { path: 'sub/file-1' })).text).not.toContain('SECRET')
    expect((await call('read', { path: 'sub/only-her' })).text).not.toContain('only-there')
  }
})

test('nothing is written to such a folder', async () => {
  await using swapped = await makeSwapped()
  const { call, elsewhere } = swapped
  for (let n = 0; n < 60; n++) {
    await call('write', { path: `sub/new-${n}/deep/file`, content: 'x' })
  }
  expect(readdirSync(elsewhere)).toHaveLength(NAMES.length + 1)
})
