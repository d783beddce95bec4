import { expect, test } from 'bun:test'
import { forkhestra, shell } from '../../support/forkhestra.ts'
import { makeQueueProject, runPrompt, ask } from '../../support/queue.ts'

/** A project with this many messages in the inbox, optionally large ones. */
async function makeFullInbox(count: number, bytes = 1): Promise<string> {
  const cwd = makeQueueProject(
    `/push name=held true\nhead -c ${bytes} /dev/zero | tr '\\000' x > text; for i in $(seq ${count}); do forkhestra send main - < text; done\n`,
  )
  expect((await runPrompt(cwd)).code).toBe(0)
  return cwd
}

async function unread(cwd: string): Promise<number> {
  return (await ask<{ messages: unknown[] }>(cwd, 'inbox')).messages.length
}

test('messages stay in the inbox if the reader is gone or the disk is full', async () => {
  const cwd = await makeFullInbox(2, 500_000)
  for (const command of ['check', 'check --json', 'receive', 'receive --from main --json']) {
    const piped = await shell(`forkhestra ${command} | head -c 1`, cwd)
    expect(piped.stderr).toBe('')
    const full = await shell(`forkhestra ${command} > /dev/full`, cwd)
    expect(full.code).toBe(1)
    expect(full.stderr).toMatch(
      /^\[forkhestra\] Error: Cannot write the output: ENOSPC.*\n.*inbox.*\n$/,
    )
    expect(await unread(cwd)).toBe(2)
  }
  expect((await forkhestra(['check'], { cwd })).stdout.length).toBeGreaterThan(1_000_000)
})

test('messages stay in the inbox if stdout is closed, but not if it is /dev/null', async () => {
  const cwd = await makeFullInbox(2)
  for (const command of ['check', 'check --json', 'receive', 'receive --from main']) {
    const closed = await shell(`forkhestra ${command} >&-`, cwd)
    expect(closed.code).toBe(1)
    expect(closed.stderr).toBe(
      '[forkhestra] Error: Cannot write the output: stdout is closed\n  The messages are still in the inbox.\n',
    )
    expect(await unread(cwd)).toBe(2)
  }
  expect((await shell('forkhestra check > /dev/null', cwd)).code).toBe(0)
  expect(await unread(cwd)).toBe(0)
})

test.each([
  'queue',
  'queue --json',
  'queue verify',
  'inbox',
  'push name=a hi',
  'run-queue 1',
  'cancel held',
])('%s reports in one line that its output cannot be written', async (command) => {
  const cwd = await makeFullInbox(1)
  const full = await shell(`forkhestra ${command} > /dev/full`, cwd)
  expect(full.code).toBe(1)
  expect(full.stderr).toMatch(/^\[forkhestra\] Error: (Cannot write the output|stdout): ENOSPC/)
  expect(full.stderr).not.toContain('internal error')
  const closed = await shell(`forkhestra ${command} >&-`, await makeFullInbox(1))
  expect(closed.stderr).toMatch(/^\[forkhestra\] Error: .*: stdout is closed\n/)
  expect(closed.code).toBe(1)
})

test('inbox does not show a message as being read by a killed reader', async () => {
  const cwd = await makeFullInbox(2, 100_000)
  const script = [
    // Its output is not read, so the reader blocks during delivery.
    'mkfifo pipe; exec 3<>pipe; forkhestra check >&3 & reader=$!',
    'until forkhestra inbox | grep -q "being read"; do sleep 0.05; done',
    'kill -9 $reader; wait $reader; forkhestra inbox',
  ].join('\n')
  const { stdout } = await shell(script, cwd)
  expect(Buffer.from(stdout).toString()).toMatch(/^main +text .*ago\nmain +text .*ago\n$/)
  const { messages } = await ask<{ messages: object[] }>(cwd, 'inbox')
  expect(messages).toMatchObject([{ isLeased: false }, { isLeased: false }])
  expect(messages[0]).not.toHaveProperty('reader')
})

test('receive lists a sender once even if it is named twice', async () => {
  const cwd = await makeFullInbox(1)
  const { senders } = await ask<{ senders: unknown[] }>(cwd, 'receive', '--from', 'x,x,y')
  expect(senders).toHaveLength(2)
})

test('check reports how many messages are left in the inbox', async () => {
  const cwd = await makeFullInbox(5)
  const first = await forkhestra(['check', '--max', '2'], { cwd })
  expect(first).toEqual({
    code: 0,
    stdout: '[main] x\n[main] x\n',
    stderr: '[forkhestra] 3 more are in the inbox: forkhestra check\n',
  })
  const second = await ask<{ messages: unknown[]; more?: number }>(cwd, 'check', '--max', '2')
  expect([second.messages.length, second.more]).toEqual([2, 1])
  expect((await forkhestra(['check'], { cwd })).stderr).toBe('')
  expect(await forkhestra(['check'], { cwd })).toEqual({
    code: 0,
    stdout: '',
    stderr: '[forkhestra] The inbox is empty.\n',
  })
  expect((await forkhestra(['check', '--from', 'held'], { cwd })).stderr).toBe(
    '[forkhestra] No messages from held.\n',
  )
  expect((await forkhestra(['check', '--json'], { cwd })).stderr).toBe('')
})
