// oxlint-disable no-control-regex
import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { FORGE_TASKS, TaskProject, taskText } from '../support/forge-tasks.ts'
import { Pty } from '../support/pty.ts'

const NAME = Buffer.from('TASK-001 - \u001b[35m\u009b2J\u0007 \u00ff.md', 'latin1')
const RAW = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/

/** A task in a file whose name is not UTF-8 and contains escape sequences. */
function hostileProject(): TaskProject {
  const project = new TaskProject()
  const path = Buffer.concat([Buffer.from(join(project.folder, '/')), NAME])
  writeFileSync(path, taskText(['id: TASK-001', 'title: A', 'status: To Do']))
  return project
}

test.each([
  [['view', '1']],
  [['view', '1', '--plain']],
  [['edit', '1', '-s', 'blocked']],
  [['archive', '1']],
  [['delete', '1']],
  [['claim', '1', '--as', 'me']],
  [['list']],
  [['doctor']],
  [['search', 'A']],
])('%j shows a hostile file name as text', async (args) => {
  const { stdout, stderr } = await hostileProject().run(args)
  expect(stdout + stderr).toContain('the file name is not valid UTF-8')
  expect(stdout + stderr).not.toMatch(RAW)
})

test('escape sequences in a file name do not reach the terminal', async () => {
  const project = hostileProject()
  await using pty = new Pty([FORGE_TASKS, 'view', '1'], { cwd: project.root, columns: 200 })
  await pty.exited
  await pty.shows('the file name is not valid UTF-8')
  expect(pty.output).not.toContain('\u001b[35m')
})
