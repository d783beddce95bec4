import { expect, test } from 'bun:test'
import { dirname } from 'node:path'
import { environment, FORKHESTRA } from '../support/forkhestra.ts'
import { makeProject } from '../support/project.ts'

// A separate file system in its own namespace, which ends with the script; root is not needed.
const DISK = `
  mount -t tmpfs -o size=256k none "$PWD" && cd "$PWD" && git init -q . || exit 99
  texts() { cat forge/tasks/*.md forge/tasks/archive/*.md 2>/dev/null | cksum; }
  forge-tasks create One --ac first --plain && forge-tasks create Two --plain
  forge-tasks claim 2 --as me > /dev/null
  before=$(texts)
  cat /dev/zero > fill 2>/dev/null
`

const COMMANDS: readonly (readonly [name: string, command: string])[] = [
  ['create', 'forge-tasks create Three'],
  ['create --batch', `printf '{"title":"A"}\\n{"title":"B"}\\n' | forge-tasks create --batch`],
  ['edit', 'forge-tasks edit 1 2 --append-notes More'],
  ['edit --check-ac', 'forge-tasks edit 1 --check-ac 1 --status done'],
  ['claim', 'forge-tasks claim 1'],
  ['next --claim', 'forge-tasks next --claim'],
  ['init', 'forge-tasks init'],
]

test.each(COMMANDS)('%s on a full disk is one message, and nothing is lost', async (_, command) => {
  const { code, stdout } = await onFullDisk(`
    ${command} > /dev/null 2> /dev/shm/$$; echo "code $?"
    grep -c 'Cannot change the tasks in .*: ENOSPC' /dev/shm/$$; rm /dev/shm/$$
    [ "$before" = "$(texts)" ] && echo same
    find . -name '.unfinished*'
    forge-tasks list --plain
    rm fill
    forge-tasks edit 1 --append-notes More
    forge-tasks view 1 | tail -1
  `)
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: [
      'TASK-001',
      'TASK-002',
      'code 1',
      '1',
      'same',
      'TASK-001 | To Do | - | One',
      'TASK-002 | In Progress | - | Two',
      'TASK-001 | To Do | - | One',
      'More',
      '',
    ].join('\n'),
  })
})

async function onFullDisk(script: string): Promise<{ code: number; stdout: string }> {
  const cwd = makeProject()
  const env = environment({ cwd, env: { USER: 'me' } })
  const child = Bun.spawn(['unshare', '-rm', 'sh', '-c', DISK + script], {
    cwd,
    env: { ...env, PATH: `${dirname(FORKHESTRA)}:${env['PATH']}` },
    stdin: 'ignore',
    stderr: 'inherit',
  })
  return { stdout: await child.stdout.text(), code: await child.exited }
}
