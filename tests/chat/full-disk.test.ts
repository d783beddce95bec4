import { expect, test } from 'bun:test'
import { dirname } from 'node:path'
import { environment, FORKHESTRA } from '../support/forkhestra.ts'
import { makeProject } from '../support/project.ts'

// A separate file system in a separate namespace: it goes away with the script and needs no root.
const DISK = `
  mount -t tmpfs -o size=600k none "$PWD" && cd "$PWD" && mkdir forge || exit 99
`
const fill = { name: 'bash', input: { command: 'cat /dev/zero > fill' } }

test('a disk that fills up during a chat is reported with a hint, and the chat can be resumed', async () => {
  const { stdout, stderr, code } = await onOwnDisk(
    [{ text: 'Hello.' }, { text: 'I fill.', tool: fill }, { text: 'Full.' }, { text: 'Back.' }],
    `
    long=$(head -c 9000 /dev/zero | tr '\\0' x)
    printf 'Hi\\nFill it\\nMore %s\\n/queue\\n' $long | forkhestra chat --lines; echo "code $?"
    rm -f fill
    forkhestra chat --resume -p 'And now?'; echo "code $?"
    `,
  )
  expect(stderr).not.toContain('internal error')
  expect(stdout).toContain('Hello.\nI fill.\nFull.\nThe queue is empty.\ncode 1\nBack.\ncode 0\n')
  expect(stderr).toMatch(/The turn failed: message not sent: .*ENOSPC.*free disk space/)
  expect(stderr).toContain('The run continues and keeps retrying')
  expect(code).toBe(0)
})

test('a chat whose record cannot be written neither starts nor resumes, and says why', async () => {
  const { stdout, stderr } = await onOwnDisk(
    [{ text: 'Hello.' }],
    `
    forkhestra chat -p Hi
    cat /dev/zero > fill
    forkhestra chat --resume -p More; echo "code $?"
    forkhestra chat -p New; echo "code $?"
    rm fill; mount -o remount,ro "$PWD"
    forkhestra chat --resume -p More; echo "code $?"
    forkhestra chat -p New; echo "code $?"
    `,
  )
  expect(stdout).toBe('Hello.\ncode 1\ncode 1\ncode 1\ncode 1\n')
  expect(stderr).not.toContain('internal error')
  expect(stderr.match(/Run \S+ cannot continue: (?:ENOSPC|EROFS)/g)).toHaveLength(2)
  expect(stderr.match(/none can be written: (?:ENOSPC|EROFS)/g)).toHaveLength(2)
  expect(stderr.match(/Make sure that .* is writable and has free space/g)).toHaveLength(4)
})

async function onOwnDisk(turns: readonly unknown[], script: string) {
  const cwd = makeProject({ 'script.json': JSON.stringify(turns), 'talk.sh': DISK + script })
  const env = environment({ cwd, env: { XDG_STATE_HOME: `${cwd}/state` } })
  const inside = ['forkhestra', 'fake-model', 'script.json', '--', 'sh', 'talk.sh']
  const child = Bun.spawn(['unshare', '-rm', ...inside], {
    cwd,
    env: { ...env, PATH: `${dirname(FORKHESTRA)}:${env['PATH']}` },
    stdin: 'ignore',
    stderr: 'pipe',
  })
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()])
  return { stdout, stderr, code: await child.exited }
}
